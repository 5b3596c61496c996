// The fast path of a thread's, a warp's or a block's call in a kernel. That of CPU ranks and of several blocks is in
// core/src/message/engine/fast_path.hpp.
//
// Every thread decides alone, from the rank's state between calls and from the packets of the message: no thread waits
// to be told. A lone warp takes about five cycles for an instruction and twelve for a branch, so there are few of both.
//
// The fibers of an emulated GPU take turns, so their leader decides and tells them. With DCGN_EMULATE_IN_BLOCK defined
// they decide as on a GPU, for tests under schedules and sanitizers.
#pragma once

#include <dcgn/arch/scope.hpp>
#include <dcgn/message/endpoint.hpp>
#include <dcgn/message/fifo.hpp>
#include <dcgn/message/payload.hpp>
#include <dcgn/message/spin.hpp>
#include <dcgn/message/two_words.hpp>
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

// Where a rank is in a fifo: its next packet, that packet's epoch, and how many packets in a row a fast call may use.
struct Cursor {
  Packet* packet = nullptr;
  std::uint32_t epoch = 0, row = 0;
  Ring ring{};

  template <class Fifo>
  DCGN_HOST_DEVICE static Cursor of(const Fifo& fifo) {
    const TwoWords words = load_two(&fifo.next);
    return {reinterpret_cast<Packet*>(words.first), static_cast<std::uint32_t>(words.second),
            static_cast<std::uint32_t>(words.second >> 32), fifo.ring};
  }
  DCGN_HOST_DEVICE std::uint32_t position() const { return ring.position(packet, epoch); }
  // The next message, with so many bytes in packets behind its header.
  DCGN_HOST_DEVICE Reservation reserve(std::uint64_t payload) const { return {position(), Kind::eager, 0, payload}; }

  // Moves the FIFO so many packets on; step_if() where `due`.
  template <class Fifo>
  DCGN_HOST_DEVICE void step(Fifo& fifo, std::uint32_t packets) const {
    store_two(&fifo.next, moved(packets));
  }
  template <class Fifo>
  DCGN_HOST_DEVICE void step_if(bool due, Fifo& fifo, std::uint32_t packets) const {
    const TwoWords words = moved(packets);
    store_two_if(due, &fifo.next, words.first, words.second);
  }
  // As the FIFO has it, so many packets on.
  DCGN_HOST_DEVICE TwoWords moved(std::uint32_t packets) const {
    return {reinterpret_cast<std::uintptr_t>(packet + packets), epoch | static_cast<std::uint64_t>(row - packets)
                                                                            << 32};
  }
};

// A FIFO's counters, in the 16 bytes behind its cursor.
struct Counters {
  std::uint64_t bytes;
  std::uint32_t settled, told;  // as the FIFO has them; told: OutFifo::taken, InFifo::returned

  template <class Fifo>
  DCGN_HOST_DEVICE static Counters of(const Fifo& fifo) {
    static_assert(offsetof(Fifo, fast_bytes) == offsetof(Fifo, next) + 16);
    static_assert(offsetof(Fifo, settled) == offsetof(Fifo, fast_bytes) + 8);
    static_assert(sizeof(Fifo::settled) == 4);
    const TwoWords words = load_two(&fifo.fast_bytes);
    return {words.first, static_cast<std::uint32_t>(words.second), static_cast<std::uint32_t>(words.second >> 32)};
  }
  // Moves the FIFO behind a message of so many packets and bytes.
  template <class Fifo>
  DCGN_HOST_DEVICE void commit(Fifo& fifo, const Cursor& from, std::uint32_t packets, std::uint64_t message_bytes,
                               std::uint32_t now_told) const {
    const bool in_row = packets <= from.row;
    const std::uint32_t settles = in_row ? settled + (packets - 1) : settled;  // it counts as one
    store_two(&fifo.fast_bytes, {bytes + message_bytes, settles | static_cast<std::uint64_t>(now_told) << 32});
    if (in_row) {
      from.step(fifo, packets);
    } else {
      fifo.advance(packets);
      ++fifo.fast_messages;
    }
  }
  // The same behind a message that has been received. True: the sender is due to hear of it, by store_credit(), once
  // all of its packets have been read.
  DCGN_HOST_DEVICE bool commit(InFifo& fifo, const Cursor& from, const Reservation& message,
                               std::uint64_t message_bytes) const {
    const std::uint32_t end = message.position + message.all;
    const bool due = static_cast<std::int32_t>(end - told - fifo.batch) >= 0;
    commit(fifo, from, message.all, message_bytes, due ? end : told);
    return due;
  }
};

