// Sends: into the FIFO, announced, stored in the receiver's buffer, or piece by piece.
#include "message/engine/compiled.hpp"

#include "message/engine/sending.hpp"

#include "message/engine/plan.hpp"
#include "message/engine/records.hpp"
#include "message/engine/transfer.hpp"

#include <dcgn/message/fifo.hpp>

#include <cstdint>
#include <cstring>

#if DCGN_COMPILED_HERE

namespace dcgn::message {

namespace {

// The next bytes of a send go into the packets that were reserved for them.
DCGN_HOST_DEVICE void push_next(Transfer& transfer, const OutFifo& fifo, const Reservation& place, Record* r,
                                std::uint64_t bytes) {
  transfer.action = Action::push;
  transfer.from = r->buffer + r->moved;
  transfer.bytes = bytes;
  transfer.ring = fifo.ring;
  transfer.position = place.begin;
  transfer.packets = place.packets;
  transfer.record = r;
}

}  // namespace

DCGN_HOST_DEVICE bool advance_send(Endpoint& me, OutFifo& fifo, Record* r, Transfer& transfer) {
  const Outgoing message{r->envelope, r->buffer, r->flags};
  const SendPlan plan = plan_send(me, fifo, me.threads, message);
  if (!plan.place.all) return false;
  Header h = header_of(me, fifo, me.threads, message, plan);
  if (is_announced(plan.kind)) {
    h.ack = r->ack = take_ack(me);
#if !defined(__CUDA_ARCH__)
    if (me.exports && h.kind == Kind::offer && is_near(me, r->envelope.peer))
      me.exports->tell(fifo_of(me, r->envelope.peer), *r);
#endif
  }
  Tx(fifo).put(plan.place, h, r->envelope.peer);
  if (is_announced(plan.kind)) {
    r->state = State::announced;
    me.announced.append(r);
  } else if (plan.place.packets) {
    push_next(transfer, fifo, plan.place, r, r->envelope.bytes);
    transfer.after = After::sent;
  } else {
    complete(me, r);
  }
  ++fifo.sent;
  ++me.statistics.activity;
  return true;
}

DCGN_HOST_DEVICE void start_send(Endpoint& me, Record* r, Transfer& transfer) {
  OutFifo& fifo = fifo_to(me, r->envelope.peer);
  r->state = State::queued;
  if (!fifo.first && advance_send(me, fifo, r, transfer)) return;
  r->next = nullptr;
  (fifo.first ? fifo.last->next : fifo.first) = r;
  fifo.last = r;
  fifo.advance(0);
  if (!fifo.queued) {
    fifo.queued = 1;
    fifo.next_queued = me.queued;
    me.queued = &fifo;
  }
}

DCGN_HOST_DEVICE bool advance_queued(Endpoint& me, Transfer& transfer) {
  OutFifo** link = &me.queued;
  while (*link) {
    OutFifo& fifo = **link;
    Record* r = fifo.first;
    Record* next = r->next;  // advance_send may put the record into another list
    if (advance_send(me, fifo, r, transfer)) {
      fifo.first = next;
      if (!next) {
        fifo.last = nullptr;
        fifo.queued = 0;
        fifo.advance(0);
        *link = fifo.next_queued;
      }
      return true;
    }
    link = &fifo.next_queued;
  }
  return false;
}

DCGN_HOST_DEVICE void place(Endpoint& me, OutFifo& fifo, Record* r, Transfer& transfer) {
  r->state = State::streaming;
  r->flags |= Record::placed;
  if (!is_placed(me, me.threads, r->envelope.bytes)) return tell_placed(me, fifo, r);
  std::uint64_t& word = fifo.acks[ack_index(r->ack)];
  const Record& there = fifo.records[r->address];
#if defined(__CUDA_ARCH__)
  static_cast<void>(load_acquire(word));  // what the receiver says there, once and from where it is
  transfer.to = reinterpret_cast<unsigned char*>(load_relaxed(*reinterpret_cast<const std::uint64_t*>(&there.buffer)));
  const std::uint64_t capacity = load_relaxed(there.capacity);
#else
  // Not where the receiver has taken its buffer back, which it does only when the job is aborted.
  const std::uint64_t asked = ack_word(r->ack, ack_accepted + ack_place + r->address);
  if (compare_exchange(word, asked, ack_word(r->ack, ack_pulling)) != asked) return;
  transfer.to = there.buffer;
  const std::uint64_t capacity = there.capacity;
#endif
  r->moved = r->envelope.bytes;
  transfer.action = Action::copy;
  transfer.after = After::placed;
  transfer.from = r->buffer;
  transfer.bytes = least(r->envelope.bytes, capacity);
  transfer.record = r;
}

DCGN_HOST_DEVICE bool advance_announced(Endpoint& me, Transfer& transfer) {
  Record* before = nullptr;
  for (Record* r = me.announced.first; r; before = r, r = r->next) {
    OutFifo& fifo = fifo_to(me, r->envelope.peer);
    const std::uint64_t ack = ack_answer(r->ack, load_answer(fifo.acks[ack_index(r->ack)]));
    if (ack < ack_pulled || (ack > ack_pulled && r->flags & Record::placed)) continue;
    me.announced.remove(before, r);
    ++me.statistics.activity;
    if (ack >= ack_accepted + ack_place) {
      r->address = ack - ack_accepted - ack_place;
      place(me, fifo, r, transfer);
      return true;
    }
    free_ack(me, r->ack);
    if (ack == ack_pulled) {
      complete(me, r);
    } else {
      r->state = State::streaming;
      r->address = ack - ack_accepted;
      r->order = 0;
      me.streaming.append(r);
    }
    return true;
  }
  return false;
}

DCGN_HOST_DEVICE bool advance_streaming(Endpoint& me, Transfer& transfer) {
  Record* before = nullptr;
  for (Record* r = me.streaming.first; r; before = r, r = r->next) {
    OutFifo& fifo = fifo_to(me, r->envelope.peer);
    if (r->flags & Record::placed) {
      if (!has_room(fifo, 1)) continue;
      me.streaming.remove(before, r);
      tell_placed(me, fifo, r);
      return true;
    }
#if !defined(__CUDA_ARCH__)
    if (me.fragments) {
      const Fragments::Sent sent = me.fragments->send(me, fifo_of(me, r->envelope.peer), r);
      if (sent == Fragments::Sent::yes) {
        if (r->moved == r->envelope.bytes) me.streaming.remove(before, r);
        ++me.statistics.activity;
        return true;
      }
      if (sent == Fragments::Sent::not_yet) continue;
    }
#endif
    Header h;
    h.kind = Kind::data;
    h.record = static_cast<std::uint32_t>(r->address);
    h.bytes = least(r->envelope.bytes - r->moved, largest_unit(fifo.ring));
    Tx tx(fifo);
    Reservation place;
    if (!tx.reserve(h.kind, h.bytes, place)) continue;
    tx.put(place, h, r->envelope.peer);
    push_next(transfer, fifo, place, r, h.bytes);
    transfer.after = After::piece_sent;
    r->moved += h.bytes;
    if (r->moved == r->envelope.bytes) me.streaming.remove(before, r);
    ++me.statistics.activity;
    return true;
  }
  return false;
}

}  // namespace dcgn::message

#endif
