// Progress: everything that a rank does between waiting once and waiting again. Called by a call's leader alone.
//
// step() looks at the lanes into the rank, at its sends that wait for room and at the acknowledgements it expects, and
// does one thing. Bytes in quantity are not moved here but returned as Work for all threads of the call; finish()
// is told when they have moved. The larger functions are kept out of line: a kernel makes many calls, and one copy of
// this is enough.
#pragma once

#include <dcgn/gpu/clock.hpp>
#include <dcgn/gpu/relax.hpp>
#include <dcgn/message/copying.hpp>
#include <dcgn/message/endpoint.hpp>
#include <dcgn/message/receiving.hpp>
#include <dcgn/message/records.hpp>
#include <dcgn/message/sending.hpp>
#include <dcgn/message/work.hpp>

#include <cstdint>

namespace dcgn::message {

// Where a rank looks for messages: at the bells of all lanes, then at the lanes of those who cannot reach its bells;
// where there are no bells, at every lane.
DCGN_HOST_DEVICE inline std::int32_t places(const Endpoint& me) { return me.size + me.mute_count; }

DCGN_HOST_DEVICE inline std::int32_t source_at(const Endpoint& me, std::int32_t place) {
  return place < me.size ? place : me.mute[place - me.size];
}

DCGN_HOST_DEVICE inline std::int32_t place_after(const Endpoint& me, std::int32_t place) {
  return place + 1 == places(me) ? 0 : place + 1;
}

// Whether a message seems to be there.
DCGN_HOST_DEVICE inline bool holds(const Endpoint& me, std::int32_t place) {
  if (me.bells && place < me.size)
    return static_cast<std::int32_t>(load_relaxed(me.bells[place]) - me.heads[place]) > 0;
  const InLane& lane = me.in[source_at(me, place)];
  return load_relaxed(lane.ring.at(lane.head).epoch) == lane.ring.epoch(lane.head);
}

// Looks at a few places in turn, or at all, and takes one message.
[[gnu::noinline]] DCGN_HOST_DEVICE inline bool poll_others(Endpoint& me, bool all, Work& work) {
  constexpr std::int32_t group = 4;  // their loads are under way together
  const std::int32_t looks = all || places(me) < group ? places(me) : group;
  for (std::int32_t i = 0; i < looks; i += group) {
    std::uint32_t found = 0;
    std::int32_t place = me.next_place;
    for (std::int32_t k = 0; k < group; ++k) {
      found |= static_cast<std::uint32_t>(i + k < looks && holds(me, place)) << k;
      place = place_after(me, place);
    }
    place = me.next_place;
    for (std::int32_t k = 0; k < group && i + k < looks; ++k) {
      const std::int32_t next = place_after(me, place);
      if (found >> k & 1 && poll_lane(me, source_at(me, place), work)) {
        me.next_place = next;
        return true;
      }
      place = next;
    }
    me.next_place = place;
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
  if (me.copies.under_way.first && advance_copies(me, work)) return true;
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
    case After::buffered:
      r->flags &= ~Record::on_device;
      start_send(me, r, next);
      break;
  }
}

// The job is aborted and the caller's buffers will go: wait for copies into them, take announced sends back from
// receivers that have not begun to read them, and wait for those that have.
DCGN_HOST_DEVICE inline void withdraw(Endpoint& me) {
  drain_copies(me);
#if !defined(__CUDA_ARCH__)
  for (Record* r = me.announced.first; r; r = r->next) {
    std::uint64_t& word = me.out[r->envelope.peer].acks[ack_index(r->ack)];
    std::uint64_t found = load_acquire(word);
    while (ack_answer(r->ack, found) == ack_none) {
      const std::uint64_t meanwhile = compare_exchange(word, found, ack_word(r->ack, ack_withdrawn));
      if (meanwhile == found) break;
      found = meanwhile;
    }
    if (ack_answer(r->ack, found) != ack_pulling) continue;
    // A copy is soon done; a reader that has died in the middle of one must not hold up the others.
    const std::uint64_t since = now_ns();
    while (ack_answer(r->ack, load_acquire(word)) == ack_pulling && now_ns() - since < 10'000'000'000u) relax();
  }
#endif
}

}  // namespace dcgn::message
