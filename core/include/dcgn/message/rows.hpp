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
    if (good) rows.to[whom] = {out_now.ring, to.begin};
  }
  if (received) {
    in = port.in + fifo_of_peer(whose);
    if (good) in_now = Cursor::of(*in);
    if (good) from = in_now.reserve(received);
    if (good) rows.from[whose] = {in_now.ring, from.begin};
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

// The same bytes to all peers whose bits are set. Short loops rather than long code: a warp waits for instructions that
// it has not had lately.
DCGN_HOST_DEVICE inline void push_to_all(const Hands hands, const Row* rows, std::uint32_t peers,
                                         const unsigned char* data, std::uint32_t bytes) {
  each_part<1>(PayloadLayout(payload_packets(bytes), bytes), hands, [&](const auto& part, auto& d) {
    part.load_own(data, d);
#if defined(__CUDA_ARCH__)
#pragma unroll 1
#endif
    for (std::uint32_t k = 0; peers >> k; ++k)
      if (peers >> k & 1) Row(rows[k]).write(part, d);
    return true;
  });
}

// Takes one payload; false where the job is aborted.
DCGN_HOST_DEVICE inline bool take_row(const Hands hands, const Row row, unsigned char* to, std::uint32_t bytes,
                                      const std::uint32_t& phase) {
  return take_payload<1>(Payload(row, payload_packets(bytes), bytes), phase, to, hands);
}

// A part of the payloads of as many ranks: `words` has the operand of rank `self` and then what `fold` makes of all in
// their order. False where the job is aborted.
template <class Part, std::uint32_t Packets, class Fold>
DCGN_HOST_DEVICE bool fold_part(const Row* rows, int self, int count, const Part& part,
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
        here = static_cast<int>(Row(rows[k]).read(part, d[i])) & here;
      }
      return here;
    });
    if (!came) return false;
    for (int i = 0; i < at_once; ++i) {
      const int k = begin + i;
      if (k >= count) continue;
      for (std::uint32_t c = 0; c < Packets; ++c)
        for (int w = 0; w < 3; ++w) {
          const std::uint32_t next = k == self ? words[c][w] : d[i][c][w];
          sum[c][w] = k ? fold(sum[c][w], next) : next;
        }
    }
  }
  for (std::uint32_t c = 0; c < Packets; ++c)
    for (int w = 0; w < 3; ++w) words[c][w] = sum[c][w];
  return true;
}

// out[i] = operand 0 op operand 1 op ..., of so many ranks, where the operand of rank `self` is `in`, which may be
// `out`; false where the job is aborted.
template <class Fold>
DCGN_HOST_DEVICE bool fold_rows(const Hands hands, const Row* rows, int self, int count, const unsigned char* in,
                                unsigned char* out, std::uint32_t bytes, const std::uint32_t& phase, const Fold& fold) {
  return each_part<1>(PayloadLayout(payload_packets(bytes), bytes), hands, [&](const auto& part, auto& d) {
    part.load_own(in, d);
    if (!fold_part(rows, self, count, part, d, phase, fold)) return false;
    part.store(out, d);
    return true;
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
