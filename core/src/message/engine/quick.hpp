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

// What the planner of a send found: how many cells it takes, 0 where it is not for a quick call, and where they go.
struct Departure {
  std::uint32_t all, tail;
};

DCGN_HOST_DEVICE inline Departure plan_send(Endpoint& me, OutLane& lane, std::uint32_t threads, std::uint64_t bytes,
                                            int tag, std::uint32_t context) {
  if (has_ended(me, lane) || !begin_quick(me)) return {0, 0};
  const std::uint32_t tail = lane.tail(),
                      all = fits_small(context, tag, bytes) ? 1 : message_cells(tail, payload_cells(bytes));
  if (bytes <= eager_limit(lane, threads) && !lane.first && has_room(lane, all)) return {all, tail};
  end_quick(me);
  return {0, 0};
}

// Any eager message.
template <class Scope>
[[gnu::noinline]] DCGN_HOST_DEVICE bool quick_send_eager(const Scope& scope, Endpoint& me, OutLane& lane,
                                                         const void* data, std::uint64_t bytes, int tag,
                                                         std::uint32_t context) {
  Departure plan{0, 0};
  if (scope.leader()) plan = plan_send(me, lane, scope.size(), bytes, tag, context);
  plan = scope.publish(plan);  // and what the threads wrote to the buffer is visible to all of them
  if (!plan.all) return false;
  const Ring ring = lane.ring;
  const bool small = fits_small(context, tag, bytes);
  if (scope.leader()) {
    const bool release = me.without & without_relaxed;
    if (small) {
      const std::uint64_t payload = load_small(data, bytes);
      write_cell(ring.at(plan.tail), static_cast<std::uint32_t>(payload), static_cast<std::uint32_t>(payload >> 32),
                 small_word(context, tag, bytes), ring.epoch(plan.tail), release);
    } else {
      write_cell(ring.at(plan.tail), static_cast<std::uint32_t>(tag), static_cast<std::uint32_t>(bytes),
                 static_cast<std::uint32_t>(Kind::eager) | context << 16, ring.epoch(plan.tail), release);
    }
    put(lane, plan.all);
    ++lane.quick_messages;
    lane.quick_bytes += bytes;
  }
  if (const std::uint32_t cells = small ? 0 : payload_cells(bytes))
    push_cells(scope, Payload(ring, payload_begin(plan.tail, cells), cells, bytes),
               static_cast<const unsigned char*>(data));
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

// What the planner of a receive found: a message and where it is. 0 steps: nothing for a quick call.
struct Arrival {
  Kind kind = Kind::small;
  std::uint32_t steps = 0;  // 1: it can be taken; 2: and credit is due then
  std::int32_t lane = 0;
  std::int32_t tag = 0;
  std::uint32_t head = 0;
  std::uint32_t ack = 0;
  std::uint64_t bytes = 0;
  std::uint64_t address = 0;  // of a pull; the payload of a small message
};

// Completes the plan once the first cell is here.
DCGN_HOST_DEVICE inline void judge(Arrival& a, const Endpoint& me, InLane& lane, const std::uint32_t (&d)[3],
                                   std::uint64_t capacity, int tag, std::uint32_t context, std::uint32_t threads) {
  Header h = decode(d);
  if ((tag != any_tag && tag != h.tag) || h.context != context) return;
  const std::uint32_t head = lane.head();
  std::uint32_t cells = header_cells(h.kind);
  switch (h.kind) {
    case Kind::small: break;
    case Kind::eager: cells = message_cells(head, payload_cells(h.bytes)); break;
    case Kind::pull:
      // What a copy engine or the system should fetch or the sender store is none of a quick call's business.
      if (!read_rest(lane.ring, head, h) || !h.readable || lane.process ||
          h.bytes >= copy_engine_limit(lane, threads, true) || (h.placeable && is_placed(me, threads, h.bytes)))
        return;
      break;
    case Kind::offer:
    case Kind::data:
    case Kind::placed: return;
  }
  if (h.bytes > capacity || (h.kind == Kind::pull && !begin_pull(lane, h.ack))) return;
  a.kind = h.kind;
  a.steps = head + cells - lane.returned >= lane.batch ? 2 : 1;
  a.tag = h.tag;
  a.head = head;
  a.ack = h.ack;
  a.bytes = h.bytes;
  a.address = h.address;
}

// The message has been planned for; all threads take it.
template <class Scope>
[[gnu::noinline]] DCGN_HOST_DEVICE bool quick_take(const Scope& scope, Endpoint& me, InLane& lane, const Arrival& plan,
                                                   void* data, int place) {
  const std::uint32_t payload = plan.kind == Kind::eager ? payload_cells(plan.bytes) : 0;
  const std::uint32_t begin = payload_begin(plan.head, payload);
  if (scope.leader()) {
    if (plan.kind == Kind::small) store_small(data, plan.bytes, plan.address);
    if (place >= 0) me.next_place = place_after(me, place);
    lane.advance(payload ? begin + payload - plan.head : header_cells(plan.kind));
    ++lane.quick_messages;
    lane.quick_bytes += plan.bytes;
  }
  bool taken = true;
  if (payload)
    taken =
        take_cells(scope, *me.phase, Payload(lane.ring, begin, payload, plan.bytes), static_cast<unsigned char*>(data));
  if (plan.kind == Kind::pull) {
    copy_bytes(scope, static_cast<unsigned char*>(data), reinterpret_cast<const unsigned char*>(plan.address),
               plan.bytes);
    if (scope.leader()) {
      if (plan.steps == 2) return_credit(lane);
      end_quick(me);
    }
    scope.sync();                                                 // all have read their share
    if (scope.leader()) acknowledge(lane, plan.ack, ack_pulled);  // is no business of the rank's any more
    return !scope.broken();
  }
  if (plan.steps == 2) {
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
  for (std::uint32_t looks = 0; looks < quick_looks / 2; ++looks) {
    if (const int place = find_place<AllBells>(scope, me, search); place >= 0) return place;
    relax_briefly();
  }
  return -1;
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
  if (scope.leader() && able && plan.lane >= 0 && plan.lane < me.near) {
    InLane& lane = me.in[plan.lane];
    const std::uint32_t head = lane.head();
    std::uint32_t d[3];
    if (await_first(lane.ring.at(head), lane.ring.epoch(head), d))
      judge(plan, me, lane, d, capacity, tag, context, scope.size());
  }
  if (scope.leader() && begun && !plan.steps) end_quick(me);
  plan = scope.publish(plan);
  if (!plan.steps || !quick_take(scope, me, me.in[plan.lane], plan, data, place)) return false;
  status = {me.first + plan.lane, plan.tag, static_cast<std::int64_t>(plan.bytes), Code::ok};
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
