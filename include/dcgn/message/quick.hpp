// Quick calls: a blocking send or receive that finds all it needs at once keeps no record and runs no progress.
//
// A quick send writes an eager message to a lane with room. A quick receive takes an eager message from the head of its
// lane, where nothing else is open that it could overtake or keep waiting. Whatever is out of the ordinary makes these
// return false with nothing changed, and operate() in calls.hpp sees to it.
//
// All threads of the scope read the rank's state before the first barrier of a call; its leader changes it between that
// and the last one. So it is at rest between calls, whoever makes the next one.
#pragma once

#include <dcgn/gpu/relax.hpp>
#include <dcgn/message/endpoint.hpp>
#include <dcgn/message/progress.hpp>
#include <dcgn/message/wait.hpp>
#include <dcgn/message/work.hpp>
#include <dcgn/status.hpp>

#include <cstdint>
#include <cstring>

namespace dcgn::message {

// Looks at a lane before a quick receive becomes an ordinary one, which sees to the rank's other business as well.
#if defined(__CUDA_ARCH__)
inline constexpr std::uint32_t quick_looks = 2048;  // half a millisecond
#else
inline constexpr std::uint32_t quick_looks = 32;
#endif

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

// Whether the caller may go on. On a GPU a quick call only looks at the flag.
template <class Scope>
DCGN_HOST_DEVICE bool begin_quick(const Scope& scope, Endpoint& me) {
#if defined(__CUDA_ARCH__)
  return !(me.busy | me.stopped | (me.without & without_quick));
#else
  bool mine = true;
  if (scope.leader()) {
    mine = !(me.without & without_quick) && take_flag(me.busy);
    if (mine && (me.stopped || aborted(me))) {
      give_flag(me.busy);
      mine = false;
    }
  }
  return scope.agree(mine);
#endif
}

template <class Scope>
DCGN_HOST_DEVICE bool end_quick([[maybe_unused]] const Scope& scope, [[maybe_unused]] Endpoint& me, bool result) {
#if !defined(__CUDA_ARCH__)
  if (scope.leader()) give_flag(me.busy);
#endif
  return result;
}

// Up to 8 bytes as a number, and back.
DCGN_HOST_DEVICE inline std::uint64_t load_small(const void* from, std::uint64_t bytes) {
  std::uint64_t value = 0;
#if defined(__CUDA_ARCH__)
  const auto address = reinterpret_cast<std::uintptr_t>(from);
  if (bytes == 8 && (address & 7) == 0) return *static_cast<const std::uint64_t*>(from);
  if (bytes == 4 && (address & 3) == 0) return *static_cast<const std::uint32_t*>(from);
  for (std::uint32_t i = 0; i < bytes; ++i)
    value |= static_cast<std::uint64_t>(static_cast<const unsigned char*>(from)[i]) << 8 * i;
#else
  if (bytes) memcpy(&value, from, bytes);
#endif
  return value;
}

DCGN_HOST_DEVICE inline void store_small(void* to, std::uint64_t bytes, std::uint64_t value) {
#if defined(__CUDA_ARCH__)
  const auto address = reinterpret_cast<std::uintptr_t>(to);
  if (bytes == 8 && (address & 7) == 0)
    *static_cast<std::uint64_t*>(to) = value;
  else if (bytes == 4 && (address & 3) == 0)
    *static_cast<std::uint32_t*>(to) = static_cast<std::uint32_t>(value);
  else
    for (std::uint32_t i = 0; i < bytes; ++i)
      static_cast<unsigned char*>(to)[i] = static_cast<unsigned char>(value >> 8 * i);
#else
  if (bytes) memcpy(to, &value, bytes);
#endif
}

// Beside the small message, whose send is a few instructions in the caller's own code.
template <class Scope>
[[gnu::noinline]] DCGN_HOST_DEVICE bool quick_send_eager(const Scope& scope, Endpoint& me, OutLane& lane,
                                                         const void* data, std::uint64_t bytes, int tag,
                                                         std::uint32_t context) {
  if (!begin_quick(scope, me)) return false;
  const Ring ring = lane.ring;
  const std::uint32_t tail = lane.tail;
  std::uint32_t taken = lane.taken;
  const bool small = fits_small(context, tag, bytes);
  const std::uint32_t cells = small ? 1 : 1 + payload_cells(bytes);
  if (bytes > eager_limit(lane, scope.size()) || lane.first) return end_quick(scope, me, false);
  scope.sync();  // what the threads wrote to the buffer is visible to all of them
  if (ring.size() - (tail - taken) < cells) {
    taken = scope.broadcast(scope.leader() ? load_acquire(lane.credit->taken) : 0u);
    if (scope.leader()) lane.taken = taken;
    if (ring.size() - (tail - taken) < cells) return end_quick(scope, me, false);
  }
  if (scope.leader()) {
    const bool release = me.without & without_relaxed;
    if (small) {
      const std::uint64_t payload = load_small(data, bytes);
      write_cell(ring.at(tail), static_cast<std::uint32_t>(payload), static_cast<std::uint32_t>(payload >> 32),
                 small_word(context, tag, bytes), ring.epoch(tail), release);
    } else {
      write_cell(ring.at(tail), static_cast<std::uint32_t>(tag), static_cast<std::uint32_t>(bytes),
                 static_cast<std::uint32_t>(Kind::eager) | context << 16, ring.epoch(tail), release);
    }
    lane.tail = tail + cells;
    ring_bell(lane);
    ++lane.quick_messages;
    lane.quick_bytes += bytes;
  }
  if (cells > 1) push_cells(scope, ring, tail + 1, static_cast<const unsigned char*>(data), bytes, cells - 1);
  end_quick(scope, me, true);
  scope.sync();  // the buffer is the caller's again
  return true;
}

#if defined(__CUDA_ARCH__)
// 16 bytes read here and now: the compiler does not put it off until they are needed.
struct Lines {
  std::uint64_t a, b;
  __device__ explicit Lines(const void* from) {
    asm volatile("ld.v2.u64 {%0,%1},[%2];" : "=l"(a), "=l"(b) : "l"(from) : "memory");
  }
};
#endif

template <class Scope>
DCGN_HOST_DEVICE bool quick_send(const Scope& scope, Endpoint& me, const void* data, std::uint64_t bytes, int to,
                                 int tag, std::uint32_t context) {
  OutLane& lane = me.out[to];
#if defined(__CUDA_ARCH__)
  // One decision over all that is in the way, so that its loads are under way together.
  const Ring ring = lane.ring;
  const std::uint32_t tail = lane.tail, used = tail - lane.taken;
  const std::uint64_t messages = lane.quick_messages, sum = lane.quick_bytes;
  std::uint32_t* const bell = lane.bell;
  const bool plain = static_cast<std::uint32_t>(tag) < 65536 & bytes <= small_bytes & used < ring.size() & !lane.first &
                     !(me.busy | me.stopped | (me.without & (without_quick | without_relaxed)));
  if (plain) {
    scope.sync();
    if (scope.leader()) {
      const std::uint64_t payload = load_small(data, bytes);
      write_cell(ring.at(tail), static_cast<std::uint32_t>(payload), static_cast<std::uint32_t>(payload >> 32),
                 small_word(context, tag, bytes), ring.epoch(tail));
      if (bell) store_relaxed(*bell, tail + 1);
      lane.tail = tail + 1;
      lane.quick_messages = messages + 1;
      lane.quick_bytes = sum + bytes;
    }
    scope.sync();
    return true;
  }
#endif
  return quick_send_eager(scope, me, lane, data, bytes, tag, context);
}

// Finds a place that holds something, for a receive from any source: -1 where none does. Called by those who look.
template <class Scope>
DCGN_HOST_DEVICE int find_place(const Scope& scope, const Endpoint& me) {
  constexpr int each = 4;  // places that a thread looks at, their loads under way together
  const int width = each * static_cast<int>(scope.lookers());
  const int mine = each * static_cast<int>(scope.rank());
  const int count = places(me), start = me.next_place, chunks = (count + width - 1) / width;
  for (int c = 0; c <= chunks; ++c) {  // the chunk with the start twice: first from there on, last up to there
    const int base = (start / width + c) % chunks * width + mine;
    std::uint32_t found = 0;
    for (int k = 0; k < each; ++k) {
      const int place = base + k;
      const bool due = place < count && (c == 0 ? place >= start : c < chunks || place < start);
      found |= static_cast<std::uint32_t>(due && holds(me, place)) << k;
    }
    int first = -1;
    for (int k = each; k-- > 0;)
      if (found >> k & 1) first = base + k;
    first = scope.first_found(first);
    if (first >= 0) return first;
  }
  return -1;
}

// The message whose first cell is `d` is at the head of the lane; all threads have seen it. `place` is where it was
// found, -1 where the receive named its source. False where this is no message for a quick call.
template <class Scope>
[[gnu::noinline]] DCGN_HOST_DEVICE bool quick_take(const Scope& scope, Endpoint& me, InLane& lane, std::uint32_t d0,
                                                   std::uint32_t d1, std::uint32_t d2, void* data,
                                                   std::uint64_t capacity, int tag, std::uint32_t context, int place) {
  const Header h = decode({d0, d1, d2});
  if ((h.kind != Kind::small && h.kind != Kind::eager) || h.context != context || (tag != any_tag && tag != h.tag) ||
      h.bytes > capacity)
    return end_quick(scope, me, false);
  const Ring ring = lane.ring;
  const std::uint32_t head = lane.head, cells = 1 + (h.kind == Kind::small ? 0 : payload_cells(h.bytes));
  const bool credit_due = head + cells - lane.returned >= lane.batch;
  scope.sync();  // all know where they are
  if (scope.leader()) {
    if (h.kind == Kind::small) store_small(data, h.bytes, h.address);
    if (place >= 0) me.next_place = place_after(me, place);
    lane.head = head + cells;
    if (lane.seen) *lane.seen = head + cells;
    ++lane.quick_messages;
    lane.quick_bytes += h.bytes;
  }
  bool taken = true;
  if (cells > 1)
    taken = take_cells(scope, *me.phase, ring, head + 1, static_cast<unsigned char*>(data), h.bytes, cells - 1);
  if (credit_due) {
    scope.sync();  // all have read their cells
    if (scope.leader()) return_credit(lane);
  }
  end_quick(scope, me, true);
  // A thread that found the job aborted has left its cells where they were; the ordinary call will say so.
  return scope.agree(taken);
}

DCGN_HOST_DEVICE inline Status quick_status(int from, const std::uint32_t (&d)[3]) {
  const Header h = decode(d);
  return {from, h.tag, static_cast<std::int64_t>(h.bytes), Code::ok};
}

template <class Scope>
[[gnu::noinline]] DCGN_HOST_DEVICE bool quick_receive_any(const Scope& scope, Endpoint& me, void* data,
                                                          std::uint64_t capacity, int tag, std::uint32_t context,
                                                          Status& status) {
  int place = -1;
  std::uint32_t looks = 0;
  if (scope.looks())
    while ((place = find_place(scope, me)) < 0 && ++looks < quick_looks / 4) relax_briefly();
  place = scope.share_found(place);
  if (place < 0) return end_quick(scope, me, false);
  const int from = source_at(me, place);
  InLane& lane = me.in[from];
  const Ring ring = lane.ring;
  const std::uint32_t head = lane.head, epoch = ring.epoch(head);
  std::uint32_t d[3] = {};
  bool found = true;
  if (scope.polls())  // a bell may come before its cell
    while (!(found = read_cell(ring.at(head), epoch, d)) && ++looks < quick_looks) relax_briefly();
  if (!scope.agree(found)) return end_quick(scope, me, false);
  if (!scope.polls()) static_cast<void>(read_cell(ring.at(head), epoch, d));
  if (!quick_take(scope, me, lane, d[0], d[1], d[2], data, capacity, tag, context, place)) return false;
  status = quick_status(from, d);
  return true;
}

template <class Scope>
DCGN_HOST_DEVICE bool quick_receive(const Scope& scope, const Port& port, void* data, std::uint64_t capacity, int from,
                                    int tag, std::uint32_t context, Status& status) {
  Endpoint& me = *port.me;
  if (!begin_quick(scope, me)) return false;
  if (me.open) return end_quick(scope, me, false);
  if (from == any_source) return quick_receive_any(scope, me, data, capacity, tag, context, status);
  InLane& lane = port.in[from];
  std::uint32_t d[3] = {};
  bool found = true;
  std::uint32_t looks = 0;
#if defined(__CUDA_ARCH__)
  // What a small message needs is read while it is waited for.
  const Lines fixed(&lane.ring), note(&lane.seen), moving(&lane.head), counts(&lane.quick_bytes);
  const Ring ring{reinterpret_cast<Cell*>(fixed.a), static_cast<std::uint32_t>(fixed.b)};
  const auto head = static_cast<std::uint32_t>(moving.a), returned = static_cast<std::uint32_t>(moving.a >> 32),
             batch = static_cast<std::uint32_t>(note.b);
#else
  const Ring ring = lane.ring;
  const std::uint32_t head = lane.head;
#endif
  const Cell& first = ring.at(head);
  const std::uint32_t epoch = ring.epoch(head);
  if (scope.polls())
    while (!(found = read_cell(first, epoch, d)) && ++looks < quick_looks) relax_briefly();
  if (!scope.agree(found)) return end_quick(scope, me, false);
#if defined(__CUDA_ARCH__)
  const std::uint32_t word = d[2], bytes = word >> 3 & 15;
  const int its_tag = static_cast<int>(word >> 16);
  // Kind and context in one comparison.
  if ((word & 0xff87) == small_word(context, 0, 0) & (tag == its_tag | tag == any_tag) & bytes <= capacity &
      head - returned + 1 < batch) {
    if (scope.leader()) {
      store_small(data, bytes, d[0] | static_cast<std::uint64_t>(d[1]) << 32);
      lane.head = head + 1;
      if (note.a) *reinterpret_cast<std::uint32_t*>(note.a) = head + 1;
      lane.quick_messages = moving.b + 1;
      lane.quick_bytes = counts.a + bytes;
    }
    status = {from, its_tag, bytes, Code::ok};
    scope.sync();
    return true;
  }
#else
  if (!scope.polls()) static_cast<void>(read_cell(first, epoch, d));
  if (looks && scope.leader()) detail::relax_reset_host();
#endif
  if (!quick_take(scope, me, lane, d[0], d[1], d[2], data, capacity, tag, context, -1)) return false;
  status = quick_status(from, d);
  return true;
}

}  // namespace dcgn::message