// The credit after this message: read again once half of the ring is in use, before the next message has to wait.
DCGN_HOST_DEVICE inline std::uint32_t credit_after(const OutFifo& fifo, const Ring& ring, const Reservation& message,
                                                   std::uint32_t told) {
  const bool half = static_cast<std::int32_t>(message.position + message.all - told - ring.size() / 2) > 0;
  return half ? load_credit(*fifo.credit) : told;
}

// The last word of an eager message's header.
DCGN_HOST_DEVICE inline std::uint32_t eager_word(std::uint32_t context) {
  return static_cast<std::uint32_t>(Kind::eager) | context << 16;
}

// Writes a header of one packet and rings.
DCGN_HOST_DEVICE inline void put_header(const OutFifo& fifo, const Ring& ring, std::uint32_t position, std::uint32_t d0,
                                        std::uint32_t d1, std::uint32_t d2) {
  write_packet(ring.at(position), d0, d1, d2, ring.epoch(position));
  ring_doorbell(fifo.doorbell);
}

// Why a rank must not take the fast path: not 0 if anything forbids it.
struct Blocker {
  std::uint32_t sending, receiving;

  DCGN_HOST_DEVICE static Blocker of(const Endpoint& me) {
    static_assert(offsetof(Endpoint, without) == offsetof(Endpoint, busy) + 12);
    const TwoWords words = load_two(&me.busy);  // busy, stopped; open, without
    const auto closed = static_cast<std::uint32_t>(words.first | words.first >> 32);
    const auto open = static_cast<std::uint32_t>(words.second),
               without = static_cast<std::uint32_t>(words.second >> 32);
    return {closed | (without & (without_quick | without_relaxed)), closed | open | (without & without_quick)};
  }
};

// A store that is made where `due` says so, without a branch.
DCGN_HOST_DEVICE inline void write_packet_if(bool due, Packet* packet, std::uint64_t low, std::uint64_t high) {
#if defined(__CUDA_ARCH__)
  asm volatile(
      "{.reg .pred p; .reg .b128 c; setp.ne.u32 p,%3,0; mov.b128 c,{%1,%2}; @p st.relaxed.sys.global.b128 [%0],c;}" ::
          "l"(__cvta_generic_to_global(packet)),
      "l"(low), "l"(high), "r"(static_cast<std::uint32_t>(due))
      : "memory");
#else
  if (due)
    write_packet(*packet, static_cast<std::uint32_t>(low), static_cast<std::uint32_t>(low >> 32),
                 static_cast<std::uint32_t>(high), static_cast<std::uint32_t>(high >> 32));
#endif
}

// What the fastest calls take: nothing, a word or two in one piece.
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

// A message of one packet. One decision, and stores that depend on it.
template <class Scope>
DCGN_HOST_DEVICE bool send_packet(const Scope& scope, const Port& port, const void* data, std::uint64_t bytes, int to,
                                  int tag, std::uint32_t context) {
  const std::uint32_t index = port.fifo(to);
  const bool known = index < static_cast<std::uint32_t>(port.near), plain = is_plain(data, bytes);
  OutFifo& fifo = port.out[known ? index : 0];
  scope.sync();  // what the threads wrote to the buffer is visible to all of them
  const std::uint64_t payload = load_plain(plain & scope.leader(), data, bytes);
  const Cursor now = Cursor::of(fifo);
  const std::uint32_t blocker = Blocker::of(*port.me).sending;
  std::uint8_t* const doorbell = fifo.doorbell;
  const std::uint64_t sum = fifo.fast_bytes + bytes;
  const bool good = known & (static_cast<std::uint32_t>(tag) < small_tags) & plain & (blocker == 0) & (now.row != 0);
  scope.sync();  // all have seen how things stand
  const bool mine = good & scope.leader();
  write_packet_if(mine, now.packet, payload,
                  small_word(context, tag, bytes) | static_cast<std::uint64_t>(now.epoch) << 32);
  now.step_if(mine, fifo, 1);
  store_if(mine, &fifo.fast_bytes, sum);
  if (mine) ring_doorbell(doorbell);
  scope.sync();
  return good;
}

