// What a rank keeps of its calls while a trace is recorded (Config::trace): a log in memory of the rank's own, which
// one caller at a time writes and nobody reads before the kernels and threads have ended.
#pragma once

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
  TraceEvent* events = nullptr;  // [capacity + 1], the last one for those that are dropped
  std::uint32_t capacity = 0, count = 0;
  std::uint64_t dropped = 0;

  // The leader's. The event is taken at once and not when the call ends: by then another thread of the scope, which is
  // through, may have begun the next one.
  DCGN_HOST_DEVICE TraceEvent* begin() {
    if (count < capacity) return events + count++;
    ++dropped;
    return events + capacity;
  }
  // The latest one has not been.
  DCGN_HOST_DEVICE void forget(const TraceEvent* event) {
    if (event == events + capacity)
      --dropped;
    else if (event + 1 == events + count)
      --count;
  }
};

}  // namespace dcgn::message
