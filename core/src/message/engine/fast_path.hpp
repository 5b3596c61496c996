// The fast path of any scope's call: a blocking send or receive that finds all it needs at once. It keeps no record and
// runs no progress.
//
// A fast send writes an eager message to a FIFO with room, or announces a longer one and waits a while for the receiver
// to read it. A fast receive takes an eager message from the head of its FIFO, or reads a longer one where it is, if
// nothing else is open that it could overtake or delay. In all other cases these functions say why not and change
// nothing; then operate() in calls.hpp runs the general path.
//
// All threads of the scope read the rank's state before the first barrier of a call; the leader changes it between that
// and the last one. So it is at rest between calls, whoever makes the next one.
#pragma once

#include <dcgn/arch/relax.hpp>
#include <dcgn/message/copy_bytes.hpp>
#include <dcgn/message/endpoint.hpp>
#include <dcgn/message/fast_path.hpp>
#include <dcgn/status.hpp>
#include "message/engine/packets.hpp"
#include "message/engine/plan.hpp"
#include "message/engine/progress.hpp"
#include "message/engine/transfer.hpp"
#include "message/engine/wait.hpp"

#include <cstdint>
#include <cstring>

namespace dcgn::message {

// One caller at a time; the flag tells a second one. On the host it also hands the rank on in order. On a GPU whoever
// hands a slot from one thread to another orders memory between them, as for anything else that they share: order here
// would cost every call a good part of a microsecond, and empty the multiprocessor's cache.
DCGN_HOST_DEVICE inline bool take_flag(std::uint32_t& busy) {
#if defined(__CUDA_ARCH__)
  std::uint32_t old;
  asm volatile("atom.relaxed.gpu.exch.b32 %0,[%1],%2;" : "=r"(old) : "l"(&busy), "r"(1) : "memory");
  return old == 0;
#else
  return compare_exchange(busy, 0, 1) == 0;
#endif
}

DCGN_HOST_DEVICE inline void give_flag(std::uint32_t& busy) {
#if defined(__CUDA_ARCH__)
  store_relaxed(busy, 0);
#else
  store_release(busy, 0);
#endif
}

// Whether the rank that this FIFO goes to has ended. A GPU finds out when it has to wait: the word is not cheap for it
// to read.
DCGN_HOST_DEVICE inline bool has_ended([[maybe_unused]] const Endpoint& me, [[maybe_unused]] const OutFifo& fifo) {
  return !calls_in_block(me) && load_acquire(me.ended[&fifo - me.out]) != 0;
}

// Whether a fast call may go on. On a GPU it only looks at the flag.
DCGN_HOST_DEVICE inline bool begin_fast(Endpoint& me) {
  if (calls_in_block(me)) return !(me.busy | me.stopped | (me.without & without_quick));
  if ((me.without & without_quick) || !take_flag(me.busy)) return false;
  if (!me.stopped && !aborted(me)) return true;
  give_flag(me.busy);
  return false;
}

DCGN_HOST_DEVICE inline void end_fast([[maybe_unused]] Endpoint& me) {
  if (!calls_in_block(me)) give_flag(me.busy);
}

// What became of a send: it is over, it is to be waited for as a request, or it is not for a fast call, and why.
struct Sent {
  enum class State : std::uint32_t { none, over, pending };
  State state = State::none;
  Reason why = Reason::none;
  std::uint32_t index = 0, generation = 0;  // of the request
};

// The leader's part for a message above the eager threshold: the header says where it is, and the answer is waited for.
DCGN_HOST_DEVICE Sent announce(Endpoint& me, std::uint32_t threads, const void* data, std::uint64_t bytes, int to,
                               int tag, std::uint32_t context);

// Any message to a rank that has a FIFO.
template <class Scope>
[[gnu::noinline]] DCGN_HOST_DEVICE Sent fast_send(const Scope& scope, Endpoint& me, const void* data,
                                                  std::uint64_t bytes, int to, int tag, std::uint32_t context) {
  OutFifo& fifo = me.out[to - me.first];
  if (bytes > small_bytes && bytes > eager_limit(fifo, scope.size()))
    return scope.lead([&] { return announce(me, scope.size(), data, bytes, to, tag, context); });
  const Outgoing message{{to, tag, context, 0, bytes}, static_cast<const unsigned char*>(data)};
  SendPlan plan;  // the leader's, of which the others have to know this:
  struct Decision {
    Reservation place;
    Reason why = Reason::off;
  } decision;
  if (scope.leader() && !has_ended(me, fifo) && begin_fast(me)) {
    plan = fifo.first ? SendPlan::queued() : plan_send(me, fifo, scope.size(), message);
    decision.why = plan.why;
    if (plan.place.all && !is_announced(plan.kind))
      decision.place = plan.place;
    else
      end_fast(me);
  }
  decision = scope.publish(decision);  // and what the threads wrote to the buffer is visible to all of them
  const Reservation& place = decision.place;
  if (!place.all) return {Sent::State::none, decision.why};
  const Ring ring = fifo.ring;
  if (scope.leader()) {
    Tx(fifo).put(place, header_of(me, fifo, scope.size(), message, plan), 0, me.without & without_relaxed);
    ++fifo.fast_messages;
    fifo.fast_bytes += bytes;
    count(me, context, why_told<Scope>(me, data, bytes, tag));
  }
  if (place.packets)
    push_packets(scope, Payload(ring, place.begin, place.packets, bytes), static_cast<const unsigned char*>(data));
  if (scope.leader()) end_fast(me);
  scope.sync();  // the buffer is the caller's again
  return {Sent::State::over};
}

// Finds a FIFO that holds a message, for a receive from any source. Made and used by those who look (Scope::lookers()),
// who all come to the same. FIFOs from me.next_fifo on come first.
//
// Senders ring doorbells, the receiver clears them: that of the FIFO before the last one when it takes a message from
// another, and that of a FIFO which it finds empty. A message whose doorbell is lost by that is seen by its packet, at
// which each later look looks until the next doorbell is cleared. (On a GPU a doorbell may be seen before its packet.
// Should that take longer than a whole look, the general call, which looks at all packets, finds the message.)
template <class Lookers>
class FifoFinder {
 public:
  DCGN_HOST_DEVICE FifoFinder(const Lookers& lookers, Endpoint& me)
      : lookers_(lookers),
        me_(me),
        rank_(static_cast<int>(lookers.rank())),
        power_(static_cast<int>(lookers.power())),
        cleared_(me.cleared_fifo) {}