// A message of one packet that fills the buffer, if it comes within so many looks.
template <class Scope>
DCGN_HOST_DEVICE bool receive_packet(const Scope& scope, const Port& port, void* data, std::uint64_t capacity, int from,
                                     int tag, std::uint32_t context, Status& status,
                                     std::uint32_t most_looks = fast_looks) {
  const std::uint32_t index = port.fifo(from);
  const bool known = index < static_cast<std::uint32_t>(port.near);
  InFifo& fifo = port.in[known ? index : 0];
  const Cursor now = Cursor::of(fifo);
  const std::uint32_t blocker = Blocker::of(*port.me).receiving;
  const std::uint64_t sum = fifo.fast_bytes + capacity;
  const bool any = tag == any_tag;
  const bool good = known & (any | (static_cast<std::uint32_t>(tag) < small_tags)) & is_plain(data, capacity) &
                    (blocker == 0) & (now.row != 0);  // credit is due where there is no row
  // What the last word must be, perhaps its tag apart.
  const std::uint32_t mask = any ? 0xffff : 0xffffffff, word = small_word(context, tag, capacity) & mask;
  if (!good) return false;
  // All find the packet at the same look, and have read the FIFO's state by then.
  std::uint32_t d[3]{};
  if (!spin(most_looks, [&] { return scope.vote(read_packet(*now.packet, now.epoch, d)); })) return false;
  const bool wanted = (d[2] & mask) == word, mine = wanted & scope.leader();
  store_plain(mine, data, capacity, long_word(d));
  now.step_if(mine, fifo, 1);
  store_if(mine, &fifo.fast_bytes, sum);
  status = {from, static_cast<int>(d[2] >> 16), static_cast<std::int64_t>(capacity), Code::ok};
  scope.sync();
  return wanted;
}

