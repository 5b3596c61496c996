// One cell to each of a few ranks and one from each, at once: what the smallest collectives take. As with the quick
// calls of quick_in_block.hpp the threads find out for themselves, here one of the first warp for each rank.
#pragma once

#include <dcgn/gpu/relax.hpp>
#include <dcgn/message/endpoint.hpp>
#include <dcgn/message/peers.hpp>
#include <dcgn/message/progress.hpp>
#include <dcgn/message/quick_in_block.hpp>

#include <cstdint>

namespace dcgn::message {

// Whether calls of this scope can be such.
template <class Scope>
inline constexpr bool exchanges_cells = decides_in_block&& Scope::in_block && !Scope::single;

// With whom: all of the peers, one of them by its number, or none.
struct Partners {
  static constexpr int everyone = -1, nobody = -2;

  Peers peers;
  int count;  // at most as many as threads look
  int to = everyone, from = everyone;

  DCGN_HOST_DEVICE bool are(int which, int k) const {
    return k < count && k != peers.self && (which == everyone || which == k);
  }
};

// What came of it: not begun, begun but not all has come, all done; and the number of the call.
struct Exchange {
  enum class State : std::uint32_t { none, some, all };
  State state = State::none;
  std::uint32_t number = 0;
};

// `begun` counts the calls made so far; word(result.number) is the last one of all cells of this one. Each of the
// threads that look hands what came from its partner, or what is sent where it has none, to take(value), all of them
// together; where not all has come the lapses say what is missing, and keep(partner, value) has what is there.
template <class Scope, class Word, class Take, class Keep>
DCGN_HOST_DEVICE Exchange exchange_cells(const Scope& scope, const Port& port, const Partners& partners,
                                         const void* data, std::uint64_t bytes, std::uint32_t& begun, const Word& word,
                                         const Take& take, const Keep& keep) {
  Endpoint& me = *port.me;
  scope.sync();  // what the threads wrote to the buffer is visible to all of them
  Exchange result;
  if (scope.looks()) {
    result.number = begun;
    const int k = static_cast<int>(scope.rank());
    const bool sends = partners.are(partners.to, k), receives = partners.are(partners.from, k);
    const std::uint32_t lane = sends | receives ? port.lane(partners.peers[k]) : 0;
    const bool near = lane < static_cast<std::uint32_t>(port.near);
    OutLane& out = port.out[near ? lane : 0];
    InLane& in = port.in[near ? lane : 0];
    const Stand to = Stand::of(out), from = Stand::of(in);
    const Hindrance hindrance = Hindrance::of(me);
    std::uint32_t* const bell = out.bell;
    const std::uint64_t sent = out.quick_bytes + bytes, received = in.quick_bytes + bytes;
    const std::uint64_t payload = load_plain(true, data, bytes);
    const bool good = near & ((hindrance.sending | hindrance.receiving | (me.without & without_rounds)) == 0) &
                      (!sends | (to.row != 0)) & (!receives | (from.row != 0));
    if (scope.vote_of_lookers(good)) {
      const std::uint32_t last = word(result.number);
      write_cell_if(sends, to.cell, payload, last | static_cast<std::uint64_t>(to.epoch) << 32);
      store_two_if(sends, &out.next, reinterpret_cast<std::uintptr_t>(to.cell + 1),
                   to.epoch | static_cast<std::uint64_t>(to.row - 1) << 32);
      store_if(sends, &out.quick_bytes, sent);
      if (sends && bell) store_relaxed(*bell, out.ring.position(to.cell + 1, to.epoch));
      if (scope.leader()) begun = result.number + 1;
      std::uint32_t d[3]{}, looks = 0;
      bool here = !receives;
      for (;;) {
        if (!here) here = read_cell(*from.cell, from.epoch, d);
        if (scope.vote_of_lookers(here) || ++looks == quick_looks) break;
        relax_briefly();
      }
      const bool came = receives & here & (d[2] == last);
      store_two_if(came, &in.next, reinterpret_cast<std::uintptr_t>(from.cell + 1),
                   from.epoch | static_cast<std::uint64_t>(from.row - 1) << 32);
      store_if(came, &in.quick_bytes, received);
      const std::uint64_t value = d[0] | static_cast<std::uint64_t>(d[1]) << 32;
      if (scope.vote_of_lookers(came | !receives)) {
        take(receives ? value : payload);
        result.state = Exchange::State::all;
      } else {
        if (came) keep(k, value);
        if (receives && !came)
          store_relaxed(me.collectives.lapses[k - (partners.from < 0 ? 0 : partners.from)].unreceived, 1);
        result.state = Exchange::State::some;
      }
    }
  }
  return scope.tell_looked(result);
}

}  // namespace dcgn::message