  // The first half of a look: a FIFO whose doorbell has been rung, -1: none. It may be empty.
  DCGN_HOST_DEVICE int rung() const {
    if (!me_.doorbells) return -1;
    constexpr int each = Lookers::single ? 4 : 1;  // groups that a thread has loads under way for at once
    const int groups = (fifos(me_) + doorbell_group - 1) / doorbell_group, start = me_.next_fifo;
    const bool watches = cleared_ >= 0 && cleared_ / doorbell_group / each % power_ == rank_;
    bool again = false;
    int late = -1;  // what there is before the start, which comes last
    for (int first = 0; first < groups; first += each * power_) {
      const int mine = first + each * rank_;
      std::uint64_t bits[each], any = 0;
      for (int i = 0; i < each; ++i) bits[i] = rank_ < power_ && mine + i < groups ? rung_of(me_, mine + i) : 0;
      if (first == 0 && watches) again = has_message(me_, cleared_);
      for (int i = 0; i < each; ++i) {
        correct(mine + i, again, bits[i]);
        any |= bits[i];
      }
      if (lookers_.first_found(any ? 0 : -1) < 0) continue;
      int at_once = -1, later = -1;
      for (int i = each; i-- > 0;) {
        const int begin = (mine + i) * doorbell_group;
        const std::uint64_t before = bits[i] & bits_below(start - begin), after = bits[i] & ~before;
        if (after) at_once = begin + first_bit(after);
        if (before) later = begin + first_bit(before);
      }
      at_once = lookers_.first_found(at_once);
      if (late < 0) late = lookers_.first_found(later);
      if (at_once >= 0) {
        late = at_once;
        break;
      }
    }
    if (again) set_doorbell(me_, cleared_);
    return late;
  }

