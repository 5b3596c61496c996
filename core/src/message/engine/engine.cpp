// The engine behind the calls: what a rank does between waiting once and waiting again, compiled once for the host and
// once for the device library.
#include "message/engine/compiled.hpp"

#include "message/engine/calls.hpp"
#include "message/engine/copying.hpp"
#include "message/engine/goals.hpp"
#include "message/engine/progress.hpp"
#include "message/engine/quick.hpp"
#include "message/engine/quick_request.hpp"
#include "message/engine/receiving.hpp"
#include "message/engine/records.hpp"
#include "message/engine/sending.hpp"
#include "message/engine/wait.hpp"
#include "message/engine/work.hpp"

#include <dcgn/arch/clock.hpp>
#include <dcgn/collective/recorded.hpp>
#include <dcgn/gpu/typed_messages.hpp>
#include <dcgn/message/blocks_scope.hpp>
#include <dcgn/message/credit.hpp>
#include <dcgn/message/payload.hpp>

#include <cstdint>
#include <cstring>

#if DCGN_COMPILED_HERE

namespace dcgn::message {

DCGN_HOST_DEVICE std::uint32_t join_bytes(const unsigned char* from, std::uint32_t count) {
  std::uint32_t value = 0;
  for (std::uint32_t i = 0; i < count; ++i) value |= static_cast<std::uint32_t>(from[i]) << 8 * i;
  return value;
}

DCGN_HOST_DEVICE void split_bytes(unsigned char* to, std::uint32_t count, std::uint32_t value) {
  for (std::uint32_t i = 0; i < count; ++i) to[i] = static_cast<unsigned char>(value >> 8 * i);
}

DCGN_HOST_DEVICE void publish_turns(Endpoint& me) {
  const Turns& turns = *me.collectives.turns;
  for (std::uint32_t i = 0; i < Turns::kept; ++i) {
    const std::uint64_t word = turns.latest[i], size = turns.sizes[i];
    const std::uint32_t pair = Turns::pair_of(word), number = Turns::number_at(i, turns.begun[pair]);
    store_relaxed(me.notice->sizes[i], size);
    store_relaxed(me.notice->turn_numbers[i], number);
    store_relaxed(me.notice->seals[i], Turns::seal(turns.communicators[pair], word, size, number));
    store_relaxed(me.notice->turns[i], word);
  }
}

DCGN_HOST_DEVICE std::uint64_t activity(const Endpoint& me) {
  std::uint64_t sum = me.statistics.activity;
  for (std::int32_t p = 0; p < lanes(me); ++p)
    sum += me.out[p].messages_by_quick_calls() + me.in[p].messages_by_quick_calls();
  return sum;
}

DCGN_HOST_DEVICE void publish(Endpoint& me, const Envelope& waits_for, std::uint32_t is_receive, std::uint32_t requests,
                              std::uint32_t survey, std::uint64_t waited) {
  Notice& n = *me.notice;
  publish_turns(me);
  n.arrived = me.unexpected_count;
  n.call = me.call;
  n.is_receive = is_receive;
  n.stalled = me.stalled;
  n.requests = requests;
  n.waits_for = waits_for;
  n.activity = activity(me);
  n.waited_ns = waited;
  // The first ones to come; those of a list are in order.
  const Record* first[notice_envelopes];
  int count = 0;
  for (const List& list : me.unexpected) {
    const Record* u = list.first;
    for (int i = 0; u && i < notice_envelopes; ++i, u = u->next) {
      int at = count;
      while (at > 0 && first[at - 1]->order > u->order) --at;
      if (at == notice_envelopes) break;
      if (count < notice_envelopes) ++count;
      for (int k = count - 1; k > at; --k) first[k] = first[k - 1];
      first[at] = u;
    }
  }
  for (int i = 0; i < count; ++i) n.unexpected[i] = first[i]->envelope;
  store_relaxed(me.answered, survey);
  store_release(n.survey, survey);
}

DCGN_HOST_DEVICE Code Waiter::look(const Waited& w) {
  const std::uint32_t phase = load_acquire(*me_.phase);
  if (phase == static_cast<std::uint32_t>(Phase::aborted)) return gave_up_ == Code::ok ? Code::aborted : gave_up_;
  const std::uint64_t now = now_ns();
  if (!idle_since_) idle_since_ = now;
  const std::uint64_t waited = now - idle_since_;
  if (waited > idle_after_ns && !is_served()) set_idle(true);
  if (is_to_answer(me_, phase)) {
    // Answered at the next look: by then every lane has been looked at since the survey began. What was found before
    // proves nothing, should this thread have been away from the processor in between.
    if (phase == noticed_) publish(w, phase, waited);
    noticed_ = phase;
  }
  if (gave_up_ != Code::ok) {
    // The watchdog has been told, and aborts the job once it knows what everybody waits for. Should it be gone:
    return now - gave_up_at_ > 10'000'000'000u ? gave_up_ : Code::ok;
  }
  if (waited > me_.limits.deadline_ns) return give_up(Code::deadline, Alarm::deadline, now);
#if defined(__CUDA_ARCH__)
  // The word that says who has ended is in the host's memory. Where a thousand slots read it at every look, each read
  // takes the others' time on the bus, a tenth of a millisecond in all.
  constexpr std::uint64_t ask_every_ns = 1'000'000;
  if (!ended_seen_ && now - (asked_at_ > idle_since_ ? asked_at_ : idle_since_) < ask_every_ns) return Code::ok;
  asked_at_ = now;
#endif
  // Who has ended neither sends nor receives any more: one more look at everything, then the wait is hopeless.
  if (w.requests <= 1 && w.envelope.peer != me_.rank && is_near(me_, w.envelope.peer) &&
      load_acquire(me_.ended[w.envelope.peer - me_.first])) {
    if (ended_seen_) return give_up(Code::rank_ended, Alarm::rank_ended, now);
    ended_seen_ = true;
  }
  return Code::ok;
}

DCGN_HOST_DEVICE bool advance_copies(Endpoint& me, Work& work) {
  Copies& c = me.copies;
  Record* before = nullptr;
  for (Record* r = c.under_way.first; r; before = r, r = r->next) {
    const std::uint32_t value = static_cast<std::uint32_t>(r->order) + 1;
    const std::uint32_t& word = c.done[(value - 1) % copy_queue_length];
    const std::uint32_t found = load_relaxed(word);
    if (found != value && found != ~value) continue;
    static_cast<void>(load_acquire(word));  // orders the copy before what comes now, at the cost of one look
    c.under_way.remove(before, r);
#if !defined(__CUDA_ARCH__)
    if (r->flags & Record::opened) me.exports->close(*r);
#endif
    if (found == value) {
      acknowledge(lane_from(me, r->envelope.peer), r->ack, ack_pulled);
      complete(me, r);
    } else if (r->flags & Record::readable) {
      read_message(me, r, work);
    } else {
      accept(me, r);
    }
    ++me.statistics.activity;
    while (c.waiting.first && has_place(c)) {
      Record* next = c.waiting.first;
      c.waiting.remove(nullptr, next);
      post_copy(me, next);
    }
    return true;
  }
  return false;
}

DCGN_HOST_DEVICE bool advance_send(Endpoint& me, OutLane& lane, Record* r, Work& work) {
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

DCGN_HOST_DEVICE void start_send(Endpoint& me, Record* r, Work& work) {
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

DCGN_HOST_DEVICE bool advance_queued(Endpoint& me, Work& work) {
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

DCGN_HOST_DEVICE void place(Endpoint& me, OutLane& lane, Record* r, Work& work) {
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

DCGN_HOST_DEVICE bool advance_announced(Endpoint& me, Work& work) {
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

DCGN_HOST_DEVICE bool advance_streaming(Endpoint& me, Work& work) {
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

DCGN_HOST_DEVICE void fetch(Endpoint& me, Record* r, const Header& h, Work& work) {
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

DCGN_HOST_DEVICE bool poll_lane(Endpoint& me, std::int32_t index, Work& work) {
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

DCGN_HOST_DEVICE void begin_copy(Endpoint& me, std::int32_t source, std::uint64_t bytes) {
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

DCGN_HOST_DEVICE bool poll_others(Endpoint& me, bool all, Work& work) {
  const std::int32_t end = places(me);
  for (std::int32_t looked = -(me.next_place % bell_group); looked < (all ? end : 1);) {
    const std::int32_t start = me.next_place, first = start / bell_group * bell_group;
    std::uint32_t found = full_places(me, first) >> (start - first);
    for (std::int32_t place = start; found; ++place, found >>= 1)
      if (found & 1 && poll_lane(me, lane_at(me, place), work)) {
        me.next_place = place_after(me, place);
        return true;
      }
    looked += bell_group;
    me.next_place = first + bell_group < end ? first + bell_group : 0;
  }
  return false;
}

DCGN_HOST_DEVICE bool step(Endpoint& me, std::int32_t source, bool all, Work& work) {
  if (source >= 0 && poll_lane(me, lane_of(me, source), work)) return true;
  if (me.announced.first && advance_announced(me, work)) return true;
  if (me.queued && advance_queued(me, work)) return true;
  if (me.streaming.first && advance_streaming(me, work)) return true;
  if (me.copies.under_way.first && advance_copies(me, work)) return true;
#if !defined(__CUDA_ARCH__)
  if (me.fragments && me.fragments->advance(me)) return true;
#endif
  return poll_others(me, all || source < 0, work);
}

DCGN_HOST_DEVICE void finish(Endpoint& me, const Work& work, Work& next) {
  Record* r = work.record;
  if (work.move == Work::Move::take) take_off(*work.lane, work.position + work.cells - work.lane->head());
  switch (work.after) {
    case After::nothing:
    case After::stored: break;
    case After::sent:
    case After::received: complete(me, r); break;
    case After::piece_sent:
    case After::piece_received:
      if (r->moved == r->envelope.bytes && !r->order) complete(me, r);
      break;
    case After::pulled:
      acknowledge(*work.lane, r->ack, ack_pulled);
      complete(me, r);
      break;
    case After::placed: {
      OutLane& lane = lane_to(me, r->envelope.peer);
#if !defined(__CUDA_ARCH__)
      store_release(lane.acks[ack_index(r->ack)], ack_word(r->ack, ack_pulled));  // for withdraw()
#endif
      tell_placed(me, lane, r);
      break;
    }
    case After::unstored:
      me.arrivals.free(work.stored->buffer);
      discard(me, work.stored);
      complete(me, r);
      break;
    case After::buffered:
      r->flags &= ~Record::on_device;
      start_send(me, r, next);
      break;
  }
}

DCGN_HOST_DEVICE void withdraw(Endpoint& me) {
  drain_copies(me);
#if !defined(__CUDA_ARCH__)
  if (me.fragments) me.fragments->drain();
  for (Record* r = me.announced.first; r; r = r->next)
    take_back(lane_to(me, r->envelope.peer).acks[ack_index(r->ack)], r->ack);
  for (std::uint32_t i = 0; i < me.records_used; ++i) {
    const Record& r = me.records[i];
    if (r.state == State::streaming && r.flags & Record::is_receive && r.flags & Record::placed)
      take_back(lane_from(me, r.envelope.peer).acks[ack_index(r.ack)], r.ack);
  }
  if (!me.lent) return;
  // The gateway says that it has a buffer before it looks at the phase a last time: so if it did not find the job
  // aborted then, it is seen to have one here.
  static_cast<void>(load_in_order(*me.phase));
  const std::uint64_t since = now_ns();
  while (load_in_order(*me.lent) && now_ns() - since < 10'000'000'000u) relax();
#endif
}

DCGN_HOST_DEVICE bool settled(Endpoint& me, Record* r, const Request& request, bool blocking, Result& result) {
  if (!blocking) {
    result.index = request.index();
    result.generation = request.generation();
    return true;
  }
  if (r->state != State::complete) return false;
  collect(me, r, result);
  return true;
}

DCGN_HOST_DEVICE Announced announce(Endpoint& me, std::uint32_t threads, const void* data, std::uint64_t bytes, int to,
                                    int tag, std::uint32_t context) {
  OutLane& lane = me.out[to - me.first];
  if (has_ended(me, lane) || !begin_quick(me)) return {};
  Header h;
  if (lane.first || !is_pulled(lane, bytes) || !reachable(data) || !has_room(lane, header_cells(Kind::pull)) ||
      (!me.free_records && me.records_used == me.record_capacity) || !take_ack(me, h.ack)) {
    end_quick(me);
    return {};
  }
  h.kind = Kind::pull;
  h.readable = lane.reach == Reach::direct;
  h.placeable = h.readable && lane.records && is_placed(me, threads, bytes);
  h.context = context;
  h.tag = tag;
  h.bytes = bytes;
  h.address = reinterpret_cast<std::uintptr_t>(data);
  std::uint64_t& word = lane.acks[ack_index(h.ack)];
  write_header(lane.ring, lane.tail(), h);
  put(lane, header_cells(h.kind));
  ++lane.sent;
  Announced result;
  result.state = Announced::State::pending;
  for (std::uint32_t looks = 0; looks < quick_answer_looks && result.state == Announced::State::pending; ++looks) {
    const std::uint64_t answer = ack_answer(h.ack, load_answer(word));
    if (answer == ack_pulled) result.state = Announced::State::received;
    if (answer > ack_pulled) break;
    relax_briefly();
  }
  if (result.state == Announced::State::received) {
    free_ack(me, h.ack);
    ++me.statistics.sent_messages;
    me.statistics.sent_bytes += bytes;
  } else {  // goes on as an ordinary send
    Record* r = take_record(me);
    r->envelope = {to, tag, context, 0, bytes};
    r->buffer = const_cast<unsigned char*>(static_cast<const unsigned char*>(data));
    r->ack = h.ack;
    r->state = State::announced;
    me.announced.append(r);
    result.index = static_cast<std::uint32_t>(r - me.records);
    result.generation = r->generation;
  }
  ++me.statistics.activity;
  end_quick(me);
  return result;
}

DCGN_HOST_DEVICE Request begin_send(Endpoint& me, std::uint32_t threads, const void* data, std::uint64_t bytes, int to,
                                    int tag, std::uint32_t context) {
  if (has_ended(me, me.out[to - me.first]) || !begin_quick(me)) return {};
  Request request;
  if (Record* const r = new_send(me, data, bytes, to, tag, context)) {
    request = request_of(me, r);
    me.threads = threads;
    Work nothing;
    start_send(me, r, nothing);
    begin_copy(me, to, bytes);
  }
  end_quick(me);
  return request;
}

DCGN_HOST_DEVICE Request begin_receive(Endpoint& me, std::uint32_t threads, void* data, std::uint64_t capacity,
                                       int from, int tag, std::uint32_t context) {
  if (!begin_quick(me)) return {};
  Request request;
  Record* const r = me.unexpected_count ? nullptr : new_receive(me, data, capacity, from, tag, context);
  if (r) {
    request = request_of(me, r);
    r->state = State::posted;
    me.posted.append(r);
    me.threads = threads;
    begin_copy(me, from, capacity);
  }
  end_quick(me);
  return request;
}

DCGN_HOST_DEVICE void look_ahead(Endpoint& me, std::int32_t source, const Work& now, Work& next) {
  if (now.after != After::pulled && now.after != After::placed) return;
  for (int i = 0; i < 8 && next.move == Work::Move::nothing && step(me, source, true, next); ++i) continue;
}

// A bad argument: remembered for the report, and the job is stopped where errors are fatal.
DCGN_HOST_DEVICE Code fail(Endpoint& me, const Failure& failure) {
  if (failure.code == Code::aborted) return failure.code;
  me.last_failure = failure;
  if (me.first_failure.code == Code::ok) me.first_failure = failure;
  if (me.limits.errors_fatal) raise_alarm(me, Alarm::failure);
  return failure.code;
}

DCGN_HOST_DEVICE Code fail(Endpoint& me, Code code, Call call, std::int64_t value, std::int64_t expected,
                           const Envelope& envelope) {
  return fail(me, {code, call, value, expected, envelope});
}

// ---- typed messages

DCGN_HOST_DEVICE Room take_room(Endpoint& me, Call call, std::uint32_t threads, std::int64_t bytes, int peer, int tag) {
  Room room;
  room.code = enter(me, call, threads);
  if (room.code == Code::ok) {
    room.memory = static_cast<std::byte*>(me.buffer.allocate(static_cast<std::uint64_t>(bytes)));
    room.taken = room.memory;
    leave(me, Code::ok);
    if (!room.taken) room.code = Code::out_of_resources;
  }
  if (room.code != Code::ok)
    fail(me, room.code, call, bytes, bytes, {peer, tag, user_context, 0, static_cast<std::uint64_t>(bytes)});
  return room;
}

// Where the job is being stopped the space goes with it.
DCGN_HOST_DEVICE Code give_room(Endpoint& me, Call call, std::uint32_t threads, std::byte* memory) {
  const Code code = enter(me, call, threads);
  if (code != Code::ok) return code;
  me.buffer.free(memory);
  leave(me, Code::ok);
  return code;
}

}  // namespace dcgn::message

namespace dcgn::collective {

DCGN_HOST_DEVICE message::TraceEvent* begin_event(const message::Port& port, const Group& group, message::Call call,
                                                  Ends ends, Ends beside) {
  message::TraceEvent* const event = port.me->log.begin();
  *event = {message::trace_ticks(),
            0,
            message::TraceEvent::what_of(call, group.pair, ends.bytes),
            traced_rank(port, group, ends.peer),
            ends.tag,
            0,
            beside.bytes,
            traced_rank(port, group, beside.peer),
            beside.tag};
  return event;
}

DCGN_HOST_DEVICE void RecordedMessage::drop(bool leader, message::TraceLog& log) {
  if (leader) ++log.dropped;
}

DCGN_HOST_DEVICE void RecordedMessage::write_late(bool leader, message::TraceLog& log, std::uint64_t begin,
                                                  message::TwoWords place, message::Call call,
                                                  std::int32_t communicator, int peer, int tag, std::int64_t bytes) {
  write(leader, log, begin, place, call, communicator, peer, tag, bytes);
}

}  // namespace dcgn::collective

namespace dcgn::gpu {

DCGN_HOST_DEVICE bool BlocksScope::await_long(const std::uint32_t& word, std::uint32_t bits, std::uint32_t value,
                                              bool equal) const {
  const std::uint64_t deadline = slot_.limits.deadline_ns + (leader() ? 0 : 1'000'000'000u);
  const bool in_call = leader() && bits == ~turn;
  std::uint64_t since = now_ns();
  bool met = true, told = false, says = false;
  for (std::uint32_t pauses = 1; met && ((load_relaxed(word) & bits) == value) != equal; ++pauses) {
    relax();
    if (pauses % message::look_every) continue;
    const std::uint32_t phase = load_relaxed(*slot_.phase);
    met = phase != static_cast<std::uint32_t>(message::Phase::aborted);
    const std::uint64_t now = now_ns(), waited = now - since;
    if (!met || waited < deadline) continue;
    if (!told) {
      const bool busy = !in_call && load_acquire(slot_.busy);
      told = leader() || !busy;
      if (!told) {  // who makes the call has a deadline of its own
        since = now;
        continue;
      }
      const bool first = on_device::fetch_add_release(slot_.gathering.reported, 1) == 0;
      if (first) message::raise_alarm(slot_, message::Alarm::deadline);
      says = first && !busy;
    }
    if (says && message::is_to_answer(slot_, phase))
      message::publish(slot_, {.bytes = blocks_}, message::awaits_blocks, blocks_here(), phase, waited);
    met = waited < deadline + 10'000'000'000u;  // else nobody listens
  }
  if (met) on_device::load_acquire(word);
  return met;
}

}  // namespace dcgn::gpu

#endif
