// Progress: everything that a rank does between waiting once and waiting again. Called by a call's leader alone.
//
// step() looks at the lanes into the rank, at its sends that wait for room and at the acknowledgements it expects, and
// does one thing. Bytes in quantity are not moved here but returned as Work for all threads of the call; finish()
// is told when they have moved. The larger functions are kept out of line: a kernel makes many calls, and one copy of
// this is enough.
#pragma once

#include <dcgn/gpu/clock.hpp>
#include <dcgn/message/endpoint.hpp>
#include <dcgn/message/work.hpp>

#include <cstdint>
#include <cstring>

namespace dcgn::message {

DCGN_HOST_DEVICE inline std::uint64_t least(std::uint64_t a, std::uint64_t b) { return a < b ? a : b; }

DCGN_HOST_DEVICE inline Record* take_record(Endpoint& me) {
  Record* r = me.free_records;
  if (r) {
    me.free_records = r->next;
  } else {
    if (me.records_used == me.record_capacity) return nullptr;
    r = &me.records[me.records_used++];
    r->generation = 0;
  }
  if (++r->generation == 0) r->generation = 1;
  r->moved = 0;
  r->flags = 0;
  r->code = Code::ok;
  ++me.open;
  return r;
}

DCGN_HOST_DEVICE inline void free_record(Endpoint& me, Record* r) {
  r->state = State::idle;
  r->next = me.free_records;
  me.free_records = r;
}

// A message that was kept has been received.
DCGN_HOST_DEVICE inline void discard(Endpoint& me, Record* r) {
  --me.open;
  free_record(me, r);
}

DCGN_HOST_DEVICE inline void complete(Endpoint& me, Record* r) {
  r->state = State::complete;
  --me.open;
  if (r->flags & Record::is_receive) {
    ++me.statistics.received_messages;
    me.statistics.received_bytes += r->envelope.bytes;
    if (r->envelope.bytes > r->capacity) r->code = Code::truncated;
  } else {
    ++me.statistics.sent_messages;
    me.statistics.sent_bytes += r->envelope.bytes;
    if (r->flags & Record::buffered) {
      if (r->buffer) me.buffer.free(r->buffer);
      free_record(me, r);
    }
  }
}

// ---- sending

// Whether the lane has room for so many cells; reads the credit again only where it must.
DCGN_HOST_DEVICE inline bool has_room(OutLane& lane, std::uint32_t cells) {
  if (lane.free_cells() >= cells) return true;
#if defined(__CUDA_ARCH__)
  lane.taken = load_relaxed(lane.credit->taken);  // as an answer is: see load_answer()
#else
  lane.taken = load_acquire(lane.credit->taken);
#endif
  return lane.free_cells() >= cells;
}

// Whether other threads can read this memory at the address that I use.
DCGN_HOST_DEVICE inline bool reachable([[maybe_unused]] const void* memory) {
#if defined(__CUDA_ARCH__)
  return __isGlobal(memory);
#else
  return true;
#endif
}

// An acknowledgement word and its turn.
DCGN_HOST_DEVICE inline bool take_ack(Endpoint& me, std::uint32_t& ack) {
  if (me.acks_free) {
    ack = me.free_acks[--me.acks_free];
  } else {
    if (me.acks_used == me.ack_capacity) return false;
    ack = me.acks_used++;
  }
  ack += 1u << ack_index_bits;
  return true;
}

// So many cells have been written: tells a receiver with many lanes which one to look at. The cells may come later
// than this.
DCGN_HOST_DEVICE inline void put(OutLane& lane, std::uint32_t cells) {
  lane.advance(cells);
  if (lane.bell) store_relaxed(*lane.bell, lane.settled);
}

// Sends a queued record's message, or its announcement, if the lane has room.
[[gnu::noinline]] DCGN_HOST_DEVICE inline bool advance_send(Endpoint& me, OutLane& lane, Record* r, Work& work) {
  const std::uint64_t bytes = r->envelope.bytes;
  Header h;
  h.context = r->envelope.context;
  h.tag = r->envelope.tag;
  h.bytes = bytes;
  const bool announce = (r->flags & Record::synchronous) || bytes > eager_limit(lane, me.threads);
  if (!announce) {
    h.kind = fits_small(h.context, h.tag, bytes) ? Kind::small : Kind::eager;
    const std::uint32_t cells = h.kind == Kind::small ? 0 : payload_cells(bytes);
    if (!has_room(lane, 1 + cells)) return false;
    if (h.kind == Kind::small && bytes) memcpy(&h.address, r->buffer, bytes);
    const std::uint32_t tail = lane.tail();
    write_header(lane.ring, tail, h);
    put(lane, 1 + cells);
    if (cells) {
      work.move = Work::Move::push;
      work.after = After::sent;
      work.from = r->buffer;
      work.bytes = bytes;
      work.ring = lane.ring;
      work.position = tail + 1;
      work.cells = cells;
      work.record = r;
    } else {
      complete(me, r);
    }
  } else {
    h.kind = lane.reach != Reach::none && reachable(r->buffer) ? Kind::pull : Kind::offer;
    h.readable = lane.reach == Reach::direct;
    if (!has_room(lane, header_cells(h.kind)) || !take_ack(me, r->ack)) return false;
    h.ack = r->ack;
    h.address = reinterpret_cast<std::uintptr_t>(r->buffer);
#if !defined(__CUDA_ARCH__)
    store_relaxed(lane.acks[ack_index(r->ack)], ack_word(r->ack, ack_none));  // for begin_pull
#endif
    write_header(lane.ring, lane.tail(), h);
    put(lane, header_cells(h.kind));
    r->state = State::announced;
    me.announced.append(r);
  }
  ++lane.sent;
  ++me.statistics.activity;
  return true;
}

// Starts a send: at once where it may, in the lane's queue otherwise.
[[gnu::noinline]] DCGN_HOST_DEVICE inline void start_send(Endpoint& me, Record* r, Work& work) {
  OutLane& lane = me.out[r->envelope.peer];
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

// An answer orders the receiver's reads of the sender's buffer before whatever the sender writes there next. A GPU has
// its values before it answers, and acts on an answer no sooner than it has it; an acquire load there would empty the
// multiprocessor's cache at every look, a release store cost most of a microsecond.
DCGN_HOST_DEVICE inline std::uint64_t load_answer(const std::uint64_t& word) {
#if defined(__CUDA_ARCH__)
  return load_relaxed(word);
#else
  return load_acquire(word);
#endif
}

DCGN_HOST_DEVICE inline void store_answer(std::uint64_t& word, std::uint64_t answer) {
#if defined(__CUDA_ARCH__)
  store_relaxed(word, answer);
#else
  store_release(word, answer);
#endif
}

DCGN_HOST_DEVICE inline void free_ack(Endpoint& me, std::uint32_t ack) { me.free_acks[me.acks_free++] = ack; }

[[gnu::noinline]] DCGN_HOST_DEVICE inline bool advance_announced(Endpoint& me) {
  Record* before = nullptr;
  for (Record* r = me.announced.first; r; before = r, r = r->next) {
    const std::uint64_t ack = ack_answer(r->ack, load_answer(me.out[r->envelope.peer].acks[ack_index(r->ack)]));
    if (ack < ack_pulled) continue;
    me.announced.remove(before, r);
    free_ack(me, r->ack);
    ++me.statistics.activity;
    if (ack == ack_pulled) {
      complete(me, r);
    } else {
      r->state = State::streaming;
      r->address = ack - ack_accepted;
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
    OutLane& lane = me.out[r->envelope.peer];
    const std::uint64_t left = r->envelope.bytes - r->moved;
    const std::uint64_t piece = least(left, largest_unit(lane.ring));
    const std::uint32_t cells = payload_cells(piece);
    if (!has_room(lane, 1 + cells)) continue;
    Header h;
    h.kind = Kind::data;
    h.record = static_cast<std::uint32_t>(r->address);
    h.bytes = piece;
    const std::uint32_t tail = lane.tail();
    write_header(lane.ring, tail, h);
    put(lane, 1 + cells);
    work.move = Work::Move::push;
    work.after = After::piece_sent;
    work.from = r->buffer + r->moved;
    work.bytes = piece;
    work.ring = lane.ring;
    work.position = tail + 1;
    work.cells = cells;
    work.record = r;
    r->moved += piece;
    if (r->moved == r->envelope.bytes) me.streaming.remove(before, r);
    ++me.statistics.activity;
    return true;
  }
  return false;
}

// ---- receiving

// Tells the sender how far its cells have been taken.
DCGN_HOST_DEVICE inline void return_credit(InLane& lane) {
  lane.returned = lane.head();
#if defined(__CUDA_ARCH__)
  store_relaxed(lane.credit->taken, lane.returned);  // as an answer is: see store_answer()
#else
  store_release(lane.credit->taken, lane.returned);
#endif
  lane.advance(0);
}

// Takes cells off the lane and, a quarter of the ring at a time, tells the sender.
DCGN_HOST_DEVICE inline void take_off(InLane& lane, std::uint32_t cells) {
  lane.advance(cells);
  if (lane.settled - lane.returned >= lane.batch) return_credit(lane);
}

DCGN_HOST_DEVICE inline void acknowledge(InLane& lane, std::uint32_t ack, std::uint64_t value) {
  store_answer(lane.acks[ack_index(ack)], ack_word(ack, value));
}

// Before a pull: false where the sender has taken its buffer back, which it does only when the job is aborted.
DCGN_HOST_DEVICE inline bool begin_pull([[maybe_unused]] InLane& lane, [[maybe_unused]] std::uint32_t ack) {
#if defined(__CUDA_ARCH__)
  return true;  // device memory stays where it is while kernels run
#else
  const std::uint64_t none = ack_word(ack, ack_none);
  return compare_exchange(lane.acks[ack_index(ack)], none, ack_word(ack, ack_pulling)) == none;
#endif
}

// A receive has met its message, announced by `h` from `source`: fetch the payload.
[[gnu::noinline]] DCGN_HOST_DEVICE inline void fetch(Endpoint& me, Record* r, Kind kind, std::uint64_t address,
                                                     std::uint32_t ack, Work& work) {
  InLane& lane = me.in[r->envelope.peer];
  r->ack = ack;
  if (kind == Kind::pull) {
    r->state = State::streaming;  // neither posted nor complete until the bytes are here
    if (!begin_pull(lane, ack)) return;
    work.move = Work::Move::copy;
    work.after = After::pulled;
    work.to = r->buffer;
    work.from = reinterpret_cast<const unsigned char*>(address);
    work.bytes = least(r->envelope.bytes, r->capacity);
    work.record = r;
    work.lane = &lane;
  } else if (r->envelope.bytes == 0) {
    acknowledge(lane, ack, ack_pulled);
    complete(me, r);
  } else {
    r->state = State::streaming;
    acknowledge(lane, ack, ack_accepted + static_cast<std::uint64_t>(r - me.records));
  }
}

// Puts a small message's payload into the receive's buffer.
DCGN_HOST_DEVICE inline void receive_small(Endpoint& me, Record* r, std::uint64_t payload) {
  const std::uint64_t bytes = least(r->envelope.bytes, r->capacity);
  if (bytes) memcpy(r->buffer, &payload, bytes);
  complete(me, r);
}

// Finds the first posted receive that this message matches, and takes it off the list.
DCGN_HOST_DEVICE inline Record* match_posted(Endpoint& me, std::int32_t source, const Header& h) {
  Record* before = nullptr;
  for (Record* r = me.posted.first; r; before = r, r = r->next) {
    if (!matches(r->envelope, source, h.tag, h.context)) continue;
    me.posted.remove(before, r);
    r->envelope.peer = source;
    r->envelope.tag = h.tag;
    r->envelope.bytes = h.bytes;
    return r;
  }
  return nullptr;
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
  r->envelope = {source, h.tag, h.context, 0, h.bytes};
  r->kind = h.kind;
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

// Takes the message at the head of the lane from `source`, if there is one.
[[gnu::noinline]] DCGN_HOST_DEVICE inline bool poll_lane(Endpoint& me, std::int32_t source, Work& work) {
  InLane& lane = me.in[source];
  Header h;
  const std::uint32_t head = lane.head();
  if (!read_header(lane.ring, head, h)) return false;
  const std::uint32_t cells = h.kind == Kind::eager || h.kind == Kind::data ? payload_cells(h.bytes) : 0;
  const std::uint32_t position = head + header_cells(h.kind);
  Record* r = nullptr;
  if (h.kind == Kind::data) {
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
        case Kind::small: receive_small(me, r, h.address); break;
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
        case Kind::offer: fetch(me, r, h.kind, h.address, h.ack, work); break;
        case Kind::data: break;
      }
    }
  }
  if (cells) {
    work.move = Work::Move::take;
    work.ring = lane.ring;
    work.position = position;
    work.cells = cells;
    work.record = r;
    work.lane = &lane;
  } else {
    take_off(lane, header_cells(h.kind));
  }
  me.stalled = -1;
  ++me.statistics.activity;
  return true;
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
  if (u->kind == Kind::small)
    receive_small(me, r, u->address);
  else
    fetch(me, r, u->kind, u->address, u->ack, work);
  discard(me, u);
}

// ---- both

// Looks at a lane before a quick receive becomes an ordinary one, which sees to the rank's other business as well.
#if defined(__CUDA_ARCH__)
inline constexpr std::uint32_t quick_looks = 2048;  // half a millisecond
#else
inline constexpr std::uint32_t quick_looks = 32;
#endif

// Waits for a message that begins with this cell; false where none has come in a while.
DCGN_HOST_DEVICE inline bool await_first(const Cell& cell, std::uint32_t epoch, std::uint32_t (&d)[3]) {
  std::uint32_t looks = 0;
  while (!read_cell(cell, epoch, d)) {
    if (++looks == quick_looks) return false;
    relax_briefly();
  }
#if !defined(__CUDA_ARCH__)
  if (looks) detail::relax_reset_host();
#endif
  return true;
}

// Where a rank looks for messages: at the bells of all lanes, then at the lanes of those who cannot reach its bells;
// where there are no bells, at every lane.
DCGN_HOST_DEVICE inline std::int32_t places(const Endpoint& me) { return me.size + me.mute_count; }

DCGN_HOST_DEVICE inline std::int32_t source_at(const Endpoint& me, std::int32_t place) {
  return place < me.size ? place : me.mute[place - me.size];
}

DCGN_HOST_DEVICE inline std::int32_t place_after(const Endpoint& me, std::int32_t place) {
  return place + 1 == places(me) ? 0 : place + 1;
}

// Whether somebody has rung who has sent what is not taken. What has been taken is noted beside the bells when it is
// asked for.
DCGN_HOST_DEVICE inline bool has_rung(const Endpoint& me, std::int32_t source, std::uint32_t bell) {
  if (bell == me.heads[source]) return false;
  const std::uint32_t head = me.in[source].head();
  me.heads[source] = head;
  return static_cast<std::int32_t>(bell - head) > 0;
}

// Which of the places of a group, of bell_group from `first` on, seem to hold a message: bit i for place first + i.
DCGN_HOST_DEVICE inline std::uint32_t full_places(const Endpoint& me, std::int32_t first) {
  std::uint32_t found = 0;
  const std::int32_t rung = me.bells ? me.size : 0, end = places(me);
  if (first < rung) {
    std::uint32_t bells[bell_group];
    for (int i = 0; i < bell_group; ++i) bells[i] = load_relaxed(me.bells[first + i]);
    for (int i = 0; i < bell_group; ++i) found |= static_cast<std::uint32_t>(has_rung(me, first + i, bells[i])) << i;
  }
  if (first + bell_group > rung && first < end) {
    // Their loads are under way together.
    const Cell* cells[bell_group];
    std::uint32_t epochs[bell_group], seen[bell_group];
    for (int i = 0; i < bell_group; ++i) {
      const std::int32_t place = first + i < rung ? rung : first + i;
      const InLane& lane = me.in[source_at(me, place < end ? place : end - 1)];
      const std::uint32_t head = lane.head();
      cells[i] = &lane.ring.at(head);
      epochs[i] = place < end && first + i >= rung ? lane.ring.epoch(head) : 0;
    }
    for (int i = 0; i < bell_group; ++i) seen[i] = load_relaxed(cells[i]->epoch);
    for (int i = 0; i < bell_group; ++i) found |= static_cast<std::uint32_t>(epochs[i] && seen[i] == epochs[i]) << i;
  }
  return found;
}

// Looks at a few places in turn, or at all, and takes one message.
[[gnu::noinline]] DCGN_HOST_DEVICE inline bool poll_others(Endpoint& me, bool all, Work& work) {
  const std::int32_t end = places(me);
  for (std::int32_t looked = -(me.next_place % bell_group); looked < (all ? end : 1);) {
    const std::int32_t start = me.next_place, first = start / bell_group * bell_group;
    std::uint32_t found = full_places(me, first) >> (start - first);
    for (std::int32_t place = start; found; ++place, found >>= 1)
      if (found & 1 && poll_lane(me, source_at(me, place), work)) {
        me.next_place = place_after(me, place);
        return true;
      }
    looked += bell_group;
    me.next_place = first + bell_group < end ? first + bell_group : 0;
  }
  return false;
}

// Does one thing if there is one to do. `source` is the lane to look at first, or any_source; `all` looks at every
// lane, otherwise a few beside it in turn.
[[gnu::noinline]] DCGN_HOST_DEVICE inline bool step(Endpoint& me, std::int32_t source, bool all, Work& work) {
  if (source >= 0 && poll_lane(me, source, work)) return true;
  if (me.announced.first && advance_announced(me)) return true;
  if (me.queued && advance_queued(me, work)) return true;
  if (me.streaming.first && advance_streaming(me, work)) return true;
  return poll_others(me, all || source < 0, work);
}

// The bytes of `work` have moved.
[[gnu::noinline]] DCGN_HOST_DEVICE inline void finish(Endpoint& me, const Work& work, Work& next) {
  Record* r = work.record;
  if (work.move == Work::Move::take) take_off(*work.lane, 1 + work.cells);
  switch (work.after) {
    case After::nothing:
    case After::stored: break;
    case After::sent:
    case After::received: complete(me, r); break;
    case After::piece_sent:
    case After::piece_received:
      if (r->moved == r->envelope.bytes) complete(me, r);
      break;
    case After::pulled:
      acknowledge(*work.lane, r->ack, ack_pulled);
      complete(me, r);
      break;
    case After::unstored:
      me.arrivals.free(work.stored->buffer);
      discard(me, work.stored);
      complete(me, r);
      break;
    case After::buffered: start_send(me, r, next); break;
  }
}

// The job is aborted and the caller's buffers will go: take announced sends back from receivers that have not begun to
// read them, and wait for those that have.
DCGN_HOST_DEVICE inline void withdraw([[maybe_unused]] Endpoint& me) {
#if !defined(__CUDA_ARCH__)
  for (Record* r = me.announced.first; r; r = r->next) {
    std::uint64_t& word = me.out[r->envelope.peer].acks[ack_index(r->ack)];
    const std::uint64_t none = ack_word(r->ack, ack_none), pulling = ack_word(r->ack, ack_pulling);
    if (compare_exchange(word, none, ack_word(r->ack, ack_withdrawn)) != pulling) continue;
    // A copy is soon done; a reader that has died in the middle of one must not hold up the others.
    const std::uint64_t since = now_ns();
    while (load_acquire(word) == pulling && now_ns() - since < 10'000'000'000u) relax();
  }
#endif
}

}  // namespace dcgn::message
