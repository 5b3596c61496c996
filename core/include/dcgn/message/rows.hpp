// Rows: a block sends a payload to each of a few ranks and receives one from each, at once. What its all_reduce is made
// of, from a packet up to what a ring holds.
//
// Messages are those of rounds, so the other side may make its part of them otherwise. Where there is room for every
// payload, as is the rule, a thread has to know no more of a FIFO than where that lies: what there is to find out, one
// thread finds out for each rank, and writes it down for all.
#pragma once

#include <dcgn/arch/scope.hpp>
#include <dcgn/message/endpoint.hpp>
#include <dcgn/message/exchange.hpp>
#include <dcgn/message/fast_path.hpp>
#include <dcgn/message/fifo.hpp>
#include <dcgn/message/payload.hpp>
#include <dcgn/message/rounds.hpp>
#include <dcgn/message/spin.hpp>

#include <cstdint>

namespace dcgn::message {

// The packets of a payload.
struct Row {
  Packet* packets;                // of the ring
  std::uint32_t shift, position;  // of the ring; of the first one
  std::uint32_t epoch_before = 0;

  DCGN_HOST_DEVICE Packet& at(std::uint32_t packet) const { return Ring{packets, shift}.at(position + packet); }
  DCGN_HOST_DEVICE std::uint32_t epoch(std::uint32_t packet) const {
    return epoch_before + Ring{packets, shift}.epoch(position + packet);
  }
};

struct Rows {
  static constexpr int most = 8;
  Row to[most], from[most];  // by the numbers of peers

