// What becomes of a message that arrives: it meets its receive, or is kept until there is one; then it is taken off its
// lane, fetched from where it is, or accepted piece by piece.
//
// Bytes in quantity are not moved here but returned as Work for all threads of the call.
#pragma once

#include <dcgn/gpu/atomic.hpp>
#include <dcgn/message/copying.hpp>
#include <dcgn/message/endpoint.hpp>
#include <dcgn/message/exports.hpp>
#include <dcgn/message/fragments.hpp>
#include <dcgn/message/records.hpp>
#include <dcgn/message/work.hpp>

#include <cstdint>
#include <cstring>

namespace dcgn::message {

// Tells the sender how far its cells have been taken.
DCGN_HOST_DEVICE inline void store_credit(Credit& credit, std::uint32_t taken) {
#if defined(__CUDA_ARCH__)
  store_relaxed(credit.taken, taken);  // as an answer is: see store_answer()
#else
  store_release(credit.taken, taken);
#endif
}
DCGN_HOST_DEVICE inline void return_credit(InLane& lane) {
  lane.returned = lane.head();
  store_credit(*lane.credit, lane.returned);
  lane.advance(0);
}

// Takes cells off the lane and, a quarter of the ring at a time, tells the sender.
DCGN_HOST_DEVICE inline void take_off(InLane& lane, std::uint32_t cells) {
  lane.advance(cells);
  if (lane.settled - lane.returned >= lane.batch) return_credit(lane);
}

// Whether a message from another process had better come in fragments than be read by a thread here.
DCGN_HOST_DEVICE inline bool is_for_fragments([[maybe_unused]] const Endpoint& me, [[maybe_unused]] const InLane& lane,
                                              [[maybe_unused]] const Record* r) {
#if defined(__CUDA_ARCH__)
  return false;
#else
  return me.fragments && lane.process && r->flags & Record::on_device && r->capacity &&
         me.fragments->reaches(static_cast<std::int32_t>(&lane - me.in));
#endif
}

// Whether what another process offers can be read where it is.
DCGN_HOST_DEVICE inline bool is_opened([[maybe_unused]] Endpoint& me, [[maybe_unused]] const InLane& lane,
                                       [[maybe_unused]] Record* r, [[maybe_unused]] const Header& h) {
#if defined(__CUDA_ARCH__)
  return false;
#else
  return me.exports && h.kind == Kind::offer && lane.process && r->flags & Record::on_device && r->capacity &&
         me.copies.queue && me.exports->open(static_cast<std::int32_t>(&lane - me.in), *r);
#endif
}

// A receive has met its message, announced by `h`: fetch the payload.
[[gnu::noinline]] DCGN_HOST_DEVICE inline void fetch(Endpoint& me, Record* r, const Header& h, Work& work) {
  InLane& lane = lane_from(me, r->envelope.peer);
  const bool pull = h.kind == Kind::pull;
  r->ack = h.ack;
  r->address = h.address;
  if (h.readable) r->flags |= Record::readable;
  if (pull && is_for_engine(me, lane, r, h)) {
    start_copy(me, r);
  } else if (pull && h.placeable && is_placed(me, me.threads, h.bytes) && reachable(r->buffer) && r->capacity) {
    ask_for(me, lane, r);
  } else if (pull && (h.readable || !least(h.bytes, r->capacity)) && !is_for_fragments(me, lane, r)) {
    r->state = State::streaming;
    if (begin_pull(lane, h.ack)) read_message(me, r, work);
  } else if (h.bytes == 0) {
    acknowledge(lane, h.ack, ack_pulled);
    complete(me, r);
  } else if (is_opened(me, lane, r, h)) {
    r->flags |= Record::opened;
    start_copy(me, r);
  } else {
    accept(me, r);
  }
}

// Puts a small message's payload into the receive's buffer.
DCGN_HOST_DEVICE inline void receive_small(Endpoint& me, Record* r, std::uint64_t payload, Work& work) {
  const std::uint64_t bytes = least(r->envelope.bytes, r->capacity);
  if (bytes && r->flags & Record::on_device) {
    r->state = State::streaming;
    r->address = payload;
    work.move = Work::Move::copy;
    work.after = After::received;
    work.to = r->buffer;
    work.from = reinterpret_cast<const unsigned char*>(&r->address);
    work.bytes = bytes;
    work.record = r;
    return;
  }
  if (bytes) memcpy(r->buffer, &payload, bytes);
  complete(me, r);
}

// The first posted receive that this message matches, and the record in front of it in the list.
DCGN_HOST_DEVICE inline Record* find_posted(const Endpoint& me, std::int32_t source, const Header& h, Record** before) {
  *before = nullptr;
  for (Record* r = me.posted.first; r; *before = r, r = r->next)
    if (matches(r->envelope, source, h.tag, h.context)) return r;
  return nullptr;
}

// Takes it off the list.
DCGN_HOST_DEVICE inline Record* match_posted(Endpoint& me, std::int32_t source, const Header& h) {
  Record* before;
  Record* const r = find_posted(me, source, h, &before);
  if (!r) return nullptr;
  me.posted.remove(before, r);
  r->envelope.peer = source;
  r->envelope.tag = h.tag;
  r->envelope.bytes = h.bytes;
  r->envelope.elements = h.elements;
  return r;
}

// Keeps a message that no receive has asked for yet; false where there is no space.
DCGN_HOST_DEVICE inline bool keep(Endpoint& me, std::int32_t source, const Header& h, Work& work) {
  unsigned char* storage = nullptr;
  if (h.kind == Kind::eager) {
    storage = static_cast<unsigned char*>(me.arrivals.allocate(h.bytes));
    if (!storage) return false;
  }
  Record* r = take_record(me);
  if (!r) {
    if (storage) me.arrivals.free(storage);
    return false;
  }
  r->state = State::unexpected;
  r->envelope = {source, h.tag, h.context, h.elements, h.bytes};
  r->kind = h.kind;
  r->flags = (h.readable ? Record::readable : 0) | (h.placeable ? Record::placed : 0);
  r->buffer = storage;
  r->address = h.address;
  r->ack = h.ack;
  r->order = ++me.arrivals_counted;
  me.unexpected[unexpected_list(h.context, h.tag)].append(r);
  ++me.unexpected_count;
  if (storage) {
    work.after = After::stored;
    work.to = storage;
    work.bytes = h.bytes;
  }
  return true;
}

// Takes the message at the head of the lane of this number, if there is one.
[[gnu::noinline]] DCGN_HOST_DEVICE inline bool poll_lane(Endpoint& me, std::int32_t index, Work& work) {
  InLane& lane = me.in[index];
  Header h;
  const std::uint32_t head = lane.head();
  if (!read_header(lane.ring, head, h)) return false;
  const bool in_cells = h.kind == Kind::eager || (h.kind == Kind::data && !h.readable);
  const std::uint32_t cells = in_cells ? payload_cells(h.bytes) : 0;
  std::uint32_t last = head + header_cells(h.kind) - 1;  // of the cells that come before the payload
  std::int32_t source = me.first + index;
  if (index == me.near && !read_peer(lane.ring, ++last, source)) return false;
  Record* r = nullptr;
  if (h.kind == Kind::placed) {
    r = &me.records[h.record];
    if (h.readable) {
      read_after_all(me, lane, r, work);
    } else {
#if defined(__CUDA_ARCH__)
      static_cast<void>(load_acquire(lane.ring.at(head).epoch));  // what is in the buffer, too
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
    ++lane.received;
    if (r) {
      switch (h.kind) {
        case Kind::small: receive_small(me, r, h.address, work); break;
        case Kind::eager:
          if (!cells) {
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
  if (cells) {
    work.move = Work::Move::take;
    work.ring = lane.ring;
    work.position = payload_begin(last, cells);
    work.cells = cells;
    work.record = r;
    work.lane = &lane;
  } else {
    take_off(lane, last + 1 - head);
  }
  me.stalled = -1;
  ++me.statistics.activity;
  return true;
}

// Has a copy engine begin with the message that comes next from this rank, if a receive has been posted for it: it is
// under way then while the rank begins other sends and receives. `bytes`: of what is begun now; who sends and receives
// short messages does not look. A CPU rank leaves it to the call that waits, since some copies of its take their time.
[[gnu::noinline]] DCGN_HOST_DEVICE inline void begin_copy(Endpoint& me, std::int32_t source, std::uint64_t bytes) {
  if (source < 0 || !is_near(me, source) || me.copies.host) return;
  const std::int32_t index = lane_of(me, source);
  const InLane& lane = me.in[index];
  if (bytes < copy_engine_limit(lane, me.threads, false)) return;
  Header h;
  if (!read_header(lane.ring, lane.head(), h) || h.kind != Kind::pull) return;
  Record* before;
  const Record* const r = find_posted(me, source, h, &before);
  Work nothing;
  if (r && is_for_engine(me, lane, r, h)) poll_lane(me, index, nothing);
}

// The earliest unexpected message that matches, and the record in front of it in its list.
DCGN_HOST_DEVICE inline Record* find_unexpected(const Endpoint& me, const Envelope& wanted, Record** before) {
  *before = nullptr;
  if (!me.unexpected_count) return nullptr;
  const bool any = wanted.tag == any_tag;
  const std::uint32_t first = any ? 0 : unexpected_list(wanted.context, wanted.tag);
  const std::uint32_t last = any ? unexpected_lists - 1 : first;
  Record* found = nullptr;
  for (std::uint32_t list = first; list <= last; ++list) {
    Record* previous = nullptr;
    for (Record* u = me.unexpected[list].first; u; previous = u, u = u->next) {
      if (found && u->order > found->order) break;
      if (!matches(wanted, u->envelope.peer, u->envelope.tag, u->envelope.context)) continue;
      found = u;
      *before = previous;
      break;
    }
  }
  return found;
}

// Posts a receive; a message that came unexpected is matched at once.
[[gnu::noinline]] DCGN_HOST_DEVICE inline void start_receive(Endpoint& me, Record* r, Work& work) {
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
