// Progress: everything that a rank does between waiting once and waiting again. Called by a call's leader alone.
//
// step() looks at the lanes into the rank, at its sends that wait for room and at the acknowledgements it expects, and
// does one thing. Bytes in quantity are not moved here but returned as Work for all threads of the call; finish()
// is told when they have moved. The larger functions are in progress.cpp.
#pragma once

#include <dcgn/arch/clock.hpp>
#include <dcgn/arch/relax.hpp>
#include <dcgn/arch/scope.hpp>
#include <dcgn/message/endpoint.hpp>
#include <dcgn/message/spin.hpp>
#include "message/engine/copying.hpp"
#include "message/engine/fragments.hpp"
#include "message/engine/receiving.hpp"
#include "message/engine/records.hpp"
#include "message/engine/sending.hpp"

#include <cstdint>

namespace dcgn::message {

// Where a rank looks for messages: at the bells of all lanes, then at the lanes of those who cannot reach its bells;
// where there are no bells, at every lane.
DCGN_HOST_DEVICE inline std::int32_t places(const Endpoint& me) { return lanes(me) + me.mute_count; }

DCGN_HOST_DEVICE inline std::int32_t lane_at(const Endpoint& me, std::int32_t place) {
  return place < lanes(me) ? place : me.mute[place - lanes(me)];
}

DCGN_HOST_DEVICE inline std::int32_t place_after(const Endpoint& me, std::int32_t place) {
  return place + 1 == places(me) ? 0 : place + 1;
}

// A message has been taken from this place: the next search begins behind it, and its bell is no news.
DCGN_HOST_DEVICE inline void note_taken(Endpoint& me, std::int32_t place) {
  me.next_place = place_after(me, place);
  if (me.bells && place < lanes(me)) me.heads[place] = me.in[place].head();
}

// Waits for the next message of a lane; false where none has come in a while.
DCGN_HOST_DEVICE inline bool await_message(const InLane& lane, Incoming& found) {
  return spin(quick_looks, [&] { return Rx::peek(lane, found); });
}

// A group of bells.
DCGN_HOST_DEVICE inline void load_group(const std::uint32_t* from, std::uint32_t (&group)[bell_group]) {
#if defined(__CUDA_ARCH__)
  static_assert(bell_group == 8);
  for (int i = 0; i < bell_group; i += 4)
    asm volatile("ld.relaxed.sys.v4.b32 {%0,%1,%2,%3},[%4];"
                 : "=r"(group[i]), "=r"(group[i + 1]), "=r"(group[i + 2]), "=r"(group[i + 3])
                 : "l"(from + i)
                 : "memory");
#else
  for (int i = 0; i < bell_group; ++i) group[i] = load_relaxed(from[i]);
#endif
}

// What the rank has noted beside them: its own, and so from the cache of its multiprocessor.
DCGN_HOST_DEVICE inline void load_noted(const std::uint32_t* from, std::uint32_t (&group)[bell_group]) {
#if defined(__CUDA_ARCH__)
  const auto* const words = reinterpret_cast<const uint4*>(from);
  for (int i = 0; i < bell_group / 4; ++i) {
    const uint4 four = words[i];
    group[4 * i] = four.x;
    group[4 * i + 1] = four.y;
    group[4 * i + 2] = four.z;
    group[4 * i + 3] = four.w;
  }
#else
  for (int i = 0; i < bell_group; ++i) group[i] = from[i];
#endif
}

// The lowest bit that is set, of a word that is not 0.
DCGN_HOST_DEVICE inline int first_bit(std::uint32_t word) {
#if defined(__CUDA_ARCH__)
  return __ffs(static_cast<int>(word)) - 1;
#else
  return __builtin_ctz(word);
#endif
}

// Which of a group, from `first` on, have rung since their messages were last taken. What has been taken is noted
// beside the bells only when somebody asks.
DCGN_HOST_DEVICE inline std::uint32_t rung_in(const Endpoint& me, std::int32_t first,
                                              const std::uint32_t (&bells)[bell_group]) {
  std::uint32_t noted[bell_group], news = 0, found = 0;
  load_noted(me.heads + first, noted);
  for (int i = 0; i < bell_group; ++i) news |= static_cast<std::uint32_t>(bells[i] != noted[i]) << i;
  for (; news; news &= news - 1) {
    const int at = first_bit(news);
    std::uint32_t bell = bells[0];
    for (int i = 1; i < bell_group; ++i) bell = i == at ? bells[i] : bell;
    const std::uint32_t head = me.in[first + at].head();
    me.heads[first + at] = head;
    found |= static_cast<std::uint32_t>(static_cast<std::int32_t>(bell - head) > 0) << at;
  }
  return found;
}

// The same where no bell says so, of places from `first` on that are in [rung, end): by the cells at their lanes'
// heads.
DCGN_HOST_DEVICE inline std::uint32_t seen_in(const Endpoint& me, std::int32_t first, std::int32_t rung,
                                              std::int32_t end) {
  // Their loads are under way together, and each is of another address: where a cell is in the host's memory, several
  // loads of one that are under way at once take 15 % to 25 % of the link's bandwidth from copies (H100, by the page).
  const Cell* cells[bell_group];
  std::uint32_t epochs[bell_group], seen[bell_group], found = 0;
  for (int i = 0; i < bell_group; ++i) {
    const std::int32_t place = first + i < rung ? rung : first + i;
    const InLane& lane = me.in[lane_at(me, place < end ? place : end - 1)];
    const std::uint32_t head = lane.head();
    cells[i] = &lane.ring.at(head);
    epochs[i] = place < end && first + i >= rung ? lane.ring.epoch(head) : 0;
  }
  for (int i = 0; i < bell_group; ++i) seen[i] = epochs[i] ? load_relaxed(cells[i]->epoch) : 0;
  for (int i = 0; i < bell_group; ++i) found |= static_cast<std::uint32_t>(epochs[i] && seen[i] == epochs[i]) << i;
  return found;
}

// Whether each place has a bell.
DCGN_HOST_DEVICE inline bool has_all_bells(const Endpoint& me) { return me.bells && !me.mute_count; }

// Which of the places of a group, from `first` on, seem to hold a message: bit i for place first + i.
DCGN_HOST_DEVICE inline std::uint32_t full_places(const Endpoint& me, std::int32_t first) {
  const std::int32_t rung = me.bells ? lanes(me) : 0, end = places(me);
  std::uint32_t found = 0;
  if (first < rung) {
    std::uint32_t bells[bell_group];
    load_group(me.bells + first, bells);
    found = rung_in(me, first, bells);
  }
  if (rung < end && first + bell_group > rung && first < end) found |= seen_in(me, first, rung, end);
  return found;
}

// Looks at a few places in turn, or at all, and takes one message.
DCGN_HOST_DEVICE bool poll_others(Endpoint& me, bool all, Work& work);

// Does one thing if there is one to do. `source` is the rank whose lane to look at first, or any_source; `all` looks at
// every lane, otherwise a few beside it in turn.
DCGN_HOST_DEVICE bool step(Endpoint& me, std::int32_t source, bool all, Work& work);

// The bytes of `work` have moved.
DCGN_HOST_DEVICE void finish(Endpoint& me, const Work& work, Work& next);

#if !defined(__CUDA_ARCH__)
// Takes a buffer back from the other side, or waits for it to have done with it: a copy is soon done, but who has died
// in the middle of one must not hold up the others.
inline void take_back(std::uint64_t& word, std::uint32_t ack) {
  const std::uint64_t since = now_ns();
  for (std::uint64_t found = load_acquire(word);;) {
    const std::uint64_t answer = ack_answer(ack, found);
    if (answer == ack_pulling && now_ns() - since < 10'000'000'000u) {
      relax();
      found = load_acquire(word);
      continue;
    }
    if (answer != ack_none && answer < ack_place) return;
    const std::uint64_t meanwhile = compare_exchange(word, found, ack_word(ack, ack_withdrawn));
    if (meanwhile == found) return;
    found = meanwhile;
  }
}
#endif

// The job is aborted and the caller's buffers will go: wait for copies into them, take them back from ranks that have
// been told of them and have not begun to read or to write there, and wait for those that have.
DCGN_HOST_DEVICE void withdraw(Endpoint& me);

}  // namespace dcgn::message