  // The second half: that FIFO, or one that has no doorbell, if it holds a message; else -1.
  DCGN_HOST_DEVICE int full(int rung) {
    if (!me_.doorbells) return full_of(fifos(me_), me_.next_fifo, [](int k) { return k; });
    if (rung >= 0) {
      if (lookers_.first_found(has_message(me_, rung) ? 0 : -1) >= 0) return rung;
      if (lookers_.leader()) clear_doorbell(me_, rung);
      cleared_ = rung;
    }
    if (!me_.mute_count) return -1;
    const int fifo = full_of(me_.mute_count, me_.next_mute, [this](int k) { return me_.mute[k]; });
    if (fifo >= 0 && lookers_.leader()) me_.next_mute = me_.next_mute + 1 < me_.mute_count ? me_.next_mute + 1 : 0;
    return fifo;
  }

 private:
  // A group's bits as they should be: the last FIFO that a message was taken from rings only if it holds another one,
  // and the one whose doorbell was cleared does if it is seen to hold one.
  DCGN_HOST_DEVICE void correct(int group, bool again, std::uint64_t& bits) const {
    const auto bit = [](int fifo) { return std::uint64_t{1} << fifo % doorbell_group; };
    if (const int last = me_.last_fifo; last >= 0 && last / doorbell_group == group)
      bits = has_message(me_, last) ? bits | bit(last) : bits & ~bit(last);
    if (again && cleared_ / doorbell_group == group) bits |= bit(cleared_);
  }
  DCGN_HOST_DEVICE static std::uint64_t bits_below(int count) {
    return count <= 0 ? 0 : count >= doorbell_group ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
  }

  // Of so many FIFOs, those from number `start` on first: one that holds a message.
  template <class FifoOf>
  DCGN_HOST_DEVICE int full_of(int count, int start, const FifoOf& fifo_of) const {
    for (int done = 0; done < count; done += fifos_at_once * power_) {
      std::int32_t some[fifos_at_once];
      for (int i = 0; i < fifos_at_once; ++i) {
        const int k = done + fifos_at_once * rank_ + i, number = start + k < count ? start + k : start + k - count;
        some[i] = rank_ < power_ && k < count ? fifo_of(number) : -1;
      }
      const std::uint32_t found = full_fifos(me_, some);
      int mine = -1;
      for (int i = fifos_at_once; i-- > 0;)
        if (found >> i & 1) mine = some[i];
      if (const int fifo = lookers_.first_found(mine); fifo >= 0) return fifo;
    }
    return -1;
  }

  DCGN_HOST_DEVICE static int first_bit(std::uint64_t bits) {
#if defined(__CUDA_ARCH__)
    return __ffsll(static_cast<long long>(bits)) - 1;
#else
    return __builtin_ctzll(bits);
#endif
  }

