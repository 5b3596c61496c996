// One packet to each of a few ranks and one from each, at once: what the smallest collectives take. As with the fast
// calls of fast_path.hpp the threads find out for themselves, here one of the first warp for each rank.
#pragma once

#include <dcgn/message/endpoint.hpp>
#include <dcgn/message/fast_path.hpp>
#include <dcgn/message/rounds.hpp>
#include <dcgn/message/spin.hpp>
#include <dcgn/peers.hpp>

#include <cstdint>

namespace dcgn::message {

// Whether calls of this scope can be such.
template <class Scope>
inline constexpr bool exchanges_packets = decides_in_block&& Scope::in_block && !Scope::single;

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

// What came of it: not begun, begun but not all has come, all done; and from whom nothing has, a bit for each.
struct Exchange {
  enum class State : std::uint32_t { none, some, all };
  State state = State::none;
  std::uint32_t missing = 0;
};

// What a thread that looks sends its partner: so many packets, all of whose last words are the same.
template <int Packets>
struct PacketRow {
  std::uint64_t values[Packets];
  std::uint32_t word;
};

// Each of the threads that look has load() give what it sends, hands what came from its partner to take(values), or
// what it sends where nothing comes from there, and where not all has come what has to keep(partner, values); begin()
// is called once by the leader when nothing can keep the call from being begun. With `orders` what the threads wrote
// before is visible to those whom the packets reach, on GPUs too.
template <int Packets, class Scope, class Load, class Begin, class Take, class Keep>
DCGN_HOST_DEVICE Exchange exchange_packets(const Scope& scope, const Port& port, const Partners& partners, bool orders,
                                           const Load& load, const Begin& begin, const Take& take, const Keep& keep) {
  scope.sync();  // what the threads wrote is visible to all of them
  Exchange result;
  if (scope.looks()) {
    const auto lookers = scope.lookers();
    Endpoint& me = *port.me;
    const int k = static_cast<int>(scope.rank());
    const bool sends = partners.are(partners.to, k), receives = partners.are(partners.from, k);
    const std::uint32_t fifo = (sends | receives) ? port.fifo(partners.peers[k]) : 0;
    const bool near = fifo < static_cast<std::uint32_t>(port.near);
    OutFifo& out = port.out[near ? fifo : 0];
    InFifo& in = port.in[near ? fifo : 0];
    const Cursor to = Cursor::of(out), from = Cursor::of(in);
    const Blocker blocker = Blocker::of(me);
    std::uint8_t* const doorbell = out.doorbell;
    constexpr std::uint64_t bytes = 8 * (Packets - 1);  // beside those of the last one
    const std::uint64_t sent = out.fast_bytes + bytes, received = in.fast_bytes + bytes;
    const PacketRow<Packets> row = load();
    const std::uint64_t last_bytes = row.word >> 3 & 15;
    const bool good = near & ((blocker.sending | blocker.receiving) == 0) & (!sends | (to.row >= Packets)) &
                      (!receives | (from.row >= Packets));
    if (lookers.vote(good)) {
      if (orders) order_memory();
      for (int i = 0; i < Packets; ++i)
        write_packet_if(sends, to.packet + i, row.values[i], row.word | static_cast<std::uint64_t>(to.epoch) << 32);
      to.step_if(sends, out, Packets);
      store_if(sends, &out.fast_bytes, sent + last_bytes);
      if (sends) ring_doorbell(doorbell);
      if (scope.leader()) begin();
      std::uint32_t d[Packets][3]{};
      bool here = !receives;
      spin(fast_looks, [&] {
        if (!here) {
          here = true;
          for (int i = 0; i < Packets; ++i)
            here = static_cast<int>(read_packet(from.packet[i], from.epoch, d[i])) & here;
        }
        return lookers.vote(here);
      });
      bool came = receives & here;
      PacketRow<Packets> got = row;
      for (int i = 0; i < Packets; ++i) {
        came = came & (d[i][2] == row.word);
        if (receives) got.values[i] = d[i][0] | static_cast<std::uint64_t>(d[i][1]) << 32;
      }
      if (orders) order_memory();
      from.step_if(came, in, Packets);
      store_if(came, &in.fast_bytes, received + last_bytes);
      result.missing = lookers.ballot(receives & !came);
      result.state = result.missing ? Exchange::State::some : Exchange::State::all;
      if (!result.missing)
        take(got.values);
      else if (came)
        keep(k, got.values);
    }
  }
  if constexpr (!Scope::in_warp) return scope.publish(result);
  scope.sync();  // all have looked, and found the same
  return result;
}

// The lapses say what an exchange has missed, for make_up(). With all threads of the scope.
template <class Scope>
DCGN_HOST_DEVICE void note_missing(const Scope& scope, Endpoint& me, const Partners& partners, const Exchange& e) {
  const int k = static_cast<int>(scope.rank());
  if (k < partners.count && e.missing >> k & 1)
    store_relaxed(me.collectives.lapses[partners.from < 0 ? k : 0].unreceived, 1);
  scope.sync();
}

}  // namespace dcgn::message
