// What a rank keeps of its calls while a trace is recorded (Config::trace): a log in memory of the rank's own, which
// one caller at a time writes and nobody reads before the kernels and threads have ended.
#pragma once

#include <dcgn/gpu/atomic.hpp>
#include <dcgn/gpu/clock.hpp>
#include <dcgn/host_device.hpp>
#include <dcgn/message/call.hpp>

#include <cstdint>

namespace dcgn::detail {
// The processor's counter where the system itself keeps time by it, which takes half as long to read as its time does;
// else nanoseconds as now_ns() has them.
std::uint64_t ticks_host();
}  // namespace dcgn::detail

namespace dcgn::message {

// The clock of events: now_ns() on a GPU.
DCGN_HOST_DEVICE inline std::uint64_t trace_ticks() {
#if defined(__CUDA_ARCH__)
  return now_ns();
#else
  return detail::ticks_host();
#endif
}

// A call, as trace::Event has it, by the clock of whoever made it. One store for each cache line.
struct alignas(64) TraceEvent {
  std::uint64_t begin, end;  // trace_ticks(); `end` is 0 while the call is under way
  std::uint64_t request;
  std::int64_t bytes, from_bytes;
  std::int32_t peer, tag, from, from_tag;
  Call call;
  std::int32_t communicator;
};

struct TraceLog {
  // What calls look at, as bits; 0: nothing is recorded. Ranges are for a profiler, of a CPU rank, whose log has no
  // room where they are all there is.
  static constexpr std::uint32_t has_events = 1, has_ranges = 2;
  std::uint32_t watched = 0;
  std::uint32_t capacity = 0;
  TraceEvent* events = nullptr;  // [capacity + 1], the last one for those that are dropped
  std::uint64_t count = 0;       // with those

  // The leader's. The place is taken at once and not when the call ends: by then another thread of the scope, which is
  // through, may have begun the next one. A GPU goes on while its memory answers, up to where the answer is used.
  DCGN_HOST_DEVICE std::uint64_t take() {
#if defined(__CUDA_ARCH__)
    std::uint64_t place;
    asm volatile("atom.add.relaxed.gpu.u64 %0,[%1],1;" : "=l"(place) : "l"(&count));
    return place;
#else
    return count++;
#endif
  }
  DCGN_HOST_DEVICE TraceEvent* begin() {
    const std::uint64_t place = take();
    return events + (place < capacity ? place : capacity);
  }
  // The latest one has not been.
  DCGN_HOST_DEVICE void forget(const TraceEvent* event) {
    const std::uint64_t last = load_relaxed(count) - 1;
    if (event == events + (last < capacity ? last : capacity)) store_relaxed(count, last);
  }

  std::uint64_t kept() const { return count < capacity ? count : capacity; }
  std::uint64_t dropped() const { return count - kept(); }
};

}  // namespace dcgn::message
