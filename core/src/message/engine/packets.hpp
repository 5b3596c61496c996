// Fast calls within a block for what is out of the ordinary: a FIFO that has to be opened again, any source, bytes
// that lie anywhere.
#pragma once

#include "message/engine/progress.hpp"

#include <dcgn/arch/scope.hpp>
#include <dcgn/message/fast_path.hpp>
#include <dcgn/status.hpp>

#include <cstdint>

namespace dcgn::message {

// Opens a FIFO again that has no packets in a row for fast calls, which may be since the ring ends there, or until
// credit is seen to. Says whether it was closed.
template <class Scope, class Fifo, class Open>
DCGN_HOST_DEVICE bool reopen(const Scope& scope, Fifo& fifo, std::uint32_t blocker, const Open& open) {
  const bool closed = !blocker && !Cursor::of(fifo).row;
  scope.sync();  // all have seen how things stand
  if (closed && scope.leader()) open(fifo);
  scope.sync();
  return closed;
}

// As send_packet(), for a FIFO that it found closed.
template <class Scope>
DCGN_HOST_DEVICE bool send_packet_anew(const Scope& scope, const Port& port, const void* data, std::uint64_t bytes,
                                       int to, int tag, std::uint32_t context) {
  const auto open = [](OutFifo& fifo) {
    fifo.taken = load_credit(*fifo.credit);
    fifo.advance(0);
  };
  return reopen(scope, port.out[port.fifo(to)], Blocker::of(*port.me).sending, open) &&
         send_packet(scope, port, data, bytes, to, tag, context);
}

// Opens the FIFO from this rank again where it is closed: its sender may be waiting for that.
template <class Scope>
DCGN_HOST_DEVICE void reopen_fifo_from(const Scope& scope, const Port& port, int from) {
  reopen(scope, port.in[port.fifo(from)], Blocker::of(*port.me).receiving, [](InFifo& fifo) { return_credit(fifo); });
}

// Waits a while for whatever comes next from this rank; false where nothing does. All threads look: what they do then
// finds it at its first look.
template <class Scope>
DCGN_HOST_DEVICE bool await_head(const Scope& scope, const Port& port, int from) {
  const InFifo& fifo = port.in[port.fifo(from)];
  const std::uint32_t blocker = Blocker::of(*port.me).receiving | (Scope::in_warp ? 0 : fifo.far);
  const std::uint32_t head = fifo.head();
  const Packet& packet = fifo.ring.at(head);
  const std::uint32_t epoch = fifo.ring.epoch(head);
  scope.sync();
  if (blocker) return false;
  std::uint32_t d[3];
  return scope.agree(spin(3 * fast_looks, [&] {
    const bool found = read_packet(packet, epoch, d);
    if constexpr (Scope::in_warp) return scope.vote(found);
    return found;
  }));
}

// By a thread, which takes many registers to look at all FIFOs at once: not its caller's.
[[gnu::noinline]] DCGN_HOST_DEVICE static inline bool receive_packet_by_one(const gpu::ThreadScope& scope,
                                                                            const Port& port, void* data,
                                                                            std::uint64_t capacity, int tag,
                                                                            std::uint32_t context, Status& status) {
  return receive_packet_of_few(scope, port, data, capacity, tag, context, status);
}

// Any eager message that there is room for, of bytes that lie anywhere.
template <class Scope>
[[gnu::noinline]] DCGN_HOST_DEVICE bool send_packets(const Scope& scope, const Port& port, const void* data,
                                                     std::uint64_t bytes, int to, int tag, std::uint32_t context) {
  OutFifo& fifo = port.out[port.fifo(to)];
  const Cursor now = Cursor::of(fifo);
  const std::uint32_t blocker = Blocker::of(*port.me).sending;
  const bool small = fits_small(context, tag, bytes);
  const Reservation place = now.reserve(small ? 0 : bytes);
  const std::uint32_t free = now.ring.size() - (place.position - fifo.taken);
  scope.sync();  // and what the threads wrote to the buffer is visible to all of them
  if ((blocker != 0) | (now.row == 0) | (free < place.all)) return false;
  if (scope.leader()) {
    Header h;
    h.kind = small ? Kind::small : Kind::eager;
    h.context = context;
    h.tag = tag;
    h.bytes = bytes;
    if (small) h.address = load_small(data, bytes);
    Tx(fifo).put(place, h, 0);
    ++fifo.fast_messages;
    fifo.fast_bytes += bytes;
  }
  if (place.packets)
    push_packets(scope, Payload(now.ring, place.begin, place.packets, bytes), static_cast<const unsigned char*>(data));
  scope.sync();  // the buffer is the caller's again
  return true;
}

// Any message that is in the FIFO whole.
template <class Scope>
[[gnu::noinline]] DCGN_HOST_DEVICE bool receive_packets(const Scope& scope, const Port& port, void* data,
                                                        std::uint64_t capacity, int from, int tag,
                                                        std::uint32_t context, Status& status) {
  Endpoint& me = *port.me;
  InFifo& fifo = port.in[port.fifo(from)];
  const Cursor now = Cursor::of(fifo);
  const std::uint32_t blocker = Blocker::of(me).receiving | (Scope::in_warp ? 0 : fifo.far);
  const Ring ring = now.ring;
  const std::uint32_t head = now.position(), turn = turn_of(scope),
                      likely = now.reserve(least(capacity, std::uint64_t{1} << 31)).begin, own = likely + turn,
                      limit = fifo.returned + fifo.batch;
  auto* const to = static_cast<unsigned char*>(data);
  scope.sync();
  if (blocker) return false;
  // Each thread looks at the header and, in case, at the packet that it would take of a payload.
  std::uint32_t d[3]{}, mine[3]{};
  bool here = false;
  const bool found = spin(fast_looks, [&] {
    here = read_packet(ring.at(own), ring.epoch(own), mine);
    return read_packet(ring.at(head), ring.epoch(head), d);
  });
  const Header h = decode(d);
  const bool wanted = found && (h.kind == Kind::small || h.kind == Kind::eager) && h.context == context &&
                      (tag == any_tag || tag == h.tag) && h.bytes <= capacity;
  const Reservation place = now.reserve(has_payload(h) ? h.bytes : 0);
  bool taken = wanted;
  if (wanted && place.packets) {
    const Payload p(ring, place.begin, place.packets, h.bytes);
    if (place.packets > scope.size() || p.wide || !has_words(to) || p.rest) {
      taken = take_packets(scope, *me.phase, p, to);
    } else if (turn < place.packets) {
      taken = (here && place.begin == likely) || await_packet(ring, place.begin + turn, mine, *me.phase);
      store_words(p, to, turn, mine);
    }
  }
  if (taken && scope.leader()) {
    if (h.kind == Kind::small) store_small(data, h.bytes, h.address);
    fifo.advance(place.all);
    ++fifo.fast_messages;
    fifo.fast_bytes += h.bytes;
  }
  const bool credit_due = static_cast<std::int32_t>(head + place.all - limit) >= 0;
  if (!scope.agree(taken)) {
    // Somebody has waited long enough, or found the job aborted: the ordinary call begins anew.
    if (taken && scope.leader()) {
      fifo.advance(0u - place.all);
      --fifo.fast_messages;
      fifo.fast_bytes -= h.bytes;
    }
    scope.sync();
    return false;
  }
  if (credit_due) {
    if (scope.leader()) return_credit(fifo);
    scope.sync();
  }
  status = {from, h.tag, static_cast<std::int64_t>(h.bytes), Code::ok};
  return true;
}

}  // namespace dcgn::message
