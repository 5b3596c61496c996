// Quick calls: a blocking send or receive that finds all it needs at once keeps no record and runs no progress.
//
// A quick send writes an eager message to a lane with room, or announces a longer one and waits a while for the
// receiver to have read it. A quick receive takes an eager message from the head of its lane, or reads a longer one
// where it is, where nothing else is open that it could overtake or keep waiting. Whatever is out of the ordinary makes
// these return false with nothing changed, and operate() in calls.hpp sees to it.
//
// All threads of the scope read the rank's state before the first barrier of a call; its leader changes it between that
// and the last one. So it is at rest between calls, whoever makes the next one.
#pragma once

#include <dcgn/arch/relax.hpp>
#include <dcgn/message/endpoint.hpp>
#include <dcgn/message/quick_in_block.hpp>
#include <dcgn/status.hpp>
#include "message/engine/progress.hpp"
#include "message/engine/wait.hpp"
#include "message/engine/work.hpp"

#include <cstdint>
#include <cstring>

namespace dcgn::message {

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

// Whether the rank that this lane goes to has ended. A GPU finds out when it has to wait: the word is not cheap for it
// to read.
DCGN_HOST_DEVICE inline bool has_ended([[maybe_unused]] const Endpoint& me, [[maybe_unused]] const OutLane& lane) {
  return !calls_in_block(me) && load_acquire(me.ended[&lane - me.out]) != 0;
}

// Whether a quick call may go on. On a GPU it only looks at the flag.
DCGN_HOST_DEVICE inline bool begin_quick(Endpoint& me) {
  if (calls_in_block(me)) return !(me.busy | me.stopped | (me.without & without_quick));
  if ((me.without & without_quick) || !take_flag(me.busy)) return false;
  if (!me.stopped && !aborted(me)) return true;
  give_flag(me.busy);
  return false;
}

DCGN_HOST_DEVICE inline void end_quick([[maybe_unused]] Endpoint& me) {
  if (!calls_in_block(me)) give_flag(me.busy);
}

// Where an eager message goes; nowhere if it is not for a quick call.
DCGN_HOST_DEVICE inline Reservation plan_send(Endpoint& me, OutLane& lane, std::uint32_t threads, Kind kind,
                                              std::uint64_t bytes) {
  if (has_ended(me, lane) || !begin_quick(me)) return {};
  Reservation place;
  if (bytes <= eager_limit(lane, threads) && !lane.first &&
      Tx(lane).reserve(kind, kind == Kind::small ? 0 : bytes, place))
    return place;
  end_quick(me);
  return {};
}

// Any eager message.
template <class Scope>
[[gnu::noinline]] DCGN_HOST_DEVICE bool quick_send_eager(const Scope& scope, Endpoint& me, OutLane& lane,
                                                         const void* data, std::uint64_t bytes, int tag,
                                                         std::uint32_t context) {
  Header h;
  h.kind = fits_small(context, tag, bytes) ? Kind::small : Kind::eager;
  Reservation place;
  if (scope.leader()) place = plan_send(me, lane, scope.size(), h.kind, bytes);
  place = scope.publish(place);  // and what the threads wrote to the buffer is visible to all of them
  if (!place.all) return false;
  const Ring ring = lane.ring;
  if (scope.leader()) {
    h.context = context;
    h.tag = tag;
    h.bytes = bytes;
    if (h.kind == Kind::small) h.address = load_small(data, bytes);
    Tx(lane).put(place, h, 0, me.without & without_relaxed);
    ++lane.quick_messages;
    lane.quick_bytes += bytes;
  }
  if (place.cells)
    push_cells(scope, Payload(ring, place.begin, place.cells, bytes), static_cast<const unsigned char*>(data));
  if (scope.leader()) end_quick(me);
  scope.sync();  // the buffer is the caller's again
  return true;
}

// What became of a message that was announced: not for a quick call, received, or still to be waited for as a request.
struct Announced {
  enum class State : std::uint32_t { none, received, pending };
  State state = State::none;
  std::uint32_t index = 0, generation = 0;
};

// The leader's part of quick_announce(): what it finds it takes at once.
DCGN_HOST_DEVICE Announced announce(Endpoint& me, std::uint32_t threads, const void* data, std::uint64_t bytes, int to,
                                    int tag, std::uint32_t context);

// Above the eager threshold. The header says where the message is; the leader waits for the answer.
template <class Scope>
DCGN_HOST_DEVICE Announced quick_announce(const Scope& scope, Endpoint& me, const void* data, std::uint64_t bytes,
                                          int to, int tag, std::uint32_t context) {
  return scope.lead([&] { return announce(me, scope.size(), data, bytes, to, tag, context); });
}

// How those who look share the places: rows of 2^shift, of which each has bell_group in a row from `mine` on. Row
// `first` comes first.
struct Search {
  int shift, mine, rows, start, first;

