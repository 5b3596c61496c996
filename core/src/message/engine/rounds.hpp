// Rounds: how they are carried out.
#pragma once

#include "message/engine/calls.hpp"

#include <dcgn/message/rounds.hpp>

#include <cstdint>
#include <type_traits>

namespace dcgn::message {

// Moves the FIFO behind a message that has been written.
DCGN_HOST_DEVICE inline void commit_sent(OutFifo& fifo, const Cursor& from, const Counters& counters,
                                         const Reservation& message, std::uint64_t bytes) {
  counters.commit(fifo, from, message.all, bytes, credit_after(fifo, from.ring, message, counters.told));
}

// Puts a message of any bytes into its FIFO; false where that takes more than a fast call.
DCGN_HOST_DEVICE inline bool push(const Crew& crew, std::uint32_t threads, Endpoint& me, OutFifo& fifo,
                                  const unsigned char* data, std::uint64_t bytes, std::uint32_t tag,
                                  std::uint32_t context) {
  const bool small = fits_small(context, static_cast<std::int32_t>(tag), bytes);
  const Cursor now = Cursor::of(fifo);
  const Counters counters = Counters::of(fifo);
  const Reservation p = now.reserve(small ? 0 : bytes);
  const std::uint32_t limit = now.ring.size() - p.all;
  bool good = !fifo.queued && bytes <= eager_limit(fifo, threads) && (!bytes || !is_device_memory(me, data));
  if (p.position - counters.told > limit)
    good = good && crew.alone() && p.position - load_credit(*fifo.credit) <= limit;
  // Whoever has all of the message may end at once; but none has it without its header.
  if (!good || (crew.leader() && has_ended(me, fifo))) return false;
  if (crew.leader()) {
    const std::uint64_t payload = small ? load_small(data, bytes) : tag | bytes << 32;
    put_header(fifo, now.ring, p.position, static_cast<std::uint32_t>(payload),
               static_cast<std::uint32_t>(payload >> 32),
               small ? small_word(context, static_cast<std::int32_t>(tag), bytes) : eager_word(context));
  }
  if (p.packets) push_packets(crew, Payload(now.ring, p.begin, p.packets, bytes), data);
  if (crew.alone()) commit_sent(fifo, now, counters, p, bytes);
  return true;
}

// Moves the FIFO behind a message that has been read, and returns credit where it is due.
DCGN_HOST_DEVICE inline void commit_received(InFifo& fifo, const Cursor& from, const Counters& counters,
                                             const Reservation& message, std::uint64_t bytes) {
  if (counters.commit(fifo, from, message, bytes)) store_credit(*fifo.credit, message.position + message.all);
}

// Takes the message at the head of a FIFO if it is the one; false where none has come in a while, or another one.
DCGN_HOST_DEVICE inline bool take(const Crew& crew, Endpoint& me, InFifo& fifo, unsigned char* data,
                                  std::uint64_t bytes, std::uint32_t tag, std::uint32_t context) {
  if (bytes && is_device_memory(me, data)) return false;
  const bool small = fits_small(context, static_cast<std::int32_t>(tag), bytes);
  const Cursor now = Cursor::of(fifo);
  const Counters counters = Counters::of(fifo);
  const Reservation p = now.reserve(small ? 0 : bytes);
  const Ring ring = now.ring;
  // Each thread looks at the header and at the packet that it takes of a short payload.
  const std::uint32_t turn = turn_of(crew), own = p.begin + (turn < p.packets ? turn : 0);
  const Packet &header = ring.at(p.position), &own_packet = ring.at(own);
  const std::uint32_t epoch = ring.epoch(p.position), own_epoch = ring.epoch(own);
  std::uint32_t d[3]{}, mine[3]{};
  bool here = false;
  const bool came = spin(fast_looks, [&] {
    if (p.packets) here = read_packet(own_packet, own_epoch, mine);
    return read_packet(header, epoch, d);
  });
  if (!came) return false;
  if (small) {
    if (d[2] != small_word(context, static_cast<std::int32_t>(tag), bytes)) return false;
    if (crew.leader()) store_small(data, bytes, long_word(d));
  } else {
    if (d[2] != eager_word(context) || d[0] != tag || d[1] != bytes) return false;
    const Payload payload(ring, p.begin, p.packets, bytes);
    if (payload.wide || p.packets > crew.size() || !is_words(data, bytes)) {
      if (!take_packets(crew, *me.phase, payload, data)) return false;
    } else if (turn < p.packets) {
      if (!here && !await_packet(payload, turn, mine, *me.phase)) return false;
      payload.store(data, turn, mine);
    }
  }
  if (crew.alone()) commit_received(fifo, now, counters, p, bytes);
  return true;
}

// Empty messages of a thread's, several under way at once, since their instructions take it longer than one of them
// the link: sent, or received. Bit i says that message i is done; `word` is the last one of their packets.
inline constexpr int empty_at_once = 4;

template <class Fifo, int Most>
struct Batch {
  Fifo* fifos[Most];  // null where there is none
  Fifo* any;          // one of them