  // Numbers of peers, a bit each.
  DCGN_HOST_DEVICE static std::uint32_t all_but(int self, int count) { return ((1u << count) - 1) & ~(1u << self); }
};
static_assert(sizeof(Rows) <= gpu::BlockScope::table_bytes);

// Whether calls of this scope can be such.
template <class Scope>
inline constexpr bool exchanges_rows = exchanges_packets<Scope> && !Scope::in_warp;

// Whether a payload can be one of a row: whole words, more than a header holds.
DCGN_HOST_DEVICE inline bool fits_row(const void* data, std::int64_t bytes) {
  return (bytes > static_cast<std::int64_t>(small_bytes)) & (bytes < INT64_C(1) << 31) &
         is_words(data, static_cast<std::uint64_t>(bytes)) & (data != nullptr);
}

// True if the FIFO has room for the message; polls briefly, because the receiver is draining it.
DCGN_HOST_DEVICE inline bool await_room(OutFifo& fifo, const Cursor& now, const Reservation& message) {
  if (message.all <= now.row) return true;
  const std::uint32_t size = now.ring.size();
  if (fifo.queued || message.all > size) return false;
  const auto fits = [&] { return size - (message.position - fifo.taken) >= message.all; };
  return fits() || spin(fast_looks, [&] {
           fifo.taken = load_credit(*fifo.credit);
           return fits();
         });
}

// A thread of the first warp sees to what goes to each peer, one of the second, if there is one, to what comes from it.
// to_bytes(k) and from_bytes(k) say how long the payload to or from peer k is, 0 where there is none; begin() is called
// by the leader when nothing can keep the exchange from being begun; all threads push(rows), and take(rows) once the
// headers of all messages have come, which returns false where the job is aborted. What a thread has missed is a bit of
// its own.
template <class ToBytes, class FromBytes, class Begin, class Push, class Take>
DCGN_HOST_DEVICE Exchange exchange_rows(const gpu::BlockScope& scope, const Port& port, const Peers& peers, int count,
                                        std::int32_t tag, std::uint32_t context, const ToBytes& to_bytes,
                                        const FromBytes& from_bytes, const Begin& begin, const Push& push,
                                        const Take& take) {
  Endpoint& me = *port.me;
  Rows& rows = *scope.template table<Rows>();
  const auto rank = static_cast<int>(scope.rank());
  const int whom = rank, whose = scope.size() < 2 * Crews::warp ? rank : rank - static_cast<int>(Crews::warp);
  const auto is_peer = [&](int k) { return (k >= 0) & (k < count) & (k != peers.self); };
  const std::uint32_t sent = is_peer(whom) ? to_bytes(whom) : 0, received = is_peer(whose) ? from_bytes(whose) : 0;
  scope.sync();  // what the threads wrote is visible to all of them
  bool good = true;
  if ((sent | received) != 0 || rank == 0) {
    const Blocker blocker = Blocker::of(me);
    good = (blocker.sending | blocker.receiving | (me.without & without_rounds)) == 0;
  }
  const auto fifo_of_peer = [&](int k) {
    const std::uint32_t index = port.fifo(peers[k]);
    good = good & (index < static_cast<std::uint32_t>(port.near));
    return good ? index : 0;
  };
  OutFifo* out = nullptr;
  InFifo* in = nullptr;
  Cursor out_now, in_now;
  Reservation to, from;
  if (sent) {
    out = port.out + fifo_of_peer(whom);
    if (good) out_now = Cursor::of(*out);
    if (good) to = out_now.reserve(sent);
    good = good && sent <= out->eager_most && await_room(*out, out_now, to);
    if (good) rows.to[whom] = {out_now.ring.packets, out_now.ring.shift, to.begin};
  }
  if (received) {
    in = port.in + fifo_of_peer(whose);
    if (good) in_now = Cursor::of(*in);
    if (good) from = in_now.reserve(received);
    if (good) rows.from[whose] = {in_now.ring.packets, in_now.ring.shift, from.begin};
  }
  if (!scope.agree(good)) return {};
  const std::uint32_t kind = eager_word(context);
  const auto word = static_cast<std::uint32_t>(tag);
  if (sent) put_header(*out, out_now.ring, to.position, word, sent, kind);
  push(rows);
  if (sent) {
    const Counters counters = Counters::of(*out);
    counters.commit(*out, out_now, to.all, sent, counters.told);
  }
  if (rank == 0) begin();
  std::uint32_t d[3]{};
  const bool here =
      !received ||
      (spin(fast_looks,
            [&] { return read_packet(in_now.ring.at(from.position), in_now.ring.epoch(from.position), d); }) &&
       (d[2] == kind) & (d[0] == word) & (d[1] == received));
  Exchange result{Exchange::State::some, received ? 1u << whose : 0};
  if (!scope.agree(here)) return result;
  const bool due = received && Counters::of(*in).commit(*in, in_now, from, received);
  if (scope.agree(take(rows))) result = {Exchange::State::all, 0};
  if (due && result.state == Exchange::State::all) store_credit(*in->credit, from.position + from.all);
  return result;  // else the job is aborted, as who makes up for it finds out
}

// Notes what an exchange has missed, for make_up(). With all threads of the scope.
DCGN_HOST_DEVICE inline void note_missing(const gpu::BlockScope& scope, Endpoint& me, const Range& from,
                                          std::uint32_t missing) {
  for (int k = from.begin; k < from.end; ++k)
    if (missing >> k & 1) store_relaxed(me.collectives.lapses[k - from.begin].unreceived, 1);
  scope.sync();
}

// ---- payloads

// The threads that see to a payload together: the last ones take its first packets, for the first ones have FIFOs to
// see to.
struct Hands {
  std::uint32_t turn, count;

  DCGN_HOST_DEVICE static Hands all_of(const gpu::BlockScope& scope) { return {turn_of(scope), scope.size()}; }
};

// Which words of a payload a thread has: those of four packets, 32 apart, as 16 bytes three times, 512 apart; or of
// one.
struct PayloadWords {
  std::uint32_t packets, whole, shares;  // `shares` of four packets come first

  DCGN_HOST_DEVICE explicit PayloadWords(std::uint32_t bytes)
      : packets(payload_packets(bytes)), whole(bytes / 4), shares(in_wide_groups(packets) / 4) {}
  DCGN_HOST_DEVICE static std::uint32_t byte(std::uint32_t share) {
    return share / 32 * (wide_words * 4) + share % 32 * 16;
  }
  DCGN_HOST_DEVICE static std::uint32_t packet(std::uint32_t share) { return share / 32 * wide_packets + share % 32; }

