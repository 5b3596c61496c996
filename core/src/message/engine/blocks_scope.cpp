// Blocks that wait long for each other.
#include "message/engine/compiled.hpp"

#include "message/engine/wait.hpp"

#include <dcgn/arch/clock.hpp>
#include <dcgn/arch/relax.hpp>
#include <dcgn/message/blocks_scope.hpp>

#include <cstdint>

#if DCGN_COMPILED_HERE

namespace dcgn::gpu {

DCGN_HOST_DEVICE bool BlocksScope::await_long(const std::uint32_t& word, std::uint32_t bits, std::uint32_t value,
                                              bool equal) const {
  const std::uint64_t deadline = slot_.limits.deadline_ns + (leader() ? 0 : 1'000'000'000u);
  const bool in_call = leader() && bits == ~turn;
  std::uint64_t since = now_ns();
  bool met = true, told = false, says = false;
  for (std::uint32_t pauses = 1; met && ((on_device::load_to_acquire(word) & bits) == value) != equal; ++pauses) {
    relax();
    if (pauses % message::look_every) continue;
    const std::uint32_t phase = load_relaxed(*slot_.phase);
    met = phase != static_cast<std::uint32_t>(message::Phase::aborted);
    const std::uint64_t now = now_ns(), waited = now - since;
    if (!met || waited < deadline) continue;
    if (!told) {
      const bool busy = !in_call && load_acquire(slot_.busy);
      told = leader() || !busy;
      if (!told) {  // who makes the call has a deadline of its own
        since = now;
        continue;
      }
      const bool first = on_device::fetch_add_release(slot_.grid_barrier.reported, 1) == 0;
      if (first) message::raise_alarm(slot_, message::Alarm::deadline);
      says = first && !busy;
    }
    if (says && message::is_to_answer(slot_, phase))
      message::publish(slot_, {.bytes = blocks_}, message::awaits_blocks, blocks_here(), phase, waited);
    met = waited < deadline + 10'000'000'000u;  // else nobody listens
  }
  return met;
}

DCGN_HOST_DEVICE bool BlocksScope::part(bool met) const {
  message::GridBarrier& g = slot_.grid_barrier;
  conclude(met);
  sync();  // all have seen it
  if (leader()) {
    for (std::uint8_t& refused : g.meeting.refused) store_relaxed(refused, 0);
    store_relaxed(g.looks, 0);
  }
  sync();
  return !broken_;
}

}  // namespace dcgn::gpu

#endif
