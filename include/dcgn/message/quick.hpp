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

// Whether the rank that is sent to has ended. A GPU finds out when it has to wait: the word is not cheap for it to
// read.
DCGN_HOST_DEVICE inline bool has_ended([[maybe_unused]] const Endpoint& me, [[maybe_unused]] int rank) {
#if defined(__CUDA_ARCH__)
  return false;
#else
  return load_acquire(me.ended[rank]) != 0;
#endif
}

// Whether a quick call may go on. On a GPU it only looks at the flag.
DCGN_HOST_DEVICE inline bool begin_quick(Endpoint& me) {
#if defined(__CUDA_ARCH__)
  return !(me.busy | me.stopped | (me.without & without_quick));
#else
  if ((me.without & without_quick) || !take_flag(me.busy)) return false;
  if (!me.stopped && !aborted(me)) return true;
  give_flag(me.busy);
  return false;
#endif
}

DCGN_HOST_DEVICE inline void end_quick([[maybe_unused]] Endpoint& me) {
#if !defined(__CUDA_ARCH__)
  give_flag(me.busy);
#endif
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

// What the planner of a send found: how many cells it takes, 0 where it is not for a quick call, and where they go.
struct Departure {
  std::uint32_t cells, tail;
};

template <class Scope>
DCGN_HOST_DEVICE Departure plan_send(const Scope& scope, Endpoint& me, OutLane& lane, std::uint64_t bytes, int tag,
                                     std::uint32_t context) {
  if (has_ended(me, static_cast<int>(&lane - me.out)) || !begin_quick(me)) return {0, 0};
  const std::uint32_t cells = fits_small(context, tag, bytes) ? 1 : 1 + payload_cells(bytes);
  bool good = bytes <= eager_limit(lane, scope.size()) && !lane.first;
  if (good && lane.ring.size() - (lane.tail - lane.taken) < cells) {
    const std::uint32_t taken = scope.share_plan(load_acquire(lane.credit->taken));
    good = lane.ring.size() - (lane.tail - taken) >= cells;
    if (scope.leader()) lane.taken = taken;
  }
  if (good) return {cells, lane.tail};
  end_quick(me);
  return {0, 0};
}

// Any eager message.
template <class Scope>
[[gnu::noinline]] DCGN_HOST_DEVICE bool quick_send_eager(const Scope& scope, Endpoint& me, OutLane& lane,
                                                         const void* data, std::uint64_t bytes, int tag,
                                                         std::uint32_t context) {
  Departure plan{0, 0};
  if (scope.plans()) plan = plan_send(scope, me, lane, bytes, tag, context);
  plan = scope.publish(plan);  // and what the threads wrote to the buffer is visible to all of them
  if (!plan.cells) return false;
  const Ring ring = lane.ring;
  if (scope.leader()) {
    const bool release = me.without & without_relaxed;
    if (fits_small(context, tag, bytes)) {
      const std::uint64_t payload = load_small(data, bytes);
      write_cell(ring.at(plan.tail), static_cast<std::uint32_t>(payload), static_cast<std::uint32_t>(payload >> 32),
                 small_word(context, tag, bytes), ring.epoch(plan.tail), release);
    } else {
      write_cell(ring.at(plan.tail), static_cast<std::uint32_t>(tag), static_cast<std::uint32_t>(bytes),
                 static_cast<std::uint32_t>(Kind::eager) | context << 16, ring.epoch(plan.tail), release);
    }
    lane.tail = plan.tail + plan.cells;
    lane.settle();
    ++lane.quick_messages;
    lane.quick_bytes += bytes;
  }
  if (plan.cells > 1)
    push_cells(scope, Payload(ring, plan.tail + 1, plan.cells - 1, bytes), static_cast<const unsigned char*>(data));
  if (scope.leader()) {
    if (lane.bell) store_relaxed(*lane.bell, plan.tail + plan.cells);
    end_quick(me);
  }
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
[[gnu::noinline]] DCGN_HOST_DEVICE inline Announced announce(Endpoint& me, const void* data, std::uint64_t bytes,
                                                             int to, int tag, std::uint32_t context) {
  OutLane& lane = me.out[to];
  if (has_ended(me, to) || !begin_quick(me)) return {};
  Header h;
  if (lane.first || lane.reach != Reach::direct || !reachable(data) || !has_room(lane, header_cells(Kind::pull)) ||
      (!me.free_records && me.records_used == me.record_capacity) || !take_ack(me, h.ack)) {
    end_quick(me);
    return {};
  }
  h.kind = Kind::pull;
  h.readable = true;
  h.context = context;
  h.tag = tag;
  h.bytes = bytes;
  h.address = reinterpret_cast<std::uintptr_t>(data);
  std::uint64_t& word = lane.acks[ack_index(h.ack)];
#if !defined(__CUDA_ARCH__)
  store_relaxed(word, ack_word(h.ack, ack_none));  // for begin_pull
#endif
  write_header(lane.ring, lane.tail, h);
  lane.tail += header_cells(h.kind);
  ring_bell(lane);
  ++lane.sent;
  Announced result;
  result.state = Announced::State::pending;
  for (std::uint32_t looks = 0; looks < quick_looks && result.state == Announced::State::pending; ++looks) {
    if (ack_answer(h.ack, load_answer(word)) == ack_pulled)
      result.state = Announced::State::received;
    else
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

// Above the eager threshold. The header says where the message is; the leader waits for the answer.
template <class Scope>
DCGN_HOST_DEVICE Announced quick_announce(const Scope& scope, Endpoint& me, const void* data, std::uint64_t bytes,
                                          int to, int tag, std::uint32_t context) {
  return scope.lead([&] { return announce(me, data, bytes, to, tag, context); });
}

template <class Scope>
DCGN_HOST_DEVICE bool quick_send(const Scope& scope, const Port& port, const void* data, std::uint64_t bytes, int to,
                                 int tag, std::uint32_t context) {
  OutLane& lane = port.out[to];
#if defined(__CUDA_ARCH__)
  // A lone warp takes about four cycles for an instruction, whatever it does: so this is as few as can be.
  if constexpr (Scope::in_warp) {
    if (static_cast<std::uint32_t>(tag) < 65536 & bytes <= small_bytes) {
      Cell* const cell = lane.next;
      const std::uint32_t epoch = lane.epoch, room = lane.room;
      const std::uint32_t hindrance = port.me->busy | port.me->stopped | (port.me->without & without_relaxed);
      scope.sync();
      if (!hindrance & room != 0) {
        if (scope.leader()) {
          const std::uint64_t payload = load_small(data, bytes);
          write_cell(*cell, static_cast<std::uint32_t>(payload), static_cast<std::uint32_t>(payload >> 32),
                     small_word(context, tag, static_cast<std::uint32_t>(bytes)), epoch);
          const std::uint32_t tail = lane.tail + 1;
          if (lane.bell) store_relaxed(*lane.bell, tail);
          const bool wraps = cell + 1 == lane.ring.cells + lane.ring.size();
          lane.next = wraps ? lane.ring.cells : cell + 1;
          lane.epoch = epoch + wraps;
          lane.room = room - 1;
          lane.tail = tail;
          ++lane.quick_messages;
          lane.quick_bytes += bytes;
        }
        scope.sync();
        return true;
      }
    }
  }
#endif
  return quick_send_eager(scope, *port.me, lane, data, bytes, tag, context);
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

// What the planner of a receive found: a message and where it is. 0 steps: nothing for a quick call.
struct Arrival {
  Kind kind = Kind::small;
  std::uint32_t steps = 0;  // 1: it can be taken; 2: and credit is due then
  std::int32_t from = any_source;
  std::int32_t tag = 0;
  std::uint32_t head = 0;
  std::uint32_t ack = 0;
  std::uint64_t bytes = 0;
  std::uint64_t address = 0;  // of a pull; the payload of a small message
};

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

// Completes the plan once the first cell is here.
DCGN_HOST_DEVICE inline void judge(Arrival& a, InLane& lane, const std::uint32_t (&d)[3], std::uint64_t capacity,
                                   int tag, std::uint32_t context) {
  Header h = decode(d);
  if ((tag != any_tag && tag != h.tag) || h.context != context) return;
  std::uint32_t cells = header_cells(h.kind);
  switch (h.kind) {
    case Kind::small: break;
    case Kind::eager: cells += payload_cells(h.bytes); break;
    case Kind::pull:
      if (!read_rest(lane.ring, lane.head, h) || !h.readable) return;
      break;
    case Kind::offer:
    case Kind::data: return;
  }
  if (h.bytes > capacity || (h.kind == Kind::pull && !begin_pull(lane, h.ack))) return;
  a.kind = h.kind;
  a.steps = lane.head + cells - lane.returned >= lane.batch ? 2 : 1;
  a.tag = h.tag;
  a.head = lane.head;
  a.ack = h.ack;
  a.bytes = h.bytes;
  a.address = h.address;
}

// The message has been planned for; all threads take it.
template <class Scope>
[[gnu::noinline]] DCGN_HOST_DEVICE bool quick_take(const Scope& scope, Endpoint& me, InLane& lane, const Arrival& plan,
                                                   void* data, int place) {
  const std::uint32_t payload = plan.kind == Kind::eager ? payload_cells(plan.bytes) : 0;
  if (scope.leader()) {
    if (plan.kind == Kind::small) store_small(data, plan.bytes, plan.address);
    if (place >= 0) me.next_place = place_after(me, place);
    lane.head = plan.head + header_cells(plan.kind) + payload;
    if (lane.seen) *lane.seen = lane.head;
    lane.settle();
    ++lane.quick_messages;
    lane.quick_bytes += plan.bytes;
  }
  bool taken = true;
  if (payload)
    taken = take_cells(scope, *me.phase, Payload(lane.ring, plan.head + 1, payload, plan.bytes),
                       static_cast<unsigned char*>(data));
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

// Any message, from anybody.
template <class Scope>
[[gnu::noinline]] DCGN_HOST_DEVICE bool quick_receive_any(const Scope& scope, Endpoint& me, void* data,
                                                          std::uint64_t capacity, int from, int tag,
                                                          std::uint32_t context, Status& status) {
  int place = -1;
  Arrival plan;
  plan.from = from;
  const bool begun = !scope.looks() || begin_quick(me);
  const bool able = begun && !me.open;
  if (from == any_source) {
    if (scope.looks() && able)
      for (std::uint32_t looks = 0; (place = find_place(scope, me)) < 0 && looks < quick_looks / 4; ++looks)
        relax_briefly();
    if (place >= 0) plan.from = source_at(me, place);
  }
  if (scope.plans() && able && plan.from >= 0) {
    InLane& lane = me.in[plan.from];
    std::uint32_t d[3];
    if (await_first(*lane.next, lane.epoch, d)) judge(plan, lane, d, capacity, tag, context);
  }
  if (scope.plans() && begun && !plan.steps) end_quick(me);
  plan = scope.publish(plan);
  // The lanes of a GPU's warp each looked for themselves: one may have seen the last cell of a header before another.
  if constexpr (Scope::in_warp)
    if (!scope.agree(plan.steps != 0)) return false;
  if (!plan.steps || !quick_take(scope, me, me.in[plan.from], plan, data, place)) return false;
  status = {plan.from, plan.tag, static_cast<std::int64_t>(plan.bytes), Code::ok};
  return true;
}

template <class Scope>
DCGN_HOST_DEVICE bool quick_receive(const Scope& scope, const Port& port, void* data, std::uint64_t capacity, int from,
                                    int tag, std::uint32_t context, Status& status) {
#if defined(__CUDA_ARCH__)
  // As few instructions as can be between a message's arrival and the caller's next step: what can be known before is.
  if constexpr (Scope::in_warp) {
    const Endpoint& me = *port.me;
    if (from != any_source && !(me.busy | me.stopped | me.open | (me.without & without_quick))) {
      InLane& lane = port.in[from];
      const Cell* const cell = lane.next;
      const std::uint32_t epoch = lane.epoch, due = lane.due, head = lane.head + 1;
      const bool wraps = cell + 1 == lane.ring.cells + lane.ring.size();
      const Cell* const next = wraps ? lane.ring.cells : cell + 1;
      const std::uint64_t messages = lane.quick_messages + 1, sum = lane.quick_bytes;
      std::uint32_t* const seen = lane.seen;
      // What the header's word must be, its bytes and perhaps its tag apart. Nothing is, where credit is due.
      const std::uint32_t mask = tag == any_tag ? 0x0000ff87 : 0xffffff87;
      const std::uint32_t word = due > 1 ? small_word(context, tag, 0) & mask : 7;
      std::uint32_t d[3];
      const bool found = scope.agree(await_first(*cell, epoch, d));
      const std::uint32_t bytes = d[2] >> 3 & 15;
      if (found & (d[2] & mask) == word & bytes <= capacity) {
        if (scope.leader()) {
          store_small(data, bytes, d[0] | static_cast<std::uint64_t>(d[1]) << 32);
          lane.next = next;
          lane.epoch = epoch + wraps;
          lane.due = due - 1;
          lane.head = head;
          lane.quick_messages = messages;
          lane.quick_bytes = sum + bytes;
          if (seen) *seen = head;
        }
        status = {from, static_cast<int>(d[2] >> 16), bytes, Code::ok};
        scope.sync();
        return true;
      }
      if (!found) return false;
    }
  }
#endif
  return quick_receive_any(scope, *port.me, data, capacity, from, tag, context, status);
}

}  // namespace dcgn::message