  DCGN_HOST_DEVICE Fifo& operator[](int i) const { return fifos[i] ? *fifos[i] : *any; }
};

template <int Most>
DCGN_HOST_DEVICE std::uint32_t act_on_empty(Endpoint& me, const Batch<OutFifo, Most>& b, std::uint32_t word) {
  Cursor now[Most];
  Counters counters[Most];
  for (int i = 0; i < Most; ++i) {
    now[i] = Cursor::of(b[i]);
    counters[i] = Counters::of(b[i]);
  }
  std::uint32_t done = 0;
  for (int i = 0; i < Most; ++i) {
    const std::uint32_t position = now[i].position(), most = now[i].ring.size() - 1;
    if (!b.fifos[i] || b[i].queued || has_ended(me, b[i]) ||
        (position - counters[i].told > most && position - load_credit(*b[i].credit) > most))
      continue;
    put_header(b[i], now[i].ring, position, 0, 0, word);
    done |= 1u << i;
  }
  for (int i = 0; i < Most; ++i)
    if (done >> i & 1) commit_sent(b[i], now[i], counters[i], now[i].reserve(0), 0);
  return done;
}

template <int Most>
DCGN_HOST_DEVICE std::uint32_t act_on_empty(Endpoint&, const Batch<InFifo, Most>& b, std::uint32_t word) {
  Cursor now[Most];
  Counters counters[Most];
  std::uint32_t position[Most];
  for (int i = 0; i < Most; ++i) {
    now[i] = Cursor::of(b[i]);
    counters[i] = Counters::of(b[i]);
    position[i] = now[i].position();
  }
  std::uint32_t d[Most][3]{}, found = 0, done = 0;
  spin(fast_looks, [&] {
    for (int i = 0; i < Most; ++i)
      found |=
          static_cast<std::uint32_t>(read_packet(now[i].ring.at(position[i]), now[i].ring.epoch(position[i]), d[i]))
          << i;
    return found == (1u << Most) - 1;
  });
  for (int i = 0; i < Most; ++i)
    if (b.fifos[i] && (found >> i & 1) && d[i][2] == word) {
      commit_received(b[i], now[i], counters[i], now[i].reserve(0), 0);
      done |= 1u << i;
    }
  return done;
}

// The number of the peer that comes after so many others: each rank begins behind itself.
DCGN_HOST_DEVICE inline int number_of(const Range& range, int self, int after) {
  const int start = self >= range.begin && self < range.end ? self + 1 : range.begin, k = start + after;
  return k < range.end ? k : k - range.count();
}

// A round with all threads of a scope; what they send is visible to all of them. Where it returns false, the lapses say
// what is still to be done.
template <bool Empty, class Scope>
DCGN_HOST_DEVICE bool fast_round(const Scope& scope, const Port& port, const Round& round, std::int32_t tag,
                                 std::uint32_t context) {
  Endpoint& me = *port.me;
  Blocker blocker{1, 1};
  if (calls_in_block(me))
    blocker = Blocker::of(me);
  else if (scope.publish(scope.leader() && begin_fast(me)))
    blocker = {0, me.open};
  const bool begun = !blocker.sending;
  const Crews crews(scope.size(), round);
  const std::uint32_t number = scope.rank() / crews.width, near = static_cast<std::uint32_t>(port.near);
  const Crew crew{scope.rank() % crews.width, crews.width};
  const auto word = static_cast<std::uint32_t>(tag);
  Lapse* const lapses = me.collectives.lapses;
  const int first = static_cast<int>(number), step = static_cast<int>(crews.count), self = round.peers.self;
  const auto order = [&](const Range& range) {
    if (round.orders && first < range.count()) order_memory();
  };
  bool done = true;
  const auto each = [&](const Range& range, const auto& act) {
    for (int i = first; i < range.count() && number < crews.count; i += step)
      if (const int k = number_of(range, self, i); k != self) act(k, port.fifo(round.peers[k]));
  };
  if constexpr (Empty) {
    const std::uint32_t last = small_word(context, tag, 0);
    const auto some = [&](auto at_once, const Range& range, auto* fifos, bool able, std::uint32_t Lapse::*lapse) {
      constexpr int most = decltype(at_once)::value;
      for (int i = first; i < range.count(); i += most * step) {
        int k[most];
        Batch<std::remove_pointer_t<decltype(fifos)>, most> batch{{}, nullptr};
        for (int j = 0; j < most; ++j) {
          k[j] = i + j * step < range.count() ? number_of(range, self, i + j * step) : self;
          const std::uint32_t fifo = k[j] == self ? near : port.fifo(round.peers[k[j]]);
          if (fifo < near && able) batch.any = batch.fifos[j] = &fifos[fifo];
        }
        const std::uint32_t sent = batch.any ? act_on_empty(me, batch, last) : 0;
        for (int j = 0; j < most; ++j)
          if (k[j] != self && !(sent >> j & 1)) {
            store_relaxed(lapses[k[j] - range.begin].*lapse, 1);
            done = false;
          }
      }
    };
    const auto all_of = [&](const Range& range, auto* fifos, bool able, std::uint32_t Lapse::*lapse) {
      if (range.count() <= step)
        some(std::integral_constant<int, 1>{}, range, fifos, able, lapse);
      else
        some(std::integral_constant<int, empty_at_once>{}, range, fifos, able, lapse);
    };
    order(round.to);
    all_of(round.to, port.out, begun, &Lapse::unsent);
    all_of(round.from, port.in, !blocker.receiving, &Lapse::unreceived);
  } else {
    order(round.to);
    each(round.to, [&](int k, std::uint32_t fifo) {
      if (k == round.spared) return;
      const auto part = round.out[k];
      if (begun && fifo < near &&
          push(crew, scope.size(), me, port.out[fifo], part.data, static_cast<std::uint64_t>(part.bytes), word,
               context))
        return;
      store_relaxed(lapses[k - round.to.begin].unsent, 1);
      done = false;
    });
    if (round.keeps) copy_here(scope, me, round.in[self].data, round.out[self].data, round.in[self].bytes);
    each(round.from, [&](int k, std::uint32_t fifo) {
      const auto part = round.in[k];
      // What this rank would announce the others do, too, as a rule: it comes when they make up for it.
      const bool comes =
          fifo < near && static_cast<std::uint64_t>(part.bytes) <= eager_limit(port.out[fifo], scope.size());
      if (!blocker.receiving && comes &&
          take(crew, me, port.in[fifo], part.data, static_cast<std::uint64_t>(part.bytes), word, context))
        return;
      store_relaxed(lapses[k - round.from.begin].unreceived, 1);
      done = false;
    });
  }
  order(round.from);
  if (!calls_in_block(me) && begun && crew.alone() && scope.leader()) end_fast(me);
  const bool all = scope.agree(done);
  if (crew.alone()) return all;
  if (crew.leader()) {
    each(round.to, [&](int k, std::uint32_t fifo) {
      if (k == round.spared || (!all && load_relaxed(lapses[k - round.to.begin].unsent))) return;
      const auto bytes = static_cast<std::uint64_t>(round.out[k].bytes);
      const Cursor now = Cursor::of(port.out[fifo]);
      commit_sent(port.out[fifo], now, Counters::of(port.out[fifo]),
                  now.reserve(fits_small(context, tag, bytes) ? 0 : bytes), bytes);
    });
    each(round.from, [&](int k, std::uint32_t fifo) {
      if (!all && load_relaxed(lapses[k - round.from.begin].unreceived)) return;
      const auto bytes = static_cast<std::uint64_t>(round.in[k].bytes);
      const Cursor now = Cursor::of(port.in[fifo]);
      commit_received(port.in[fifo], now, Counters::of(port.in[fifo]),
                      now.reserve(fits_small(context, tag, bytes) ? 0 : bytes), bytes);
    });
  }
  if (!calls_in_block(me) && begun && scope.leader()) end_fast(me);
  scope.sync();
  return all;
}

// Whether a call that has failed like this leaves nothing more to be done: not where it found only, before it began,
// that it would send to a rank that has ended.
template <class Scope>
DCGN_HOST_DEVICE bool is_final([[maybe_unused]] const Scope& scope, [[maybe_unused]] const Endpoint& me, Code code) {
#if !defined(__CUDA_ARCH__)
  if (code == Code::rank_ended) return scope.agree(me.stopped != 0);
#endif
  return code == Code::aborted || code == Code::deadline || code == Code::rank_ended;
}

// What came of a receive of exactly so many bytes.
template <class Scope>
DCGN_HOST_DEVICE Code expect(const Scope& scope, Endpoint& me, Call call, const Status& s, std::int64_t bytes) {
  if (s.code != Code::ok || s.bytes == bytes) return s.code;
  if (scope.leader()) fail(me, {Code::mismatch, call, s.bytes, bytes, {.peer = s.source}, Flaw::shorter});
  return Code::mismatch;
}

// What a round of up to most_at_once peers left undone, by ordinary calls. The first error, and in case of one of a
// single message what remains is seen to all the same: who gets a message may be reading it until then.
template <class Scope>
DCGN_HOST_DEVICE Code make_up(const Scope& scope, const Port& port, Call call, const Round& round, std::int32_t tag,
                              std::uint32_t context) {
  Endpoint& me = *port.me;
  Lapse* const lapses = me.collectives.lapses;
  Request* const requests = me.collectives.requests;
  int open = 0;
  Code code = Code::ok;
  bool over = false;
  const auto note = [&](Code found) {
    if (code == Code::ok) code = found;
    over = over || is_final(scope, me, found);
  };
  const auto each = [&](const Range& range, const auto& act) {
    for (int i = 0; i < range.count() && !over; ++i)
      if (const int k = number_of(range, round.peers.self, i); k != round.peers.self) act(k);
  };
  if (round.orders && scope.leader()) order_memory();
  each(round.to, [&](int k) {
    if (!load_relaxed(lapses[k - round.to.begin].unsent)) return;
    const auto part = round.out[k];
    const int to = round.peers[k];
    SendOperation operation{me,      {part.data, part.bytes}, to,    tag,
                            context, SendMode::standard,      false, Reason::nonblocking};
    const Result result = run(scope, me, call, operation, check(me, part.data, part.bytes, to, tag, false));
    if (result.status.code != Code::ok) return note(result.status.code);
    if (scope.leader()) requests[open] = request_from(me, result);
    ++open;
  });
  each(round.from, [&](int k) {
    if (!load_relaxed(lapses[k - round.from.begin].unreceived)) return;
    const auto part = round.in[k];
    note(expect(scope, me, call, recv_any(scope, me, call, {part.data, part.bytes}, round.peers[k], tag, context),
                part.bytes));
  });
  if (round.orders && scope.leader()) order_memory();
  scope.sync();
  if (open && !over) {
    bool done = false;
    note(wait_all(scope, me, call, false, requests, open, nullptr, done).code);
  }
  if (scope.leader())
    for (int i = 0; i < most_at_once; ++i) lapses[i] = {};
  scope.sync();
  return code;
}

}  // namespace dcgn::message
