// Streams of messages, each from one slot to another, and what may become of a message on its way.
#pragma once

#include "core/bench/slot_end_kernel.hpp"

#include <dcgn/arch/atomic.hpp>
#include <dcgn/arch/clock.hpp>

#include <cstdint>

namespace dcgn::bench {

struct RatePlan {
  std::int64_t bytes;      // of a message: 8 or more
  std::uint64_t messages;  // of each stream; 0: as many as go into target_ns
  std::uint64_t target_ns;
  int streams;  // from ranks 0 .. streams - 1 to the ranks after them
};

// What the receiver of a stream knows at its end.
struct StreamResult {
  std::uint64_t sent, received, lost, duplicates, reordered, damaged;
  std::uint64_t begin_ns, end_ns;  // the first message, the last
};

// Follows the sequence numbers of a stream.
class Order {
 public:
  DCGN_HOST_DEVICE explicit Order(StreamResult& result) : r_(result) {}
  // The number that should come next, as a rule.
  DCGN_HOST_DEVICE std::uint64_t next() const { return next_; }
  DCGN_HOST_DEVICE void take_next() {
    seen_ = seen_ << 1 | 1;
    ++next_;
  }
  DCGN_HOST_DEVICE void take(std::uint64_t number) {
    if (number >= next_) {
      const std::uint64_t missing = number - next_;
      r_.lost += missing;
      seen_ = missing >= 63 ? 0 : seen_ << (missing + 1);
      seen_ |= 1;
      next_ = number + 1;
      return;
    }
    // Late, or here already: known of the latest 64, taken for a duplicate before that.
    const std::uint64_t back = next_ - 1 - number;
    if (back >= 64 || (seen_ >> back & 1)) {
      ++r_.duplicates;
    } else {
      seen_ |= std::uint64_t{1} << back;
      ++r_.reordered;
      --r_.lost;
    }
  }
  // So many were sent.
  DCGN_HOST_DEVICE void end(std::uint64_t sent) {
    r_.sent = sent;
    if (sent > next_) r_.lost += sent - next_;
  }

 private:
  StreamResult& r_;
  std::uint64_t next_ = 0;
  std::uint64_t seen_ = 0;  // bit i: the one i before the latest
};

// A message is its stream above its number; longer ones have the complement of that in their last word. The number that
// no message has is said before the number of those that were sent.
inline constexpr unsigned number_bits = 40;
inline constexpr std::uint64_t end_of_stream = (std::uint64_t{1} << number_bits) - 1;

DCGN_HOST_DEVICE inline std::uint64_t message_of(int stream, std::uint64_t number) {
  return static_cast<std::uint64_t>(stream) << number_bits | number;
}

template <class Group>
DCGN_HOST_DEVICE void send_stream(const Group& group, gpu::Slot slot, std::uint64_t* buffer, const RatePlan& plan) {
  const int stream = slot.rank(), to = stream + plan.streams;
  const std::int64_t last = plan.bytes / 8 - 1;
  const auto send = [&](std::uint64_t number) {
    if (group.leader()) {
      buffer[last] = ~message_of(stream, number);
      buffer[0] = message_of(stream, number);
    }
    return slot.send_bytes(group, buffer, plan.bytes, to) == Code::ok;
  };
  constexpr std::uint64_t look_at_clock_every = 64;
  const std::uint64_t begin = now_ns();
  std::uint64_t number = 0;
  for (;; ++number) {
    if (plan.messages) {
      if (number == plan.messages) break;
    } else if (number && number % look_at_clock_every == 0 &&
               group.broadcast(std::uint64_t{now_ns() - begin > plan.target_ns})) {
      break;
    }
    if (!send(number)) return;
  }
  if (send(end_of_stream)) send(number);
}

// Tells `progress` now and then how many have come.
template <class Group>
DCGN_HOST_DEVICE void receive_stream(const Group& group, gpu::Slot slot, std::uint64_t* buffer, const RatePlan& plan,
                                     StreamResult& result, std::uint64_t* progress) {
  constexpr std::uint64_t tell_every = 1 << 14;
  const int stream = slot.rank() - plan.streams;
  const std::int64_t last = plan.bytes / 8 - 1;
  StreamResult r{};
  Order order(r);
  for (;;) {
    if (!slot.recv_bytes(group, buffer, plan.bytes, stream)) return;
    const std::uint64_t value = buffer[0];
    // Few instructions where all is well: they are part of what a message takes.
    if (value == message_of(stream, order.next()) && !last && r.received) [[likely]] {
      order.take_next();
      if (++r.received % tell_every == 0 && group.leader()) store_relaxed(*progress, r.received);
      continue;
    }
    if (value == message_of(stream, end_of_stream)) break;
    if (r.received == 0) r.begin_ns = now_ns();
    if (++r.received % tell_every == 0 && group.leader()) store_relaxed(*progress, r.received);
    if (value >> number_bits != static_cast<std::uint64_t>(stream) || (last && buffer[last] != ~value))
      ++r.damaged;
    else
      order.take(value & end_of_stream);
  }
  r.end_ns = now_ns();
  if (!slot.recv_bytes(group, buffer, plan.bytes, stream) || !group.leader()) return;
  order.end(buffer[0] & end_of_stream);
  result = r;
}

// A block for each slot. `memory` has `stride` bytes for each on this GPU; results and progress are by stream.
template <ScopeKind Kind>
struct RateKernel {
  static constexpr unsigned max_threads = most_threads(Kind), blocks_per_multiprocessor = 1;
  DCGN_HOST_DEVICE void operator()(gpu::Context& ctx, gpu::Comm comm, unsigned char* memory, std::size_t stride,
                                   RatePlan plan, StreamResult* results, std::uint64_t* progress) const {
    for_my_slot<Kind>(ctx, comm, 1, [&](const auto& group, const gpu::Slot& slot) {
      auto* buffer = reinterpret_cast<std::uint64_t*>(memory + static_cast<std::size_t>(slot.slot()) * stride);
      if (slot.rank() < plan.streams) {
        send_stream(group, slot, buffer, plan);
      } else {
        const int stream = slot.rank() - plan.streams;
        receive_stream(group, slot, buffer, plan, results[stream], progress + stream);
      }
    });
  }
};

}  // namespace dcgn::bench
