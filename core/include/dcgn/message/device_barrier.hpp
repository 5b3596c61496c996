// A barrier of the slots of one GPU, in its memory. Each slot writes down for which turn it comes, and in which call;
// the leader, one of them, ends the turn when it has seen all. Reports show it as empty messages between them, but it
// uses no FIFOs. It orders no other memory, so that no store waits for those before it, and caches keep what they have.
#pragma once

#include <dcgn/arch/atomic.hpp>
#include <dcgn/arch/relax.hpp>
#include <dcgn/call.hpp>
#include <dcgn/message/endpoint.hpp>
#include <dcgn/peers.hpp>
#include <dcgn/status.hpp>

#include <cstdint>

namespace dcgn::message {

struct alignas(64) DeviceBarrier {
  static constexpr int most = 255;  // who meets the leader
  std::uint32_t turn;
  std::uint64_t come[most];  // by each who meets the leader: Attendance::mark()
};
// Communicators that have one for each rank that may lead: the first ones.
inline constexpr int most_device_barriers = 4;

// A call's part in one.
struct Attendance {
  DeviceBarrier& barrier;
  Peers team;   // its leader first
  int members;  // with it
  std::uint32_t call;
  std::uint32_t turn;  // the barrier's when it begins

  DCGN_HOST_DEVICE bool leads() const { return team.self == 0; }
  DCGN_HOST_DEVICE std::uint64_t mark() const { return (turn + 1) | static_cast<std::uint64_t>(call) << 32; }
  // Once, by a scope's leader.
  DCGN_HOST_DEVICE void begin() const {
    schedule_point();
    if (!leads()) store_relaxed(barrier.come[team.self - 1], mark());
  }
  // Who waits for nobody any more: of the others a scope's leader, of the leader's scope a thread that looks at every
  // so many words, from this one on.
  DCGN_HOST_DEVICE bool is_over() const { return load_relaxed(barrier.turn) != turn; }
  DCGN_HOST_DEVICE bool have_come(int from, int step) const {
    constexpr int at_once = 8;
    bool all = true;
    for (int k = from; k < members - 1; k += at_once * step) {
      std::uint64_t word[at_once];
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
      for (int i = 0; i < at_once; ++i)
        word[i] = k + i * step < members - 1 ? load_relaxed(barrier.come[k + i * step]) : mark();
      for (const std::uint64_t w : word) all &= w == mark();
    }
    return all;
  }
  // A rank for which it waits; -1 where there is none.
  DCGN_HOST_DEVICE int awaits() const {
    if (!leads()) return is_over() ? -1 : team[0];
    for (int k = 0; k < members - 1; ++k)
      if (load_relaxed(barrier.come[k]) != mark()) return team[k + 1];
    return -1;
  }
  // By the leader's scope, when all have come: by its leader.
  DCGN_HOST_DEVICE void end() const {
    schedule_point();
    store_relaxed(barrier.turn, turn + 1);
  }
};

// Waits at the barrier: a member returns when its turn is over, the leader when all others have come.
template <class Scope>
DCGN_HOST_DEVICE Code attend(const Scope& scope, Endpoint& me, Call call, const Attendance& attendance,
                             std::int32_t tag, std::uint32_t context);

// The barrier of the world's slots, in the memory of each GPU, where every rank of the world is a slot that reaches the
// memory of all GPUs. The last slot of a GPU to come tells all GPUs; each slot looks at what its own GPU has been told.
// Barriers are counted, so that no word is cleared. Like DeviceBarrier it orders no other memory.
struct alignas(64) WorldBarrier {
  static constexpr int most = 256;               // slots of a GPU
  std::uint64_t arrivals;                        // the sum of WorldMeeting::arrival() of all who came
  alignas(64) std::uint32_t told[most_in_turn];  // by GPU: the last barrier that all its slots have come to
  alignas(64) std::uint32_t come[most];          // by slot: the call in which it has come last, for reports
};
// Those of all GPUs.
struct WorldBarriers {
  WorldBarrier* of[most_in_turn];
};

// A slot's part in one.
struct WorldMeeting {
  const WorldBarriers& barriers;
  const std::int32_t* firsts;  // by GPU: its first rank
  int gpus, gpu;               // how many, and which one this is
  int slots, slot;             // of this GPU, and which one this is
  std::uint32_t call;          // the call's number, from 1
  std::uint32_t barrier;       // the barrier's, from 1

  DCGN_HOST_DEVICE WorldBarrier& here() const { return *barriers.of[gpu]; }
  // Calls' numbers are added up, so that a slot in a barrier of another number is not taken for one in this.
  DCGN_HOST_DEVICE std::uint64_t arrival() const { return static_cast<std::uint64_t>(call) << 32 | 1; }
  // Once, by a scope's leader. True for the last slot of the GPU, which then tells all GPUs.
  DCGN_HOST_DEVICE bool begin(WorldMet& met) const {
    store_relaxed(here().come[slot], call);
    met.barriers = barrier;
    met.arrivals += static_cast<std::uint64_t>(slots) * arrival();
    return on_device::fetch_add_relaxed(here().arrivals, arrival()) + arrival() == met.arrivals;
  }
  DCGN_HOST_DEVICE void tell(int other) const {
    schedule_point();
    store_relaxed(barriers.of[other]->told[gpu], barrier);
  }
  DCGN_HOST_DEVICE bool has_come(int other) const {
    return static_cast<std::int32_t>(load_relaxed(here().told[other]) - barrier) >= 0;
  }
  // As Attendance::awaits().
  DCGN_HOST_DEVICE int awaits() const {
    if (!has_come(gpu)) {
      for (int s = 0; s < slots; ++s)
        if (load_relaxed(here().come[s]) != call) return firsts[gpu] + s;
      return firsts[gpu] + slot;  // all have come just now
    }
    for (int g = 0; g < gpus; ++g)
      if (!has_come(g)) return firsts[g];
    return -1;
  }
};

// Waits until all have come, after begin() and tell(), for as long as a call may.
template <class Scope>
DCGN_HOST_DEVICE Code attend(const Scope& scope, Endpoint& me, const WorldMeeting& meeting, std::int32_t tag,
                             std::uint32_t context);

}  // namespace dcgn::message
