// Quick calls of a thread, a warp or a block of a GPU, for what a lane carries (quick.hpp says what a quick call is).
//
// Every thread finds out by itself what there is to do, from the rank's state as it stands between calls and from the
// cells of the message: so nobody waits to be told. A lone warp takes about five cycles for an instruction, and twelve
// for a branch: these are as few as can be.
//
// The fibers of an emulated GPU, which take turns, are better told. With DCGN_EMULATE_IN_BLOCK defined its slots call
// as a GPU's do, so that these calls can be tested under schedules and sanitizers.
#pragma once

#include <dcgn/gpu/scope.hpp>
#include <dcgn/message/endpoint.hpp>
#include <dcgn/message/progress.hpp>
#include <dcgn/message/work.hpp>
#include <dcgn/status.hpp>

#include <cstdint>
#include <cstring>

namespace dcgn::message {

using dcgn::detail::decides_in_block;

// Whether this rank's calls are those of a GPU.
DCGN_HOST_DEVICE inline bool calls_in_block([[maybe_unused]] const Endpoint& me) {
#if defined(__CUDA_ARCH__)
  return true;
#else
  return decides_in_block && me.slot >= 0;
#endif
}

// 16 bytes of a rank's own memory at once.
struct TwoWords {
  std::uint64_t first, second;
};

DCGN_HOST_DEVICE inline TwoWords load_two(const void* from) {
  TwoWords words;
#if defined(__CUDA_ARCH__)
  asm volatile("ld.global.v2.b64 {%0,%1},[%2];"
               : "=l"(words.first), "=l"(words.second)
               : "l"(__cvta_generic_to_global(from))
               : "memory");
#else
  memcpy(&words, from, sizeof words);
#endif
  return words;
}

DCGN_HOST_DEVICE inline void store_two(void* to, TwoWords words) {
#if defined(__CUDA_ARCH__)
  asm volatile("st.global.v2.b64 [%0],{%1,%2};" ::"l"(__cvta_generic_to_global(to)), "l"(words.first), "l"(words.second)
               : "memory");
#else
  memcpy(to, &words, sizeof words);
#endif
}

// Where a lane stands: its next cell, that cell's epoch, and for how many cells in a row a quick call may go on.
struct Stand {
  Cell* cell;
  std::uint32_t epoch, row;

  template <class Lane>
  DCGN_HOST_DEVICE static Stand of(const Lane& lane) {
    const TwoWords words = load_two(&lane.next);
    return {reinterpret_cast<Cell*>(words.first), static_cast<std::uint32_t>(words.second),
            static_cast<std::uint32_t>(words.second >> 32)};
  }
  // The same, so many cells further.
  template <class Lane>
  DCGN_HOST_DEVICE void step(Lane& lane, std::uint32_t cells) const {
    store_two(&lane.next,
              {reinterpret_cast<std::uintptr_t>(cell + cells), epoch | static_cast<std::uint64_t>(row - cells) << 32});
  }
  // A message of so many cells has passed.
  template <class Lane>
  DCGN_HOST_DEVICE void pass(Lane& lane, std::uint32_t cells, std::uint64_t bytes) const {
    if (cells <= row) {
      step(lane, cells);
      lane.settled += cells - 1;  // it counts as one
    } else {
      lane.advance(cells);
      ++lane.quick_messages;
    }
    lane.quick_bytes += bytes;
  }
};

// What keeps a rank from quick calls: not 0 where anything does.
struct Hindrance {
  std::uint32_t sending, receiving;