  // act_on_share(share) and act_on_packet(packet) for all that one of the hands has, until one says false.
  template <class OnShare, class OnPacket>
  DCGN_HOST_DEVICE bool each(const Hands& hands, const OnShare& act_on_share, const OnPacket& act_on_packet) const {
    std::uint32_t i = hands.turn;
    for (; i < shares; i += hands.count)
      if (!act_on_share(i)) return false;
    for (i += 3 * shares; i < packets; i += hands.count)  // who had fewer shares comes first
      if (!act_on_packet(i)) return false;
    return true;
  }
  DCGN_HOST_DEVICE void load_packet(const unsigned char* from, std::uint32_t packet, std::uint32_t (&d)[3]) const {
    const PacketWords words(packet, packets);
    for (std::uint32_t w = 0; w < 3; ++w) {
      const std::uint32_t word = words.first + w * words.stride;
      d[w] = word < whole ? load_word(from + word * 4) : 0;
    }
  }
  DCGN_HOST_DEVICE void store_packet(unsigned char* to, std::uint32_t packet, const std::uint32_t (&d)[3]) const {
    const PacketWords words(packet, packets);
    for (std::uint32_t w = 0; w < 3; ++w) {
      const std::uint32_t word = words.first + w * words.stride;
      if (word < whole) store_word(to + word * 4, d[w]);
    }
  }
};

DCGN_HOST_DEVICE inline void load_share(const unsigned char* from, bool at_once, std::uint32_t (&d)[4][3]) {
  for (std::uint32_t v = 0; v < 3; ++v) {
    const FourWords four = load_four(from + 512 * v, at_once);
    for (std::uint32_t i = 4 * v; i < 4 * v + 4; ++i) d[i / 3][i % 3] = four.word[i % 4];
  }
}
DCGN_HOST_DEVICE inline void store_share(unsigned char* to, bool at_once, const std::uint32_t (&d)[4][3]) {
  for (std::uint32_t v = 0; v < 3; ++v) {
    FourWords four;
    for (std::uint32_t i = 4 * v; i < 4 * v + 4; ++i) four.word[i % 4] = d[i / 3][i % 3];
    store_four(to + 512 * v, four, at_once);
  }
}

// The same bytes to all peers whose bits are set. Short loops rather than long code: a warp waits for instructions that
// it has not had lately.
DCGN_HOST_DEVICE inline void push_to_all(const Hands& hands, const Row* rows, std::uint32_t peers,
                                         const unsigned char* data, std::uint32_t bytes) {
  const PayloadWords payload(bytes);
  const bool at_once = lies_on_16(data);
  const auto each_peer = [&](const auto& act) {
#if defined(__CUDA_ARCH__)
#pragma unroll 1
#endif
    for (std::uint32_t k = 0; peers >> k; ++k)
      if (peers >> k & 1) act(rows[k]);
  };
  payload.each(
      hands,
      [&](std::uint32_t share) {
        std::uint32_t d[4][3];
        load_share(data + PayloadWords::byte(share), at_once, d);
        const std::uint32_t first = PayloadWords::packet(share);
        each_peer([&](const Row row) {
          for (std::uint32_t c = 0; c < 4; ++c)
            write_packet(row.at(first + 32 * c), d[c][0], d[c][1], d[c][2], row.epoch(first + 32 * c));
        });
        return true;
      },
      [&](std::uint32_t packet) {
        std::uint32_t d[3];
        payload.load_packet(data, packet, d);
        each_peer([&](const Row row) { write_packet(row.at(packet), d[0], d[1], d[2], row.epoch(packet)); });
        return true;
      });
}

// Takes one payload; false where the job is aborted.
DCGN_HOST_DEVICE inline bool take_row(const Hands& hands, const Row row, unsigned char* to, std::uint32_t bytes,
                                      const std::uint32_t& phase) {
  const PayloadWords payload(bytes);
  const bool at_once = lies_on_16(to);
  return payload.each(
      hands,
      [&](std::uint32_t share) {
        std::uint32_t d[4][3];
        const std::uint32_t first = PayloadWords::packet(share);
        const bool came = await(phase, [&] {
          bool here = true;
          for (std::uint32_t c = 0; c < 4; ++c)
            here = static_cast<int>(read_packet(row.at(first + 32 * c), row.epoch(first + 32 * c), d[c])) & here;
          return here;
        });
        if (came) store_share(to + PayloadWords::byte(share), at_once, d);
        return came;
      },
      [&](std::uint32_t packet) {
        std::uint32_t d[3];
        const bool came = await(phase, [&] { return read_packet(row.at(packet), row.epoch(packet), d); });
        if (came) payload.store_packet(to, packet, d);
        return came;
      });
}

// Packets of as many ranks, from the first one on, 32 apart: `words` has the operand of rank `self` and then what
// `fold` makes of all in their order. False where the job is aborted.
template <int Packets, class Fold>
DCGN_HOST_DEVICE bool fold_packets(const Row* rows, int self, int count, std::uint32_t first,
                                   std::uint32_t (&words)[Packets][3], const std::uint32_t& phase, const Fold& fold) {
  constexpr int at_once = Packets == 1 ? 4 : 2;  // ranks, whose packets are under way together
  std::uint32_t sum[Packets][3]{};
#if defined(__CUDA_ARCH__)
#pragma unroll 1
#endif
  for (int begin = 0; begin < count; begin += at_once) {
    std::uint32_t d[at_once][Packets][3]{};
    const bool came = await(phase, [&] {
      bool here = true;
      for (int i = 0; i < at_once; ++i) {
        const int k = begin + i;
        if (k >= count || k == self) continue;
        const Row row = rows[k];
        for (int c = 0; c < Packets; ++c)
          here = static_cast<int>(read_packet(row.at(first + 32 * c), row.epoch(first + 32 * c), d[i][c])) & here;
      }
      return here;
    });
    if (!came) return false;
    for (int i = 0; i < at_once; ++i) {
      const int k = begin + i;
      if (k >= count) continue;
      for (int c = 0; c < Packets; ++c)
        for (int w = 0; w < 3; ++w) {
          const std::uint32_t next = k == self ? words[c][w] : d[i][c][w];
          sum[c][w] = k ? fold(sum[c][w], next) : next;
        }
    }
  }
  for (int c = 0; c < Packets; ++c)
    for (int w = 0; w < 3; ++w) words[c][w] = sum[c][w];
  return true;
}

// out[i] = operand 0 op operand 1 op ..., of so many ranks, where the operand of rank `self` is `in`, which may be
// `out`; false where the job is aborted.
template <class Fold>
DCGN_HOST_DEVICE bool fold_rows(const Hands& hands, const Row* rows, int self, int count, const unsigned char* in,
                                unsigned char* out, std::uint32_t bytes, const std::uint32_t& phase, const Fold& fold) {
  const PayloadWords payload(bytes);
  const bool loads_at_once = lies_on_16(in), stores_at_once = lies_on_16(out);
  return payload.each(
      hands,
      [&](std::uint32_t share) {
        const std::uint32_t byte = PayloadWords::byte(share);
        std::uint32_t d[4][3];
        load_share(in + byte, loads_at_once, d);
        const bool came = fold_packets(rows, self, count, PayloadWords::packet(share), d, phase, fold);
        if (came) store_share(out + byte, stores_at_once, d);
        return came;
      },
      [&](std::uint32_t packet) {
        std::uint32_t d[1][3];
        payload.load_packet(in, packet, d[0]);
        const bool came = fold_packets(rows, self, count, packet, d, phase, fold);
        if (came) payload.store_packet(out, packet, d[0]);
        return came;
      });
}

// The threads of a block that see to one peer of several, warp by warp, and to others after it.
struct Shift {
  Hands hands;
  std::uint32_t first = 0, step = 1;  // peers

  DCGN_HOST_DEVICE Shift(const gpu::BlockScope& scope, std::uint32_t peers) : hands(Hands::all_of(scope)) {
    constexpr std::uint32_t warp = Crews::warp;
    const std::uint32_t warps = hands.count / warp, turn = hands.turn;
    if (peers < 2 || warps < 2) return;
    step = warps < peers ? warps : peers;
    first = turn / warp % step;
    hands = {turn / warp / step * warp + turn % warp, (warps / step + (first < warps % step)) * warp};
    if (turn >= warps * warp) first = peers;  // of the last warp, which lacks threads
  }
};

}  // namespace dcgn::message