// A message of one packet from whoever has sent, in a world of few ranks: every thread looks at FIFOs of its own, all
// of them in one go. The first one after the last that was received from comes first.
template <class Scope>
DCGN_HOST_DEVICE bool receive_packet_of_few(const Scope& scope, const Port& port, void* data, std::uint64_t capacity,
                                            int tag, std::uint32_t context, Status& status) {
  constexpr int each = Scope::single ? few_ranks : 1;
  Endpoint& me = *port.me;
  const bool many = port.size > each * static_cast<int>(scope.size()), plain = is_plain(data, capacity);
  const std::uint32_t blocker = Blocker::of(me).receiving;
  if (many | (port.near != port.size) | !((tag == any_tag) | (static_cast<std::uint32_t>(tag) < small_tags)) | !plain |
      (blocker != 0))
    return false;
  const int next = me.next_fifo, start = next < port.size ? next : 0, mine = each * static_cast<int>(scope.rank());
  const auto place = [&](int i) { return start + i < port.size ? start + i : start + i - port.size; };
  const Packet* packets[each];
  std::uint32_t epochs[each];
  for (int k = 0; k < each; ++k) {
    const InFifo& fifo = port.in[mine + k < port.size ? place(mine + k) : 0];
    const Cursor now = Cursor::of(fifo);
    packets[k] = now.packet;
    epochs[k] = now.epoch;
    if (!now.row) {  // behind the last packet of the ring, or credit is due
      const std::uint32_t head = now.position();
      packets[k] = &fifo.ring.at(head);
      epochs[k] = fifo.ring.epoch(head);
    }
    if (mine + k >= port.size) epochs[k] = ~0u;  // never
  }
  int chosen = -1;
  std::uint32_t d[3]{};
  spin(fast_looks, [&] {
    std::uint32_t words[each][3];
    bool found[each];
    for (int k = 0; k < each; ++k) found[k] = read_packet(*packets[k], epochs[k], words[k]);
    for (int k = each; k-- > 0;)
      if (found[k]) {
        chosen = mine + k;
        for (int w = 0; w < 3; ++w) d[w] = words[k][w];
      }
    chosen = scope.first_found(chosen, d[0], d[1], d[2]);
    return chosen >= 0;
  });
  const std::uint32_t mask = tag == any_tag ? 0xffff : 0xffffffff;
  if (chosen < 0 || (d[2] & mask) != (small_word(context, tag, capacity) & mask)) return false;
  const int from = place(chosen);
  InFifo& fifo = port.in[from];
  const Cursor now = Cursor::of(fifo);
  if (!now.row) return false;
  scope.sync();  // all have seen how things stand
  if (scope.leader()) {
    store_plain(true, data, capacity, long_word(d));
    now.step(fifo, 1);
    fifo.fast_bytes += capacity;
    me.next_fifo = from + 1 < port.size ? from + 1 : 0;
  }
  status = {from, static_cast<int>(d[2] >> 16), static_cast<std::int64_t>(capacity), Code::ok};
  scope.sync();
  return true;
}

// Whether all of a payload is words.
DCGN_HOST_DEVICE inline bool is_words(const void* data, std::uint64_t bytes) {
  return lies_on_words(data) & ((bytes & 3) == 0);
}

// Payloads that end within a word, and those of a thread or a warp that are more than a packet for each: out of line,
// with registers of their own.
DCGN_HOST_DEVICE void push_odd(const Payload p, const unsigned char* from, const Hands hands);
DCGN_HOST_DEVICE bool take_odd(const Payload p, const std::uint32_t& phase, unsigned char* to, const Hands hands);

// An eager message that begins where words do. All that it must know is loaded at once, and judged together.
template <class Scope>
DCGN_HOST_DEVICE bool send_words(const Scope& scope, const Port& port, const void* data, std::uint64_t bytes, int to,
                                 int tag, std::uint32_t context) {
  const std::uint32_t index = port.fifo(to);
  const bool known = index < static_cast<std::uint32_t>(port.near);
  OutFifo& fifo = port.out[known ? index : 0];
  const Cursor now = Cursor::of(fifo);
  const std::uint32_t blocker = Blocker::of(*port.me).sending | fifo.queued;
  const std::uint64_t limit = eager_limit(fifo, scope.size());
  const Counters counters = Counters::of(fifo);
  const Ring ring = now.ring;
  std::uint32_t told = counters.told;
  const Reservation place = now.reserve(bytes);
  const bool good =
      known & (tag >= 0) & (bytes != 0) & (bytes <= limit) & lies_on_words(data) & (data != nullptr) & (blocker == 0);
  scope.sync();  // and what the threads wrote to the buffer is visible to all of them
  if (!good) return false;
  if (ring.size() - (place.position - told) < place.all) {
    // As with answers (load_answer() in core/src/message/engine/records.hpp): the receiver had what it read before it
    // returned the credit.
    told = load_credit(*fifo.credit);
    if (!scope.agree(ring.size() - (place.position - told) >= place.all)) return false;
  }
  const bool leader = scope.leader();
  if (leader) {
    put_header(fifo, ring, place.position, static_cast<std::uint32_t>(tag), static_cast<std::uint32_t>(bytes),
               eager_word(context));
    told = credit_after(fifo, ring, place, told);
  }
  const Payload p(ring, place.begin, place.packets, bytes);
  const auto* const from = static_cast<const unsigned char*>(data);
  const Hands hands = Hands::all_of(scope);
  if (p.rest || (Scope::in_warp && p.packets > hands.count)) [[unlikely]] {
    push_odd(p, from, hands);
  } else if constexpr (Scope::in_warp) {
    if (const Strided part{p, hands.turn, hands.count}; part.has(0)) {
      std::uint32_t d[1][3];
      part.load(from, 0, d);
      p.write(part, d);
    }
  } else {
    push_payload(p, from, 0, hands);
  }
  // Now that the packets are on their way there is time for accounts.
  if (leader) counters.commit(fifo, now, place.all, bytes, told);
  scope.sync();  // the buffer is the caller's again
  return true;
}