  DCGN_HOST_DEVICE static Hindrance of(const Endpoint& me) {
    static_assert(offsetof(Endpoint, without) == offsetof(Endpoint, busy) + 12);
    const TwoWords words = load_two(&me.busy);  // busy, stopped; open, without
    const auto closed = static_cast<std::uint32_t>(words.first | words.first >> 32);
    const auto open = static_cast<std::uint32_t>(words.second),
               without = static_cast<std::uint32_t>(words.second >> 32);
    return {closed | (without & (without_quick | without_relaxed)), closed | open | (without & without_quick)};
  }
};

// Stores that are made where `due` says so, without a branch.
DCGN_HOST_DEVICE inline void write_cell_if(bool due, Cell* cell, std::uint64_t low, std::uint64_t high) {
#if defined(__CUDA_ARCH__)
  asm volatile(
      "{.reg .pred p; .reg .b128 c; setp.ne.u32 p,%3,0; mov.b128 c,{%1,%2}; @p st.relaxed.sys.global.b128 [%0],c;}" ::
          "l"(__cvta_generic_to_global(cell)),
      "l"(low), "l"(high), "r"(static_cast<std::uint32_t>(due))
      : "memory");
#else
  if (due)
    write_cell(*cell, static_cast<std::uint32_t>(low), static_cast<std::uint32_t>(low >> 32),
               static_cast<std::uint32_t>(high), static_cast<std::uint32_t>(high >> 32));
#endif
}
DCGN_HOST_DEVICE inline void store_two_if(bool due, void* to, std::uint64_t first, std::uint64_t second) {
#if defined(__CUDA_ARCH__)
  asm volatile(
      "{.reg .pred p; setp.ne.u32 p,%3,0; @p st.global.v2.b64 [%0],{%1,%2};}" ::"l"(__cvta_generic_to_global(to)),
      "l"(first), "l"(second), "r"(static_cast<std::uint32_t>(due))
      : "memory");
#else
  if (due) store_two(to, {first, second});
#endif
}
DCGN_HOST_DEVICE inline void store_if(bool due, std::uint64_t* to, std::uint64_t value) {
#if defined(__CUDA_ARCH__)
  asm volatile("{.reg .pred p; setp.ne.u32 p,%2,0; @p st.global.b64 [%0],%1;}" ::"l"(__cvta_generic_to_global(to)),
               "l"(value), "r"(static_cast<std::uint32_t>(due))
               : "memory");
#else
  if (due) *to = value;
#endif
}

// What the quickest calls take: nothing, a word or two in one piece.
DCGN_HOST_DEVICE inline bool is_plain(const void* data, std::uint64_t bytes) {
  const auto address = reinterpret_cast<std::uintptr_t>(data);
  return bytes == 0 || ((bytes == 4 || bytes == 8) && (address & (bytes - 1)) == 0 && address != 0);
}
DCGN_HOST_DEVICE inline std::uint64_t load_plain(bool due, const void* data, std::uint64_t bytes) {
#if defined(__CUDA_ARCH__)
  std::uint64_t value;
  asm volatile(
      "{.reg .pred p, q; .reg .b32 w; setp.ne.u32 p,%2,0; setp.ne.u32 q,%3,0; mov.b64 %0,0;"
      "@p ld.b64 %0,[%1]; mov.b32 w,0; @q ld.b32 w,[%1]; @q cvt.u64.u32 %0,w;}"
      : "=&l"(value)
      : "l"(data), "r"(static_cast<std::uint32_t>(due && bytes == 8)),
        "r"(static_cast<std::uint32_t>(due && bytes == 4))
      : "memory");
  return value;
#else
  return due ? load_small(data, bytes) : 0;
#endif
}
DCGN_HOST_DEVICE inline void store_plain(bool due, void* data, std::uint64_t bytes, std::uint64_t value) {
#if defined(__CUDA_ARCH__)
  asm volatile(
      "{.reg .pred p, q; setp.ne.u32 p,%2,0; setp.ne.u32 q,%3,0; @p st.b64 [%0],%1; @q st.b32 [%0],%4;}" ::"l"(data),
      "l"(value), "r"(static_cast<std::uint32_t>(due && bytes == 8)),
      "r"(static_cast<std::uint32_t>(due && bytes == 4)), "r"(static_cast<std::uint32_t>(value))
      : "memory");
#else
  if (due) store_small(data, bytes, value);
#endif
}

// A message of one cell. One decision, and stores that depend on it.
template <class Scope>
DCGN_HOST_DEVICE bool send_cell(const Scope& scope, const Port& port, const void* data, std::uint64_t bytes, int to,
                                int tag, std::uint32_t context) {
  const bool known = static_cast<std::uint32_t>(to) < static_cast<std::uint32_t>(port.size),
             plain = is_plain(data, bytes);
  OutLane& lane = port.out[known ? to : 0];
  scope.sync();  // what the threads wrote to the buffer is visible to all of them
  const std::uint64_t payload = load_plain(plain & scope.leader(), data, bytes);
  const Stand now = Stand::of(lane);
  const std::uint32_t hindrance = Hindrance::of(*port.me).sending;
  std::uint32_t* const bell = lane.bell;
  const std::uint64_t sum = lane.quick_bytes + bytes;
  const bool good = known & (static_cast<std::uint32_t>(tag) < 65536) & plain & (hindrance == 0) & (now.row != 0);
  scope.sync();  // all have seen how things stand
  const bool mine = good & scope.leader();
  write_cell_if(mine, now.cell, payload, small_word(context, tag, bytes) | static_cast<std::uint64_t>(now.epoch) << 32);
  store_two_if(mine, &lane.next, reinterpret_cast<std::uintptr_t>(now.cell + 1),
               now.epoch | static_cast<std::uint64_t>(now.row - 1) << 32);
  store_if(mine, &lane.quick_bytes, sum);
  if (mine && bell) store_relaxed(*bell, lane.ring.position(now.cell + 1, now.epoch));
  scope.sync();
  return good;
}

// A message of one cell that fills the buffer.
template <class Scope>
DCGN_HOST_DEVICE bool receive_cell(const Scope& scope, const Port& port, void* data, std::uint64_t capacity, int from,
                                   int tag, std::uint32_t context, Status& status) {
  const bool known = static_cast<std::uint32_t>(from) < static_cast<std::uint32_t>(port.size);
  InLane& lane = port.in[known ? from : 0];
  const Stand now = Stand::of(lane);
  const std::uint32_t hindrance = Hindrance::of(*port.me).receiving;
  const std::uint64_t sum = lane.quick_bytes + capacity;
  const bool any = tag == any_tag;
  const bool good = known & (any | (static_cast<std::uint32_t>(tag) < 65536)) & is_plain(data, capacity) &
                    (hindrance == 0) & (now.row != 0);  // credit is due where there is no row
  // What the last word must be, perhaps its tag apart.
  const std::uint32_t mask = any ? 0xffff : 0xffffffff, word = small_word(context, tag, capacity) & mask;
  std::uint32_t d[3]{};
  const bool found = scope.agree(good && await_first(*now.cell, now.epoch, d));
  const bool wanted = found & ((d[2] & mask) == word), mine = wanted & scope.leader();
  store_plain(mine, data, capacity, d[0] | static_cast<std::uint64_t>(d[1]) << 32);
  store_two_if(mine, &lane.next, reinterpret_cast<std::uintptr_t>(now.cell + 1),
               now.epoch | static_cast<std::uint64_t>(now.row - 1) << 32);
  store_if(mine, &lane.quick_bytes, sum);
  status = {from, static_cast<int>(d[2] >> 16), static_cast<std::int64_t>(capacity), Code::ok};
  scope.sync();
  return wanted;
}

// Whether all of a payload is whole words that can be read and written where they lie.
DCGN_HOST_DEVICE inline bool is_words(const void* data, std::uint64_t bytes) {
  return ((reinterpret_cast<std::uintptr_t>(data) | bytes) & 3) == 0;
}

// An eager message of whole words.
template <class Scope>
DCGN_HOST_DEVICE bool send_words(const Scope& scope, const Port& port, const void* data, std::uint64_t bytes, int to,
                                 int tag, std::uint32_t context) {
  OutLane& lane = port.out[to];
  const Stand now = Stand::of(lane);
  const std::uint32_t hindrance = Hindrance::of(*port.me).sending | lane.queued, taken = lane.taken;
  const Ring ring = lane.ring;
  const std::uint32_t tail = ring.position(now.cell, now.epoch), cells = payload_cells(bytes);
  scope.sync();  // and what the threads wrote to the buffer is visible to all of them
  if (!is_words(data, bytes) | (hindrance != 0) | (cells == 0) | ((cells > scope.size()) & (scope.size() % 32 != 0)))
    return false;
  if (ring.size() - (tail - taken) <= cells) {
    const std::uint32_t news = load_credit(*lane.credit);
    if (!scope.agree(ring.size() - (tail - news) > cells)) return false;
    if (scope.leader()) lane.taken = news;
  }
  if (scope.leader()) {
    write_cell(ring.at(tail), static_cast<std::uint32_t>(tag), static_cast<std::uint32_t>(bytes),
               static_cast<std::uint32_t>(Kind::eager) | context << 16, ring.epoch(tail));
    now.pass(lane, 1 + cells, bytes);
    if (lane.bell) store_relaxed(*lane.bell, tail + 1 + cells);
  }
  const Payload p(ring, tail + 1, cells, bytes);
  const auto* const from = static_cast<const unsigned char*>(data);
  if (cells <= scope.size())
    push_words<1>(p, from, 0, turn_of(scope), scope.size());
  else
    push_groups<cells_at_once>(p, from, 0, turn_of(scope), scope.size());
  scope.sync();  // the buffer is the caller's again
  return true;
}

// An eager message of whole words.
template <class Scope>
DCGN_HOST_DEVICE bool receive_words(const Scope& scope, const Port& port, void* data, std::uint64_t capacity, int from,
                                    int tag, std::uint32_t context, Status& status) {
  const Endpoint& me = *port.me;
  InLane& lane = port.in[from];
  const Stand now = Stand::of(lane);
  const std::uint32_t hindrance = Hindrance::of(me).receiving, limit = lane.returned + lane.batch;
  const Ring ring = lane.ring;
  const std::uint32_t turn = turn_of(scope), stride = scope.size();
  const std::uint32_t head = ring.position(now.cell, now.epoch), own = head + 1 + turn;
  const Cell &header_cell = ring.at(head), &own_cell = ring.at(own);
  const std::uint32_t header_epoch = ring.epoch(head), own_epoch = ring.epoch(own);
  auto* const to = static_cast<unsigned char*>(data);
  scope.sync();
  if (!is_words(data, 0) | (hindrance != 0)) return false;
  // Each thread looks at the header and at the first cell that it would take of a payload.
  std::uint32_t d[3]{}, mine[3]{}, looks = 0;
  bool found, here;
  for (;;) {
    here = read_cell(own_cell, own_epoch, mine);
    found = read_cell(header_cell, header_epoch, d);
    if (found || ++looks == quick_looks) break;
    relax_briefly();
  }
  const std::uint32_t bytes = d[1], cells = payload_cells(bytes);
  const bool wanted = found & (d[2] == (static_cast<std::uint32_t>(Kind::eager) | context << 16)) &
                      ((tag == any_tag) | (static_cast<std::uint32_t>(tag) == d[0])) & (bytes % 4 == 0) &
                      (bytes <= capacity) & ((cells <= stride) | (stride % 32 == 0));
  bool taken = wanted;
  if (wanted && turn < cells) {
    const Payload p(ring, head + 1, cells, bytes);
    if (cells > stride) {
      taken = take_groups<cells_at_once>(p, *me.phase, to, turn, stride);
    } else {
      taken = here || await_cell(ring, own, mine, *me.phase);
      store_words(p, to, turn, mine);
    }
  }
  if (wanted && scope.leader()) now.pass(lane, 1 + cells, bytes);
  if (!scope.agree(taken)) {
    // Somebody has waited long enough, or found the job aborted: another call begins anew.
    if (wanted && scope.leader()) {
      lane.advance(0u - (1 + cells));
      --lane.quick_messages;
      lane.quick_bytes -= bytes;
    }
    scope.sync();
    return false;
  }
  if (static_cast<std::int32_t>(head + 1 + cells - limit) >= 0) {
    if (scope.leader()) return_credit(lane);
    scope.sync();
  }
  status = {from, static_cast<int>(d[0]), static_cast<std::int64_t>(bytes), Code::ok};
  return true;
}

// A message of one cell from whoever has sent, in a world of few ranks: every thread looks at lanes of its own, all of
// them in one go. The first one after the last that was received from comes first.
template <class Scope>
DCGN_HOST_DEVICE bool receive_cell_of_few(const Scope& scope, const Port& port, void* data, std::uint32_t capacity,
                                          int tag, std::uint32_t context, Status& status) {
  constexpr int each = Scope::single ? few_ranks : 1;
  Endpoint& me = *port.me;
  if (!is_plain(data, capacity) | (Hindrance::of(me).receiving != 0) |
      (port.size > each * static_cast<int>(scope.size())))
    return false;
  const int next = me.next_place, start = next < port.size ? next : 0, mine = each * static_cast<int>(scope.rank());
  const auto place = [&](int i) { return start + i < port.size ? start + i : start + i - port.size; };
  const Cell* cells[each];
  std::uint32_t epochs[each];
  for (int k = 0; k < each; ++k) {
    const InLane& lane = port.in[mine + k < port.size ? place(mine + k) : 0];
    const Stand stand = Stand::of(lane);
    cells[k] = stand.cell;
    epochs[k] = stand.epoch;
    if (!stand.row) {  // behind the last cell of the ring, or credit is due
      const std::uint32_t head = lane.ring.position(stand.cell, stand.epoch);
      cells[k] = &lane.ring.at(head);
      epochs[k] = lane.ring.epoch(head);
    }
    if (mine + k >= port.size) epochs[k] = ~0u;  // never
  }
  int chosen = -1;
  std::uint32_t d[3]{};
  for (std::uint32_t looks = 0; chosen < 0 && looks < quick_looks; ++looks) {
    std::uint32_t words[each][3];
    bool found[each];
    for (int k = 0; k < each; ++k) found[k] = read_cell(*cells[k], epochs[k], words[k]);
    for (int k = each; k-- > 0;)
      if (found[k]) {
        chosen = mine + k;
        for (int w = 0; w < 3; ++w) d[w] = words[k][w];
      }
    chosen = scope.first_found(chosen, d[0], d[1], d[2]);
    if (chosen < 0) relax_briefly();
  }
  const std::uint32_t mask = tag == any_tag ? 0xffff : 0xffffffff;
  if (chosen < 0 || (d[2] & mask) != (small_word(context, tag, capacity) & mask)) return false;
  const int from = place(chosen);
  InLane& lane = port.in[from];
  const Stand now = Stand::of(lane);
  if (!now.row) return false;
  scope.sync();  // all have seen how things stand
  if (scope.leader()) {
    store_plain(true, data, capacity, d[0] | static_cast<std::uint64_t>(d[1]) << 32);
    now.step(lane, 1);
    lane.quick_bytes += capacity;
    me.next_place = place_after(me, from);
  }
  status = {from, static_cast<int>(d[2] >> 16), capacity, Code::ok};
  scope.sync();
  return true;
}

// Any eager message that there is room for, of bytes that lie anywhere.
template <class Scope>
[[gnu::noinline]] DCGN_HOST_DEVICE bool send_cells(const Scope& scope, const Port& port, const void* data,
                                                   std::uint64_t bytes, int to, int tag, std::uint32_t context) {
  OutLane& lane = port.out[to];
  const Stand now = Stand::of(lane);
  const std::uint32_t hindrance = Hindrance::of(*port.me).sending;
  const Ring ring = lane.ring;
  const std::uint32_t tail = ring.position(now.cell, now.epoch), free = ring.size() - (tail - lane.taken);
  const bool small = fits_small(context, tag, bytes);
  const std::uint32_t cells = small ? 0 : payload_cells(bytes);
  scope.sync();  // and what the threads wrote to the buffer is visible to all of them
  if ((hindrance != 0) | (now.row == 0) | (free <= cells)) return false;
  if (scope.leader()) {
    Header h;
    h.kind = small ? Kind::small : Kind::eager;
    h.context = context;
    h.tag = tag;
    h.bytes = bytes;
    if (small) h.address = load_small(data, bytes);
    write_header(ring, tail, h);
    put(lane, 1 + cells);
    ++lane.quick_messages;
    lane.quick_bytes += bytes;
  }
  if (cells) push_cells(scope, Payload(ring, tail + 1, cells, bytes), static_cast<const unsigned char*>(data));
  scope.sync();  // the buffer is the caller's again
  return true;
}

// Any message that is in the lane whole. `place`: where it was found by a receive from any source, else -1.
template <class Scope>
[[gnu::noinline]] DCGN_HOST_DEVICE bool receive_cells(const Scope& scope, const Port& port, void* data,
                                                      std::uint64_t capacity, int from, int place, int tag,
                                                      std::uint32_t context, Status& status) {
  Endpoint& me = *port.me;
  InLane& lane = port.in[from];
  const Stand now = Stand::of(lane);
  const std::uint32_t hindrance = Hindrance::of(me).receiving;
  const Ring ring = lane.ring;
  const std::uint32_t head = ring.position(now.cell, now.epoch), turn = turn_of(scope), own = head + 1 + turn;
  const std::uint32_t limit = lane.returned + lane.batch;
  auto* const to = static_cast<unsigned char*>(data);
  scope.sync();
  if (hindrance) return false;
  // Each thread looks at the header and, in case, at the cell that it would take of a payload.
  std::uint32_t d[3]{}, mine[3]{}, looks = 0;
  bool found, here;
  for (;;) {
    here = read_cell(ring.at(own), ring.epoch(own), mine);
    found = read_cell(ring.at(head), ring.epoch(head), d);
    if (found || ++looks == quick_looks) break;
    relax_briefly();
  }
  const Header h = decode(d);
  const bool wanted = found && (h.kind == Kind::small || h.kind == Kind::eager) && h.context == context &&
                      (tag == any_tag || tag == h.tag) && h.bytes <= capacity;
  const std::uint32_t cells = h.kind == Kind::eager ? payload_cells(h.bytes) : 0;
  bool taken = wanted;
  if (wanted && cells) {
    const Payload p(ring, head + 1, cells, h.bytes);
    if (cells > scope.size() || !has_words(to) || p.rest) {
      taken = take_cells(scope, *me.phase, p, to);
    } else if (turn < cells) {
      taken = here || await_cell(ring, own, mine, *me.phase);
      store_words(p, to, turn, mine);
    }
  }
  if (taken && scope.leader()) {
    if (h.kind == Kind::small) store_small(data, h.bytes, h.address);
    if (place >= 0) me.next_place = place_after(me, place);
    lane.advance(1 + cells);
    ++lane.quick_messages;
    lane.quick_bytes += h.bytes;
  }
  const bool credit_due = static_cast<std::int32_t>(head + 1 + cells - limit) >= 0;
  if (!scope.agree(taken)) {
    // Somebody has waited long enough, or found the job aborted: the ordinary call begins anew.
    if (taken && scope.leader()) {
      lane.advance(0u - (1 + cells));
      --lane.quick_messages;
      lane.quick_bytes -= h.bytes;
    }
    scope.sync();
    return false;
  }
  if (credit_due) {
    if (scope.leader()) return_credit(lane);
    scope.sync();
  }
  status = {from, h.tag, static_cast<std::int64_t>(h.bytes), Code::ok};
  return true;
}

}  // namespace dcgn::message
