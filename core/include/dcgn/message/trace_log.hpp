// What a rank keeps of its calls while a trace is recorded (Config::trace): a log in memory of the rank's own, which
// one caller at a time writes and nobody reads before the kernels and threads have ended.
#pragma once

#include <dcgn/arch/clock.hpp>
#include <dcgn/call.hpp>
#include <dcgn/host_device.hpp>
#include <dcgn/message/reason.hpp>

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

// A call, as trace::Event has it, by the clock of whoever made it. What sends and receives have comes first, in pairs
// of words that a GPU stores at once; behind those such a call leaves what was there.
struct alignas(64) TraceEvent {
  std::uint64_t begin, end;  // trace_ticks(); `end` is 0 while the call is under way
  std::uint64_t what;        // see what_of()
  std::int32_t peer, tag;
  std::uint64_t request;
  std::int64_t from_bytes;
  std::int32_t from, from_tag;
  Reason slow;  // why a blocking send or receive took the slow path

  // Bytes in bits 0-47, the call in 48-54, and above the communicator, -1 to most_communicators - 1.
  static constexpr int call_shift = 48, communicator_shift = 55;
  static_assert(static_cast<int>(Call::cart) < 1 << (communicator_shift - call_shift));
  DCGN_HOST_DEVICE static std::uint64_t what_of(Call call, std::int32_t communicator, std::int64_t bytes) {
    return (static_cast<std::uint64_t>(bytes) & ((1ull << call_shift) - 1)) |
           static_cast<std::uint64_t>(call) << call_shift |
           static_cast<std::uint64_t>(communicator) << communicator_shift;
  }
  DCGN_HOST_DEVICE Call call() const { return static_cast<Call>(what >> call_shift & 127); }
  DCGN_HOST_DEVICE std::int32_t communicator() const {
    return static_cast<std::int32_t>(static_cast<std::int64_t>(what) >> communicator_shift);
  }
  // A negative one, which the call refuses, stays one.
  DCGN_HOST_DEVICE std::int64_t bytes() const {
    constexpr int above = 64 - call_shift;
    return static_cast<std::int64_t>(what << above) >> above;
  }
};

struct TraceLog {
  // What calls look at, as bits; 0: nothing is recorded. Ranges are for a profiler, of a CPU rank, whose log has no
  // room where they are all there is.
  static constexpr std::uint32_t has_events = 1, has_ranges = 2;
  alignas(16) TraceEvent* next = nullptr;  // where the next call's goes
  TraceEvent* stop = nullptr;              // behind the last place: for those that are dropped
  TraceEvent* events = nullptr;            // the first place
  std::uint64_t dropped = 0;
  std::uint32_t watched = 0;
  Reason slow = Reason::none;  // of the send or receive that is under way

  // The leader's, between two barriers of its call.
  DCGN_HOST_DEVICE TraceEvent* begin() {
    TraceEvent* const event = next;
    if (event != stop)
      ++next;
    else
      ++dropped;
    return event;
  }
  DCGN_HOST_DEVICE Reason take_slow() {
    const Reason why = slow;
    slow = Reason::none;
    return why;
  }
  // The latest one has not been.
  DCGN_HOST_DEVICE void forget(const TraceEvent* event) {
    if (event == stop)
      --dropped;
    else if (event + 1 == next)
      --next;
  }

  std::uint64_t kept() const { return static_cast<std::uint64_t>(next - events); }
};

}  // namespace dcgn::message
