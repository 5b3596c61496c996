// Messages that arrive: taken off their FIFOs and matched.
#include "message/engine/compiled.hpp"

#include "message/engine/receiving.hpp"

#include "message/engine/copying.hpp"
#include "message/engine/records.hpp"
#include "message/engine/sending.hpp"
#include "message/engine/transfer.hpp"

#include <cstdint>

#if DCGN_COMPILED_HERE

namespace dcgn::message {

DCGN_HOST_DEVICE void fetch(Endpoint& me, Record* r, const Header& h, Transfer& transfer) {
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
    if (begin_pull(fifo, h.ack)) read_message(me, r, transfer);
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

DCGN_HOST_DEVICE bool poll_fifo(Endpoint& me, std::int32_t index, Transfer& transfer) {
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
      read_after_all(me, fifo, r, transfer);
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
    transfer.after = After::piece_received;
    transfer.bytes = r->moved < r->capacity ? least(h.bytes, r->capacity - r->moved) : 0;
    if (transfer.bytes) transfer.to = r->buffer + r->moved;
    r->moved += h.bytes;
  } else {
    r = match_posted(me, source, h);
    if (!r && !keep(me, source, h, transfer)) {
      me.stalled = source;
      return false;
    }
    ++fifo.received;
    if (r) {
      switch (h.kind) {
        case Kind::small: receive_small(me, r, h.address, transfer); break;
        case Kind::eager:
          if (!place.packets) {
            complete(me, r);
            break;
          }
          transfer.after = After::received;
          transfer.to = r->buffer;
          transfer.bytes = least(h.bytes, r->capacity);
          r->state = State::streaming;
          break;
        case Kind::pull:
        case Kind::offer: fetch(me, r, h, transfer); break;
        case Kind::data:
        case Kind::placed: break;
      }
    }
  }
  if (place.packets) {
    transfer.action = Action::take;
    transfer.ring = fifo.ring;
    transfer.position = place.begin;
    transfer.packets = place.packets;
    transfer.record = r;
    transfer.fifo = &fifo;
  } else {
    rx.release(place.all);
  }
  me.stalled = -1;
  ++me.statistics.activity;
  return true;
}

DCGN_HOST_DEVICE void start_receive(Endpoint& me, Record* r, Transfer& transfer) {
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
    transfer.action = Action::copy;
    transfer.after = After::unstored;
    transfer.to = r->buffer;
    transfer.from = u->buffer;
    transfer.bytes = least(r->envelope.bytes, r->capacity);
    transfer.record = r;
    transfer.stored = u;
    return;
  }
  if (u->kind == Kind::small) {
    receive_small(me, r, u->address, transfer);
  } else {
    Header h;
    h.kind = u->kind;
    h.bytes = u->envelope.bytes;
    h.address = u->address;
    h.ack = u->ack;
    h.readable = u->flags & Record::readable;
    h.placeable = u->flags & Record::placed;
    fetch(me, r, h, transfer);
  }
  discard(me, u);
}

}  // namespace dcgn::message

#endif