  const Lookers lookers_;
  Endpoint& me_;
  const int rank_, power_;  // power_: of those who look, the first ones
  int cleared_;             // the FIFO whose doorbell was cleared last
};

// The message that a fast receive takes, as its leader tells it to the others.
struct Arrival {
  std::uint64_t bytes = 0, address = 0;  // as the header has them
  std::uint32_t ack = 0, position = 0;   // likewise; of the header
  std::int32_t tag = 0, fifo = 0;
  Kind kind = Kind::small;
  std::uint32_t credit_due = 0;
  Reason why = Reason::off;  // there is none
};

// All threads take the message. `from_any`: the receive looked at all FIFOs.
template <class Scope>
DCGN_HOST_DEVICE bool take(const Scope& scope, Endpoint& me, const Arrival& m, void* data, bool from_any) {
  InFifo& fifo = me.in[m.fifo];
  const Reservation place(m.position, m.kind, 0, m.kind == Kind::eager ? m.bytes : 0);
  const Ring ring = fifo.ring;
  if (scope.leader()) {
    if (m.kind == Kind::small) store_small(data, m.bytes, m.address);
    if (from_any) note_found(me, m.fifo);
    fifo.advance(place.all);
    ++fifo.fast_messages;
    fifo.fast_bytes += m.bytes;
  }
  auto* const to = static_cast<unsigned char*>(data);
  if (m.kind == Kind::pull) {
    copy_bytes(scope, to, reinterpret_cast<const unsigned char*>(m.address), m.bytes);
    if (scope.leader()) {
      if (m.credit_due) return_credit(fifo);
      end_fast(me);
    }
    scope.sync();                                              // all have read their share
    if (scope.leader()) acknowledge(fifo, m.ack, ack_pulled);  // is no business of the rank's any more
    return !scope.broken();
  }
  const bool taken =
      !place.packets || take_packets(scope, *me.phase, Payload(ring, place.begin, place.packets, m.bytes), to);
  if (m.credit_due) {
    scope.sync();  // all have taken their share
    if (scope.leader()) return_credit(fifo);
  }
  if (scope.leader()) end_fast(me);
  // A thread that found the job aborted has left its packets where they were; the ordinary call will say so.
  return scope.agree(taken);
}

// Looks a while for a FIFO that holds a message; -1: none. Called by those who look. By one function: who waits here
// does not wait for nanoseconds.
template <class Scope>
[[gnu::noinline]] DCGN_HOST_DEVICE int await_any_fifo(const Scope& scope, Endpoint& me) {
  FifoFinder finder(scope.lookers(), me);
  int fifo = -1;
  spin(fast_looks / 2, [&] {
    fifo = finder.full(finder.rung());
    return fifo >= 0;
  });
  return fifo;
}

// Any message, from this rank or any_source; `found` is the FIFO that is known to hold one, -1 where none is. None
// where it has been received, or why not.
template <class Scope>
[[gnu::noinline]] DCGN_HOST_DEVICE Reason fast_receive(const Scope& scope, Endpoint& me, void* data,
                                                       std::uint64_t capacity, int from, int found, int tag,
                                                       std::uint32_t context, Status& status) {
  const bool from_any = from == any_source;
  Arrival m;
  m.fifo = from_any ? found : from - me.first;
  const bool begun = !scope.looks() || begin_fast(me);
  const bool able = begun && !me.open;
  if (m.fifo < 0 && scope.looks() && able) m.fifo = await_any_fifo(scope, me);
  if (scope.leader() && begun) {
    Incoming next;
    if (!able) {
      m.why = Reason::open;
    } else if (m.fifo == me.near) {
      m.why = Reason::process;
    } else if (m.fifo < 0 || !await_message(me.in[m.fifo], next)) {
      m.why = Reason::late;
    } else {
      InFifo& fifo = me.in[m.fifo];
      const Header& h = next.header;
      m.why = plan_receive(me, fifo, h, capacity, tag, context, scope.size());
      if (m.why == Reason::none && h.kind == Kind::pull && !begin_pull(fifo, h.ack)) m.why = Reason::off;
      m.bytes = h.bytes;
      m.address = h.address;
      m.ack = h.ack;
      m.position = next.place.position;
      m.tag = h.tag;
      m.kind = h.kind;
      m.credit_due = next.place.position + next.place.all - fifo.returned >= fifo.batch;
    }
    if (m.why != Reason::none)
      end_fast(me);
    else
      count(me, context, why_told<Scope>(me, data, capacity, tag));
  }
  m = scope.publish(m);
  if (m.why != Reason::none) return m.why;
  if (!take(scope, me, m, data, from_any)) return Reason::off;
  status = {me.first + m.fifo, m.tag, static_cast<std::int64_t>(m.bytes), Code::ok};
  return Reason::none;
}

// The same from any source, within a block of a GPU, of a message that each thread can tell for itself. Where there is
// none, `found` is the FIFO that holds another one, or -1.
template <class Scope>
DCGN_HOST_DEVICE bool receive_from_any(const Scope& scope, const Port& port, void* data, std::uint64_t capacity,
                                       int tag, std::uint32_t context, Status& status, int& found) {
  Endpoint& me = *port.me;
  bool taken = false;
  if (!Blocker::of(me).receiving) {
    if constexpr (Scope::in_warp) {
      FifoFinder finder(scope.lookers(), me);
      spin(fast_looks / 2, [&] {
        found = finder.rung();
        taken = found >= 0 && receive_packet(scope, port, data, capacity, port.first + found, tag, context, status, 1);
        if (!taken) found = finder.full(found);
        return found >= 0;
      });
    } else if (scope.looks()) {
      found = await_any_fifo(scope, me);
    }
  }
  if constexpr (!Scope::in_warp) found = scope.publish(found);
  const bool holds = (found >= 0) & (found != port.near);
  taken = taken || (holds && receive_words(scope, port, data, capacity, port.first + found, tag, context, status));
  if (taken && scope.leader()) {
    note_found(me, found);
    if constexpr (Scope::in_warp) count(me, context, why_packets(data, capacity, tag));
  }
  scope.sync();
  return taken;
}

}  // namespace dcgn::message
