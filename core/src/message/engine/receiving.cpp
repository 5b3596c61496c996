// Messages that arrive: taken off their FIFOs and matched.
#include "message/engine/compiled.hpp"

#include "message/engine/receiving.hpp"

#include "message/engine/copying.hpp"
#include "message/engine/records.hpp"
#include "message/engine/sending.hpp"
#include "message/engine/work.hpp"

#include <cstdint>

#if DCGN_COMPILED_HERE

namespace dcgn::message {

DCGN_HOST_DEVICE void fetch(Endpoint& me, Record* r, const Header& h, Work& work) {
  InFifo& fifo = fifo_from(me, r->envelope.peer);
  const bool pull = h.kind == Kind::pull;
  r->ack = h.ack;
  r->address = h.address;
  if (h.readable) r->flags |= Record::readable;
  if (pull && is_for_engine(me, fifo, r, h)) {
    start_copy(me, r);
  } else if (pull && h.placeable && is_placed(me, me.threads, h.bytes) && reachable(r->buffer) && r->capacity) {
    ask_for(me, fifo, r);
  } else if (pull && (h.readable || !least(h.bytes, r->capacity)) && !is_for_fragments(me, fifo, r)) {
    r->state = State::streaming;
    if (begin_pull(fifo, h.ack)) read_message(me, r, work);
  } else if (h.bytes == 0) {
    acknowledge(fifo, h.ack, ack_pulled);
    complete(me, r);
  } else if (is_opened(me, fifo, r, h)) {
    r->flags |= Record::opened;
    start_copy(me, r);
  } else {
    accept(me, r);
  }
}

DCGN_HOST_DEVICE bool poll_fifo(Endpoint& me, std::int32_t index, Work& work) {
  InFifo& fifo = me.in[index];
  Rx rx(fifo);
  Incoming found;
  if (!rx.peek(found)) return false;
  const Header& h = found.header;
  const Reservation& place = found.place;
  const std::int32_t source = fifo.names_rank ? found.rank : me.first + index;
  Record* r = nullptr;
  if (h.kind == Kind::placed) {
    r = &me.records[h.record];
    if (h.readable) {
      read_after_all(me, fifo, r, work);
    } else {
#if defined(__CUDA_ARCH__)
      static_cast<void>(load_acquire(fifo.ring.at(place.position).epoch));  // what is in the buffer, too
#endif
      complete(me, r);
    }
#if !defined(__CUDA_ARCH__)
  } else if (h.kind == Kind::data && h.readable) {
    me.fragments->receive(index, &me.records[h.record], h);
#endif
  } else if (h.kind == Kind::data) {
    r = &me.records[h.record];
    work.after = After::piece_received;
    work.bytes = r->moved < r->capacity ? least(h.bytes, r->capacity - r->moved) : 0;
    if (work.bytes) work.to = r->buffer + r->moved;
    r->moved += h.bytes;
  } else {
    r = match_posted(me, source, h);
    if (!r && !keep(me, source, h, work)) {
      me.stalled = source;
      return false;
    }
    ++fifo.received;
    if (r) {
      switch (h.kind) {
        case Kind::small: receive_small(me, r, h.address, work); break;
        case Kind::eager:
          if (!place.packets) {
            complete(me, r);
            break;
          }
          work.after = After::received;
          work.to = r->buffer;
          work.bytes = least(h.bytes, r->capacity);
          r->state = State::streaming;
          break;
        case Kind::pull:
        case Kind::offer: fetch(me, r, h, work); break;
        case Kind::data:
        case Kind::placed: break;
      }
    }
  }
  if (place.packets) {
    work.move = Work::Move::take;
    work.ring = fifo.ring;
    work.position = place.begin;
    work.packets = place.packets;
    work.record = r;
    work.fifo = &fifo;
  } else {
    rx.release(place.all);
  }
  me.stalled = -1;
  ++me.statistics.activity;
  return true;
}

DCGN_HOST_DEVICE void start_receive(Endpoint& me, Record* r, Work& work) {
  Record* before;
  Record* u = find_unexpected(me, r->envelope, &before);
  if (!u) {
    r->state = State::posted;
    me.posted.append(r);
    return;
  }
  me.unexpected[unexpected_list(u->envelope.context, u->envelope.tag)].remove(before, u);
  --me.unexpected_count;
  ++me.statistics.activity;
  r->envelope.peer = u->envelope.peer;
  r->envelope.tag = u->envelope.tag;
  r->envelope.bytes = u->envelope.bytes;
  r->envelope.elements = u->envelope.elements;
  if (u->kind == Kind::eager) {
    r->state = State::streaming;
    work.move = Work::Move::copy;
    work.after = After::unstored;
    work.to = r->buffer;
    work.from = u->buffer;
    work.bytes = least(r->envelope.bytes, r->capacity);
    work.record = r;
    work.stored = u;
    return;
  }
  if (u->kind == Kind::small) {
    receive_small(me, r, u->address, work);
  } else {
    Header h;
    h.kind = u->kind;
    h.bytes = u->envelope.bytes;
    h.address = u->address;
    h.ack = u->ack;
    h.readable = u->flags & Record::readable;
    h.placeable = u->flags & Record::placed;
    fetch(me, r, h, work);
  }
  discard(me, u);
}

}  // namespace dcgn::message

#endif