  template <class Scope>
  DCGN_HOST_DEVICE static Search of(const Scope& scope, const Endpoint& me) {
    int shift = 0;
    while (1 << shift < bell_group * static_cast<int>(scope.lookers())) ++shift;
    return {shift, bell_group * static_cast<int>(scope.rank()), (places(me) + (1 << shift) - 1) >> shift, me.next_place,
            me.next_place >> shift};
  }
  DCGN_HOST_DEVICE int row(int k) const { return first + k < rows ? first + k : first + k - rows; }
  // This thread's first place in row k; -1 where it has none.
  DCGN_HOST_DEVICE int group(int k) const { return mine < 1 << shift ? (row(k) << shift) + mine : -1; }
};

// A warp looks at so many rows at once: at 1280 bells.
inline constexpr int rows_at_once = decides_in_block ? 5 : 1;

// The bells of so many rows, of each the group that is this thread's. Who waits looks again and again, and a lone warp
// takes long for each instruction: a look only finds out in which rows there is news.
template <int Rows>
struct Look {
  std::uint32_t bells[Rows][bell_group];
  std::uint32_t news = 0;  // bit k: some bell of row `first` + k differs from what is noted of it

  template <class Scope>
  DCGN_HOST_DEVICE Look(const Scope& scope, const Endpoint& me, const Search& search, int first) {
    const int mine = search.mine & ((1 << search.shift) - 1);
    int group[Rows];
    for (int k = 0; k < Rows; ++k) {
      group[k] = (search.row(first + k < search.rows ? first + k : first) << search.shift) + mine;
      load_group(me.bells + group[k], bells[k]);
    }
    for (int k = 0; k < Rows; ++k) {
      std::uint32_t noted[bell_group], differ = 0;
      load_noted(me.heads + group[k], noted);
      for (int i = 0; i < bell_group; ++i) differ |= bells[k][i] ^ noted[i];
      news |= static_cast<std::uint32_t>(scope.first_found(differ ? 0 : -1) >= 0) << k;
    }
  }
  // Those that have rung of a row of which this thread's begin at place `group`.
  DCGN_HOST_DEVICE std::uint32_t rung(const Endpoint& me, int group) const {
    if constexpr (Rows == 1) {
      return rung_in(me, group, bells[0]);
    } else {  // there are not the registers to keep them all
      std::uint32_t its[bell_group];
      load_group(me.bells + group, its);
      return rung_in(me, group, its);
    }
  }
};

// Finds a place that holds something, for a receive from any source: -1 where none does. Called by those who look: the
// places from `start` on come first. AllBells: has_all_bells().
template <bool AllBells, class Scope>
DCGN_HOST_DEVICE int find_place(const Scope& scope, const Endpoint& me, const Search& search) {
  std::uint32_t late = 0;  // what there is before the start, in its row: it comes last
  const auto choose = [&](int r, std::uint32_t found) {
    const int group = search.group(r);
    if (r == 0 && group >= 0) {
      const int before = search.start - group;
      late = before <= 0 ? 0 : before >= bell_group ? found : found & ((1u << before) - 1);
      found &= ~late;
    }
    return scope.first_found(found ? group + first_bit(found) : -1);
  };
  const auto choose_of = [&](const auto& look, int first) {
    for (std::uint32_t news = look.news; news; news &= news - 1) {
      const int k = first_bit(news), r = first + k, group = search.group(r);
      if (r >= search.rows) break;
      if (const int place = choose(r, group < 0 ? 0 : look.rung(me, group)); place >= 0) return place;
    }
    return -1;
  };
  if constexpr (!AllBells) {
    for (int r = 0; r < search.rows; ++r) {
      const int group = search.group(r);
      if (const int place = choose(r, group < 0 ? 0 : full_places(me, group)); place >= 0) return place;
    }
  } else if (search.rows == 1) {
    if (const int place = choose_of(Look<1>(scope, me, search, 0), 0); place >= 0) return place;
  } else {
    for (int r = 0; r < search.rows; r += rows_at_once)
      if (const int place = choose_of(Look<rows_at_once>(scope, me, search, r), r); place >= 0) return place;
  }
  const int group = search.group(0);
  return scope.first_found(late ? group + first_bit(late) : -1);
}

// The message that a quick receive takes; its place is empty where there is none for it.
struct Arrival {
  Incoming message;
  std::int32_t lane = 0;
  std::uint32_t credit_due = 0;
};

// Whether a quick call can take this message. A pull is begun with that.
DCGN_HOST_DEVICE inline bool begin_quick_take(const Endpoint& me, InLane& lane, const Header& h, std::uint64_t capacity,
                                              int tag, std::uint32_t context, std::uint32_t threads) {
  if ((tag != any_tag && tag != h.tag) || h.context != context || h.bytes > capacity) return false;
  switch (h.kind) {
    case Kind::small:
    case Kind::eager: return true;
    case Kind::pull:
      // Not if a copy engine or the system fetches it, or the sender stores it.
      return h.readable && !lane.process && h.bytes < copy_engine_limit(lane, threads, true) &&
             !(h.placeable && is_placed(me, threads, h.bytes)) && begin_pull(lane, h.ack);
    case Kind::offer:
    case Kind::data:
    case Kind::placed: return false;
  }
  return false;
}

// All threads take the message. `place`: where the rank looked for any source; -1: it looked at one lane.
template <class Scope>
[[gnu::noinline]] DCGN_HOST_DEVICE bool quick_take(const Scope& scope, Endpoint& me, InLane& lane, const Arrival& plan,
                                                   void* data, int place) {
  const Header& h = plan.message.header;
  const Reservation& cells = plan.message.place;
  if (scope.leader()) {
    if (h.kind == Kind::small) store_small(data, h.bytes, h.address);
    if (place >= 0) me.next_place = place_after(me, place);
    lane.advance(cells.all);
    ++lane.quick_messages;
    lane.quick_bytes += h.bytes;
  }
  bool taken = true;
  if (cells.cells)
    taken = take_cells(scope, *me.phase, Payload(lane.ring, cells.begin, cells.cells, h.bytes),
                       static_cast<unsigned char*>(data));
  if (h.kind == Kind::pull) {
    copy_bytes(scope, static_cast<unsigned char*>(data), reinterpret_cast<const unsigned char*>(h.address), h.bytes);
    if (scope.leader()) {
      if (plan.credit_due) return_credit(lane);
      end_quick(me);
    }
    scope.sync();                                              // all have read their share
    if (scope.leader()) acknowledge(lane, h.ack, ack_pulled);  // is no business of the rank's any more
    return !scope.broken();
  }
  if (plan.credit_due) {
    scope.sync();  // all have taken their share
    if (scope.leader()) return_credit(lane);
  }
  if (scope.leader()) end_quick(me);
  // A thread that found the job aborted has left its cells where they were; the ordinary call will say so.
  return scope.agree(taken);
}

// Looks a while for a place where there is a message. Called by those who look.
template <bool AllBells, class Scope>
DCGN_HOST_DEVICE int await_place(const Scope& scope, const Endpoint& me) {
  const Search search = Search::of(scope, me);
  int place = -1;
  spin(quick_looks / 2, [&] {
    place = find_place<AllBells>(scope, me, search);
    return place >= 0;
  });
  return place;
}

// The same where a place may have no bell, by one function: who waits here does not wait for nanoseconds.
template <class Scope>
[[gnu::noinline]] DCGN_HOST_DEVICE int await_any_place(const Scope& scope, const Endpoint& me) {
  return await_place<false>(scope, me);
}

// Any message, from anybody.
template <class Scope>
[[gnu::noinline]] DCGN_HOST_DEVICE bool quick_receive(const Scope& scope, Endpoint& me, void* data,
                                                      std::uint64_t capacity, int from, int tag, std::uint32_t context,
                                                      Status& status) {
  int place = -1;
  Arrival plan;
  plan.lane = from == any_source ? -1 : from - me.first;
  const bool begun = !scope.looks() || begin_quick(me);
  const bool able = begun && !me.open;
  if (from == any_source) {
    if (scope.looks() && able) place = await_any_place(scope, me);
    if (place >= 0) plan.lane = lane_at(me, place);
  }
  Reservation& found = plan.message.place;
  if (scope.leader() && able && plan.lane >= 0 && plan.lane < me.near) {
    InLane& lane = me.in[plan.lane];
    if (!await_message(lane, plan.message) ||
        !begin_quick_take(me, lane, plan.message.header, capacity, tag, context, scope.size()))
      found = {};
    plan.credit_due = found.position + found.all - lane.returned >= lane.batch;
  }
  if (scope.leader() && begun && !found.all) end_quick(me);
  plan = scope.publish(plan);
  if (!found.all || !quick_take(scope, me, me.in[plan.lane], plan, data, place)) return false;
  const Header& h = plan.message.header;
  status = {me.first + plan.lane, h.tag, static_cast<std::int64_t>(h.bytes), Code::ok};
  return true;
}

// The same for a message that is in the lane whole, within a block.
template <class Scope>
DCGN_HOST_DEVICE bool receive_cells_of_any(const Scope& scope, const Port& port, void* data, std::uint64_t capacity,
                                           int tag, std::uint32_t context, Status& status) {
  Endpoint& me = *port.me;
  int place = -1;
  if (scope.looks() && !Hindrance::of(me).receiving)
    place = has_all_bells(me) ? await_place<true>(scope, me) : await_any_place(scope, me);
  if constexpr (!Scope::in_warp) place = scope.publish(place);  // the lanes of a warp know it
  const int lane = place < 0 ? port.near : lane_at(me, place);
  if (lane == port.near) {
    scope.sync();  // before anything else is published
    return false;
  }
  const int from = port.first + lane;
  bool taken = false;
  if constexpr (Scope::in_warp) taken = receive_cell(scope, port, data, capacity, from, tag, context, status);
  if (!taken && !receive_cells(scope, port, data, capacity, from, tag, context, status)) return false;
  if (scope.leader()) note_taken(me, place);
  scope.sync();
  return true;
}

}  // namespace dcgn::message
