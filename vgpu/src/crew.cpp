#include "vgpu/src/crew.hpp"

#include "device/processor.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <sstream>
#include <utility>

namespace dcgn::virtual_gpu {

namespace {

using CrewClock = std::chrono::steady_clock;
constexpr std::chrono::microseconds watch_time{500};

}  // namespace

struct Crew::Shared {
  explicit Shared(std::size_t members) : returned(members) { failures.resize(members); }

  void call(std::size_t who) noexcept {
    try {
      (*work)(static_cast<int>(who));
    } catch (...) {
      failures[who] = std::current_exception();
    }
  }

  void serve(std::size_t helper) {
    for (std::uint64_t seen = 0;; ++seen) {
      wait_for_round(seen);
      if (closing) return;
      call(helper);
      returned[helper] = seen + 1;
      --at_work;
    }
  }

  // Ends when run() or the end calls.
  void wait_for_round(std::uint64_t seen) {
    const auto begin = CrewClock::now();
    while (round == seen) {
      if (CrewClock::now() - begin < watch_time) {
        device::backoff.step();
        continue;
      }
      device::backoff.reset();
      std::unique_lock lock(mutex);
      ++asleep;
      woken.wait(lock, [&] { return round != seen; });
      --asleep;
    }
    device::backoff.reset();
  }

  std::shared_ptr<const Work> work;
  std::vector<std::exception_ptr> failures;
  std::vector<std::atomic<std::uint64_t>> returned;  // by helper: rounds
  alignas(128) std::atomic<std::uint64_t> round{0};
  alignas(128) std::atomic<std::size_t> at_work{0};
  alignas(128) std::atomic<int> asleep{0};
  std::atomic<bool> closing{false};
  std::mutex mutex;
  std::condition_variable woken;
};

Crew::Crew(int helpers) : shared_(std::make_shared<Shared>(static_cast<std::size_t>(helpers) + 1)) {
  threads_.reserve(static_cast<std::size_t>(helpers));
  for (std::size_t helper = 1; helper <= static_cast<std::size_t>(helpers); ++helper)
    threads_.emplace_back([shared = shared_, helper] { shared->serve(helper); });
}

Crew::~Crew() {
  Shared& s = *shared_;
  const std::uint64_t last = s.round;
  {
    const std::lock_guard lock(s.mutex);
    s.closing = true;
    ++s.round;
  }
  s.woken.notify_all();
  for (std::size_t helper = 1; helper <= threads_.size(); ++helper)
    if (s.returned[helper] == last)
      threads_[helper - 1].join();
    else
      threads_[helper - 1].detach();
}

void Crew::run(std::shared_ptr<const Work> work, double deadline_s) {
  Shared& s = *shared_;
  wait_for_helpers(deadline_s);  // those of a round that was given up
  s.failures.assign(s.failures.size(), nullptr);
  s.work = std::move(work);
  s.at_work = threads_.size();
  ++s.round;
  // Who is about to sleep has said so before it looks at the round a last time: it sees this one, or is seen here.
  if (s.asleep != 0) {
    const std::lock_guard lock(s.mutex);
    s.woken.notify_all();
  }
  s.call(0);
  wait_for_helpers(deadline_s);
  s.work.reset();
  for (const std::exception_ptr& failure : s.failures)
    if (failure) std::rethrow_exception(failure);
}

void Crew::wait_for_helpers(double deadline_s) {
  Shared& s = *shared_;
  if (s.at_work == 0) return;
  const auto begin = CrewClock::now();
  while (s.at_work != 0 && std::chrono::duration<double>(CrewClock::now() - begin).count() < deadline_s)
    device::backoff.step();
  device::backoff.reset();
  if (s.at_work == 0) return;
  std::string late;
  for (std::size_t helper = 1; helper <= threads_.size(); ++helper)
    if (s.returned[helper] != s.round) late += (late.empty() ? "" : ", ") + std::to_string(helper);
  throw deadline_error("part " + late + " has not taken its blocks", deadline_s);
}

Error deadline_error(const std::string& what, double deadline_s) {
  std::ostringstream text;
  text << what << " for " << deadline_s << " s, expected it sooner: Options::deadline_s, DCGN_DEADLINE";
  return Error(Code::deadline, "launch", text.str());
}

}  // namespace dcgn::virtual_gpu
