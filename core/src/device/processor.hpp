// How a thread of the operating system waits: it spins for a moment where a core is there for it, else it yields.
#pragma once

#include <atomic>
#include <cstdint>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace dcgn::device {

namespace detail {
extern constinit std::atomic<int> busy_threads;  // threads of the library that would use a core now
extern constinit std::atomic<int> cores;         // this process's share of those that it may run on
inline bool crowded() noexcept {
  return busy_threads.load(std::memory_order_relaxed) > cores.load(std::memory_order_relaxed);
}
}  // namespace detail

// Which cores this process may run on: the same number for the same ones.
std::uint64_t core_set() noexcept;

// So many processes, this one among them, wait and work on the cores of this one: each has its share of them, which is
// none where there are more processes than cores.
void share_cores(int processes) noexcept;

// Counts the calling thread as one that wants a core, from construction to destruction. A rank's thread holds one, so
// that waiting threads know when to give way at once. May be nested.
class BusyThread {
 public:
  BusyThread() noexcept;
  BusyThread(const BusyThread&) = delete;
  BusyThread& operator=(const BusyThread&) = delete;
  ~BusyThread();
};

// The steps of one wait, ever longer: pauses for about 3 us, then yields; where threads outnumber cores it yields at
// once, and after 200 yields it sleeps for 50 us at a time, so that those who have work can do it. Two that only yield
// have been seen to keep a third from its core for 0.4 s (Linux 6.18).
class Backoff {
 public:
  void step() noexcept {
    if (steps_ < spins && !detail::crowded()) {
      ++steps_;
#if defined(__x86_64__)
      _mm_pause();
#elif defined(__aarch64__)
      asm volatile("isb");
#endif
    } else {
      give_way();
    }
  }
  void reset() noexcept {
    steps_ = 0;
    if (counted_) uncount();
  }

 private:
  static constexpr unsigned spins = 64;
  static constexpr unsigned yields = 200;

  void give_way() noexcept;
  void uncount() noexcept;

  unsigned steps_ = 0;
  long yielded_at_ = 0;   // in ns, when the last yield returned
  bool counted_ = false;  // among the busy threads, since it yields
};

extern constinit thread_local Backoff backoff;

}  // namespace dcgn::device
