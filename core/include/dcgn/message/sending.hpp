// What becomes of a send: queued, written to its lane or announced there, streamed where the receiver asks for that.
//
// Bytes in quantity are not moved here but returned as Work for all threads of the call.
#pragma once

#include <dcgn/gpu/atomic.hpp>
#include <dcgn/message/endpoint.hpp>
#include <dcgn/message/exports.hpp>
#include <dcgn/message/fragments.hpp>
#include <dcgn/message/records.hpp>
#include <dcgn/message/work.hpp>

#include <cstdint>
#include <cstring>

namespace dcgn::message {

DCGN_HOST_DEVICE inline std::uint32_t load_credit(const Credit& credit) {
#if defined(__CUDA_ARCH__)
  return load_relaxed(credit.taken);  // as an answer is: see load_answer()
#else
  return load_acquire(credit.taken);
#endif
}

// Whether the lane has room for so many cells; reads the credit again only where it must.
DCGN_HOST_DEVICE inline bool has_room(OutLane& lane, std::uint32_t cells) {
  if (lane.free_cells() >= cells) return true;
  lane.taken = load_credit(*lane.credit);
  return lane.free_cells() >= cells;
}

// So many cells have been written: tells a receiver with many lanes which one to look at. The cells may come later
// than this.
DCGN_HOST_DEVICE inline void put(OutLane& lane, std::uint32_t cells) {
  lane.advance(cells);
  if (lane.bell) store_relaxed(*lane.bell, lane.settled);
}

// How the receiver comes to what `r` sends.
DCGN_HOST_DEVICE inline Reach reach_of([[maybe_unused]] const Endpoint& me, const OutLane& lane, const Record* r) {
  if (!reachable(r->buffer)) return Reach::none;
#if !defined(__CUDA_ARCH__)
  // A lane's reach is that of the memory which its sender uses as a rule.
  if (r->flags & Record::on_device) {
    const bool at_home = is_at_home(me, r->envelope.peer), by_gateway = !is_near(me, r->envelope.peer);
    if (!at_home && !by_gateway) return Reach::none;
    if (me.copies.host->rank_can_read(r->buffer, r->envelope.peer)) return Reach::direct;
    return at_home && me.copies.queue ? Reach::engine : Reach::none;
  }
#endif
  return is_pulled(lane, r->envelope.bytes) ? lane.reach : Reach::none;
}

// Sends a queued record's message, or its announcement, if the lane has room.
[[gnu::noinline]] DCGN_HOST_DEVICE inline bool advance_send(Endpoint& me, OutLane& lane, Record* r, Work& work) {
  const std::uint64_t bytes = r->envelope.bytes;
  const std::uint32_t extra = extra_cells(me, lane);
  Header h;
  h.context = r->envelope.context;
  h.tag = r->envelope.tag;
  h.bytes = bytes;
  h.elements = r->envelope.elements;
  const bool announce = (r->flags & Record::synchronous) || bytes > eager_limit(lane, me.threads);
  if (!announce) {
    const bool in_header =
        fits_small(h.context, h.tag, bytes) && !(bytes && r->flags & Record::on_device) && !h.elements;
    h.kind = in_header ? Kind::small : Kind::eager;
    const std::uint32_t cells = h.kind == Kind::small ? 0 : payload_cells(bytes);
    const std::uint32_t tail = lane.tail(), all = extra + message_cells(tail + extra, cells);
    if (!has_room(lane, all)) return false;
    if (h.kind == Kind::small && bytes) memcpy(&h.address, r->buffer, bytes);
    if (extra) write_peer(lane.ring, tail + 1, r->envelope.peer);
    write_header(lane.ring, tail, h);
    work.position = payload_begin(tail + extra, cells);
    put(lane, all);
    if (cells) {
      work.move = Work::Move::push;
      work.after = After::sent;
      work.from = r->buffer;
      work.bytes = bytes;
      work.ring = lane.ring;
      work.cells = cells;
      work.record = r;
    } else {
      complete(me, r);
    }
  } else {
    const Reach reach = reach_of(me, lane, r);
    h.kind = reach == Reach::none ? Kind::offer : Kind::pull;
    h.readable = reach == Reach::direct;
    h.placeable = h.readable && lane.records && is_placed(me, me.threads, bytes);
    const std::uint32_t cells = header_cells(h.kind);
    if (!has_room(lane, cells + extra) || !take_ack(me, r->ack)) return false;
    h.ack = r->ack;
    h.address = reinterpret_cast<std::uintptr_t>(r->buffer);
#if !defined(__CUDA_ARCH__)
    if (me.exports && h.kind == Kind::offer && is_near(me, r->envelope.peer))
      me.exports->tell(lane_of(me, r->envelope.peer), *r);
#endif
    if (extra) write_peer(lane.ring, lane.tail() + cells, r->envelope.peer);
    write_header(lane.ring, lane.tail(), h);
    put(lane, cells + extra);
    r->state = State::announced;
    me.announced.append(r);
  }
  ++lane.sent;
  ++me.statistics.activity;
  return true;
}

// Starts a send: at once where it may, in the lane's queue otherwise.
[[gnu::noinline]] DCGN_HOST_DEVICE inline void start_send(Endpoint& me, Record* r, Work& work) {
  OutLane& lane = lane_to(me, r->envelope.peer);
  r->state = State::queued;
  if (!lane.first && advance_send(me, lane, r, work)) return;
  r->next = nullptr;
  (lane.first ? lane.last->next : lane.first) = r;
  lane.last = r;
  lane.advance(0);
  if (!lane.queued) {
    lane.queued = 1;
    lane.next_queued = me.queued;
    me.queued = &lane;
  }
}

[[gnu::noinline]] DCGN_HOST_DEVICE inline bool advance_queued(Endpoint& me, Work& work) {
  OutLane** link = &me.queued;
  while (*link) {
    OutLane& lane = **link;
    Record* r = lane.first;
    Record* next = r->next;  // advance_send may put the record into another list
    if (advance_send(me, lane, r, work)) {
      lane.first = next;
      if (!next) {
        lane.last = nullptr;
        lane.queued = 0;
        lane.advance(0);
        *link = lane.next_queued;
      }
      return true;
    }
    link = &lane.next_queued;
  }
  return false;
}

// Tells the receiver that what `r` announced is in its buffer, or that it has to read it after all; later where the
// lane has no room.
DCGN_HOST_DEVICE inline void tell_placed(Endpoint& me, OutLane& lane, Record* r) {
  if (!has_room(lane, 1)) return me.streaming.append(r);
  Header h;
  h.kind = Kind::placed;
  h.record = static_cast<std::uint32_t>(r->address);
  h.readable = r->moved != r->envelope.bytes;
  write_header(lane.ring, lane.tail(), h);
  put(lane, 1);
  if (h.readable) {
    r->state = State::announced;
    me.announced.append(r);
  } else {
    free_ack(me, r->ack);
    complete(me, r);
  }
  ++me.statistics.activity;
}

// The receiver has asked for what `r` announced. A call of fewer threads than the one that did leaves it to the
// receiver after all.
[[gnu::noinline]] DCGN_HOST_DEVICE inline void place(Endpoint& me, OutLane& lane, Record* r, Work& work) {
  r->state = State::streaming;
  r->flags |= Record::placed;
  if (!is_placed(me, me.threads, r->envelope.bytes)) return tell_placed(me, lane, r);
  std::uint64_t& word = lane.acks[ack_index(r->ack)];
  const Record& there = lane.records[r->address];
#if defined(__CUDA_ARCH__)
  static_cast<void>(load_acquire(word));  // what the receiver says there, once and from where it is
  work.to = reinterpret_cast<unsigned char*>(load_relaxed(*reinterpret_cast<const std::uint64_t*>(&there.buffer)));
  const std::uint64_t capacity = load_relaxed(there.capacity);
#else
  // Not where the receiver has taken its buffer back, which it does only when the job is aborted.
  const std::uint64_t asked = ack_word(r->ack, ack_accepted + ack_place + r->address);
  if (compare_exchange(word, asked, ack_word(r->ack, ack_pulling)) != asked) return;
  work.to = there.buffer;
  const std::uint64_t capacity = there.capacity;
#endif
  r->moved = r->envelope.bytes;
  work.move = Work::Move::copy;
  work.after = After::placed;
  work.from = r->buffer;
  work.bytes = least(r->envelope.bytes, capacity);
  work.record = r;
}

[[gnu::noinline]] DCGN_HOST_DEVICE inline bool advance_announced(Endpoint& me, Work& work) {
  Record* before = nullptr;
  for (Record* r = me.announced.first; r; before = r, r = r->next) {
    OutLane& lane = lane_to(me, r->envelope.peer);
    const std::uint64_t ack = ack_answer(r->ack, load_answer(lane.acks[ack_index(r->ack)]));
    if (ack < ack_pulled || (ack > ack_pulled && r->flags & Record::placed)) continue;
    me.announced.remove(before, r);
    ++me.statistics.activity;
    if (ack >= ack_accepted + ack_place) {
      r->address = ack - ack_accepted - ack_place;
      place(me, lane, r, work);
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

// Sends the next piece of an accepted offer.
[[gnu::noinline]] DCGN_HOST_DEVICE inline bool advance_streaming(Endpoint& me, Work& work) {
  Record* before = nullptr;
  for (Record* r = me.streaming.first; r; before = r, r = r->next) {
    OutLane& lane = lane_to(me, r->envelope.peer);
    if (r->flags & Record::placed) {
      if (!has_room(lane, 1)) continue;
      me.streaming.remove(before, r);
      tell_placed(me, lane, r);
      return true;
    }
#if !defined(__CUDA_ARCH__)
    if (me.fragments) {
      const Fragments::Sent sent = me.fragments->send(me, lane_of(me, r->envelope.peer), r);
      if (sent == Fragments::Sent::yes) {
        if (r->moved == r->envelope.bytes) me.streaming.remove(before, r);
        ++me.statistics.activity;
        return true;
      }
      if (sent == Fragments::Sent::not_yet) continue;
    }
#endif
    const std::uint32_t extra = extra_cells(me, lane);
    const std::uint64_t left = r->envelope.bytes - r->moved;
    const std::uint64_t piece = least(left, largest_unit(lane.ring));
    const std::uint32_t cells = payload_cells(piece);
    const std::uint32_t tail = lane.tail(), all = extra + message_cells(tail + extra, cells);
    if (!has_room(lane, all)) continue;
    Header h;
    h.kind = Kind::data;
    h.record = static_cast<std::uint32_t>(r->address);
    h.bytes = piece;
    if (extra) write_peer(lane.ring, tail + 1, r->envelope.peer);
    write_header(lane.ring, tail, h);
    put(lane, all);
    work.move = Work::Move::push;
    work.after = After::piece_sent;
    work.from = r->buffer + r->moved;
    work.bytes = piece;
    work.ring = lane.ring;
    work.position = payload_begin(tail + extra, cells);
    work.cells = cells;
    work.record = r;
    r->moved += piece;
    if (r->moved == r->envelope.bytes) me.streaming.remove(before, r);
    ++me.statistics.activity;
    return true;
  }
  return false;
}

}  // namespace dcgn::message