// As send_words().
template <class Scope>
DCGN_HOST_DEVICE bool receive_words(const Scope& scope, const Port& port, void* data, std::uint64_t capacity, int from,
                                    int tag, std::uint32_t context, Status& status) {
  const Endpoint& me = *port.me;
  const std::uint32_t index = port.fifo(from);
  const bool known = index < static_cast<std::uint32_t>(port.near);
  InFifo& fifo = port.in[known ? index : 0];
  const Cursor now = Cursor::of(fifo);
  const Counters counters = Counters::of(fifo);
  const std::uint32_t blocker = Blocker::of(me).receiving | fifo.far;
  Credit& credit = *fifo.credit;
  const Ring ring = now.ring;
  const std::uint32_t turn = turn_of(scope), stride = scope.size();
  // Each thread looks at the header and at the packet that it would take of a short payload that fills the buffer.
  const std::uint32_t head = now.position(),
                      likely = now.reserve(least(capacity, std::uint64_t{stride} * packet_payload)).begin,
                      own = likely + turn;
  const Packet &header_packet = ring.at(head), &own_packet = ring.at(own);
  const std::uint32_t header_epoch = ring.epoch(head), own_epoch = ring.epoch(own);
  auto* const to = static_cast<unsigned char*>(data);
  const bool good = known & ((tag >= 0) | (tag == any_tag)) & (static_cast<std::int64_t>(capacity) > 0) &
                    lies_on_words(data) & (data != nullptr) & (blocker == 0);
  scope.sync();
  if (!good) return false;
  std::uint32_t d[3]{}, mine[3]{};
  bool here = false;
  const bool found = spin(fast_looks, [&] {
    here = read_packet(own_packet, own_epoch, mine);
    return read_packet(header_packet, header_epoch, d);
  });
  const std::uint32_t bytes = d[1];
  const Reservation place = now.reserve(bytes);
  const bool wanted = found & (d[2] == eager_word(context)) &
                      ((tag == any_tag) | (static_cast<std::uint32_t>(tag) == d[0])) & (bytes <= capacity);
  // While the packets come there is time for accounts. What is returned is told below, when all have been taken.
  const bool credit_due = wanted && scope.leader() && counters.commit(fifo, now, place, bytes);
  bool taken = wanted;
  if (wanted) {
    const Payload p(ring, place.begin, place.packets, bytes);
    if (p.rest || (Scope::in_warp && place.packets > stride)) [[unlikely]] {
      taken = take_odd(p, *me.phase, to, {turn, stride});
    } else if ((place.packets > stride) | (p.wide != 0)) {
      if constexpr (!Scope::in_warp) taken = take_payload(p, *me.phase, to, {turn, stride});
    } else if (turn < place.packets) {
      taken = (here && place.begin == likely) || await_packet(p, turn, mine, *me.phase);
      p.store(to, turn, mine);
    }
  }
  if (!scope.agree(taken)) {
    // Somebody has waited long enough, or found the job aborted: another call begins anew.
    if (wanted && scope.leader()) {
      fifo.returned = counters.told;
      fifo.advance(0u - place.all);
      --fifo.fast_messages;
      fifo.fast_bytes -= bytes;
    }
    scope.sync();
    return false;
  }
  if (credit_due) store_credit(credit, head + place.all);
  status = {from, static_cast<int>(d[0]), static_cast<std::int64_t>(bytes), Code::ok};
  return true;
}

}  // namespace dcgn::message
