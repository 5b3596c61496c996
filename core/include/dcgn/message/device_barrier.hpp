// A barrier of the slots of one GPU, in its memory. Each slot writes down the call that it comes from; the leader, one
// of them, ends their turn when it has seen all. Reports show it as empty messages between them, but it uses no FIFOs.
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
  std::uint32_t come[most];  // the call of each; cleared by the leader before it ends the turn
};
// Communicators that have one for each rank that may lead: the first ones.
inline constexpr int most_device_barriers = 4;

// A call's part in one.
struct Attendance {
  DeviceBarrier& barrier;
  Peers team;          // its leader first
  int members;         // with it
  std::uint32_t call;  // not 0
  std::uint32_t turn = 0;

  DCGN_HOST_DEVICE bool leads() const { return team.self == 0; }
  // Once, by a scope's leader.
  DCGN_HOST_DEVICE void begin() {
    turn = load_relaxed(barrier.turn);
    if (!leads()) store_release(barrier.come[team.self - 1], call);
  }
  // Who waits for nobody any more: of the others a scope's leader, of the leader's scope a thread that looks at every
  // so many words, from this one on.
  DCGN_HOST_DEVICE bool is_over() const { return load_relaxed(barrier.turn) != turn; }
  DCGN_HOST_DEVICE bool have_come(int from, int step) const {
    constexpr int at_once = 8;
    bool all = true;
    for (int k = from; k < members - 1; k += at_once * step) {
      std::uint32_t word[at_once];
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
      for (int i = 0; i < at_once; ++i)
        word[i] = k + i * step < members - 1 ? load_relaxed(barrier.come[k + i * step]) : call;
      for (const std::uint32_t w : word) all &= w == call;
    }
    return all;
  }
  // The number of one for whom it waits; -1 where there is none.
  DCGN_HOST_DEVICE int awaits() const {
    if (!leads()) return is_over() ? -1 : 0;
    for (int k = 0; k < members - 1; ++k)
      if (load_relaxed(barrier.come[k]) != call) return k + 1;
    return -1;
  }
  // By the leader, for whom all have come: with all threads of its scope.
  template <class Scope>
  DCGN_HOST_DEVICE void end(const Scope& scope) const {
    for (unsigned k = scope.rank(); k + 1 < static_cast<unsigned>(members); k += scope.size())
      store_relaxed(barrier.come[k], 0);
    scope.sync();
    if (scope.leader()) store_release(barrier.turn, turn + 1);
  }
};

// Waits at the barrier: a member returns when its turn is over, the leader when all others have come.
template <class Scope>
DCGN_HOST_DEVICE Code attend(const Scope& scope, Endpoint& me, Call call, Attendance& attendance, std::int32_t tag,
                             std::uint32_t context);

}  // namespace dcgn::message
