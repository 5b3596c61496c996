// One receiver and many senders, of whom one at a time has something to send.
#pragma once

#include "core/bench/slot_end_kernel.hpp"

#include <dcgn/arch/clock.hpp>

#include <cstdint>

namespace dcgn::bench {

struct AnySourcePlan {
  std::uint64_t target_ns;
  int senders;  // ranks 1 .. senders
};

inline constexpr std::uint64_t no_more_turns = ~std::uint64_t{0};

// Whose turn it is: all over the ranks, so that no neighbour is a good guess, and everyone's once before anyone's
// twice.
DCGN_HOST_DEVICE inline int turn_of(std::uint64_t round, int senders) {
  const std::uint64_t step = senders % 37 ? 37 : 41;
  return 1 + static_cast<int>(round * step % static_cast<std::uint64_t>(senders));
}
// What a sender makes of the number that it gets: nobody else's answer.
DCGN_HOST_DEVICE inline std::uint64_t answer_of(std::uint64_t number, int rank) {
  return number ^ static_cast<std::uint64_t>(rank) << 40;
}

// Gives each its turn and receives the answer from any source. Counts wrong answers, and right ones of somebody else.
template <class Group>
DCGN_HOST_DEVICE bool give_turns(const Group& group, gpu::Slot slot, std::uint64_t* buffer, int senders,
                                 std::uint64_t first, std::uint64_t rounds, std::uint64_t& wrong) {
  for (std::uint64_t i = first; i < first + rounds; ++i) {
    const int sender = turn_of(i, senders);
    if (group.leader()) buffer[0] = i;
    if (slot.send_bytes(group, buffer, 8, sender) != Code::ok) return false;
    const Status status = slot.recv_bytes(group, buffer + 1, 8, any_source);
    if (!status) return false;
    if (group.leader()) wrong += status.source != sender || buffer[1] != answer_of(i, sender);
  }
  return true;
}

template <class Group>
DCGN_HOST_DEVICE void receive_from_any(const Group& group, gpu::Slot slot, std::uint64_t* buffer,
                                       const AnySourcePlan& plan, Samples& samples) {
  const std::uint64_t everyone = static_cast<std::uint64_t>(plan.senders), warm = 2000 + everyone;
  std::uint64_t wrong = 0;
  const std::uint64_t begin = now_ns();
  if (!give_turns(group, slot, buffer, plan.senders, 0, warm, wrong)) return;
  if (group.leader()) {
    const std::uint64_t round_ns = (now_ns() - begin) / warm + 1;
    const std::uint64_t least = larger(1, smaller(patience_ns(plan.target_ns) / round_ns, least_rounds));
    const std::uint64_t wanted = larger(plan.target_ns / round_ns, least);
    samples.blocks = smaller(wanted, Samples::most_blocks);
    samples.rounds = (wanted + samples.blocks - 1) / samples.blocks;
  }
  const std::uint64_t rounds = group.broadcast(group.leader() ? samples.rounds : 0);
  const std::uint64_t blocks = group.broadcast(group.leader() ? samples.blocks : 0);
  for (std::uint64_t k = 0; k < blocks; ++k) {
    const std::uint64_t block_begin = now_ns();
    if (!give_turns(group, slot, buffer, plan.senders, warm + k * rounds, rounds, wrong)) return;
    if (group.leader()) samples.ns[k] = now_ns() - block_begin;
  }
  if (group.leader()) {
    samples.wrong = wrong;
    buffer[0] = no_more_turns;
  }
  for (int sender = 1; sender <= plan.senders; ++sender)
    if (slot.send_bytes(group, buffer, 8, sender) != Code::ok) return;
}

template <class Group>
DCGN_HOST_DEVICE void take_turns(const Group& group, gpu::Slot slot, std::uint64_t* buffer) {
  for (;;) {
    if (!slot.recv_bytes(group, buffer, 8, 0)) return;
    const std::uint64_t number = buffer[0];
    if (number == no_more_turns) return;
    if (group.leader()) buffer[1] = answer_of(number, slot.rank());
    if (slot.send_bytes(group, buffer + 1, 8, 0) != Code::ok) return;
  }
}

// A block for each slot; `memory` has 32 words for each on this GPU.
template <ScopeKind Kind>
struct AnySourceKernel {
  static constexpr unsigned max_threads = most_threads(Kind), blocks_per_multiprocessor = 1;
  DCGN_HOST_DEVICE void operator()(gpu::Context& ctx, gpu::Comm comm, std::uint64_t* memory, AnySourcePlan plan,
                                   Samples* samples) const {
    for_my_slot<Kind>(ctx, comm, 1, [&](const auto& group, const gpu::Slot& slot) {
      std::uint64_t* buffer = memory + 32 * slot.slot();
      if (slot.rank() == 0)
        receive_from_any(group, slot, buffer, plan, *samples);
      else
        take_turns(group, slot, buffer);
    });
  }
};

}  // namespace dcgn::bench
