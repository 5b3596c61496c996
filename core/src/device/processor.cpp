#include "processor.hpp"

#include <sched.h>
#include <time.h>

#include <functional>
#include <string_view>

namespace dcgn::device {

namespace {

// Empty on a machine with more processors than a cpu_set_t names.
cpu_set_t usable_cores() noexcept {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) CPU_ZERO(&set);
  return set;
}

int count_cores() noexcept {
  const cpu_set_t set = usable_cores();
  return CPU_COUNT(&set) ? CPU_COUNT(&set) : 1;
}

constinit thread_local int busy_depth = 0;

long nanoseconds() noexcept {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1'000'000'000L + t.tv_nsec;
}

// A thread that ends in the middle of a wait must not stay counted.
struct UncountAtThreadEnd {
  ~UncountAtThreadEnd() { backoff.reset(); }
};

}  // namespace

namespace detail {
constinit std::atomic<int> busy_threads{0};
constinit std::atomic<int> cores{1};
}  // namespace detail

constinit thread_local Backoff backoff;

namespace {
[[maybe_unused]] const int cores_at_start = detail::cores = count_cores();
}

std::uint64_t core_set() noexcept {
  const cpu_set_t set = usable_cores();
  return std::hash<std::string_view>{}({reinterpret_cast<const char*>(&set), sizeof set});
}

void share_cores(int processes) noexcept { detail::cores = count_cores() / processes; }

BusyThread::BusyThread() noexcept {
  if (busy_depth++ == 0) {
    backoff.reset();
    detail::busy_threads.fetch_add(1, std::memory_order_relaxed);
  }
}

BusyThread::~BusyThread() {
  if (--busy_depth == 0) detail::busy_threads.fetch_sub(1, std::memory_order_relaxed);
}

void Backoff::give_way() noexcept {
  // Who was away for longer than all threads of a block take to look has done work since: this is another wait, though
  // nobody said so by reset().
  if (nanoseconds() - yielded_at_ > 1'000'000) steps_ = spins;
  ++steps_;
  if (!counted_ && busy_depth == 0) {
    [[maybe_unused]] static thread_local UncountAtThreadEnd guard;
    counted_ = true;
    detail::busy_threads.fetch_add(1, std::memory_order_relaxed);
  }
  if (steps_ > spins + yields && detail::crowded()) {
    const timespec nap{0, 50'000};
    nanosleep(&nap, nullptr);
  } else {
    sched_yield();
  }
  yielded_at_ = nanoseconds();
}

void Backoff::uncount() noexcept {
  counted_ = false;
  detail::busy_threads.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace dcgn::device
