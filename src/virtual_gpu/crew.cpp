#include "virtual_gpu/crew.hpp"

#include "device/processor.hpp"

#include <chrono>

namespace dcgn::virtual_gpu {

namespace {

constexpr std::chrono::microseconds watch_time{500};

}  // namespace

Crew::Crew(int helpers) {
  failures_.resize(static_cast<std::size_t>(helpers) + 1);
  threads_.reserve(static_cast<std::size_t>(helpers));
  for (std::size_t helper = 1; helper < failures_.size(); ++helper)
    threads_.emplace_back([this, helper] { serve(helper); });
}

Crew::~Crew() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
    ++round_;
  }
  woken_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Crew::run(const std::function<void(int)>& work) {
  work_ = &work;
  at_work_ = threads_.size();
  ++round_;
  // Who is about to sleep has said so before it looks at the round a last time: it sees this one, or is seen here.
  if (asleep_ != 0) {
    const std::lock_guard lock(mutex_);
    woken_.notify_all();
  }
  call(work, 0);
  while (at_work_ != 0) device::backoff.step();
  device::backoff.reset();
  std::exception_ptr first;
  for (std::exception_ptr& failure : failures_) {
    if (failure && !first) first = failure;
    failure = nullptr;
  }
  if (first) std::rethrow_exception(first);
}

void Crew::call(const std::function<void(int)>& work, std::size_t who) noexcept {
  try {
    work(static_cast<int>(who));
  } catch (...) {
    failures_[who] = std::current_exception();
  }
}

void Crew::serve(std::size_t helper) {
  for (std::uint64_t seen = 0;; ++seen) {
    wait_for_round(seen);
    if (closing_) return;
    call(*work_, helper);
    --at_work_;
  }
}

void Crew::wait_for_round(std::uint64_t seen) {
  const auto begin = std::chrono::steady_clock::now();
  while (round_ == seen) {
    if (std::chrono::steady_clock::now() - begin < watch_time) {
      device::backoff.step();
      continue;
    }
    device::backoff.reset();
    std::unique_lock lock(mutex_);
    ++asleep_;
    woken_.wait(lock, [&] { return round_ != seen; });
    --asleep_;
  }
  device::backoff.reset();
}

}  // namespace dcgn::virtual_gpu
