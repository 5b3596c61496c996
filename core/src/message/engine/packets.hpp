// Fast calls within a block for what is out of the ordinary: a FIFO that has to be opened again, a message that is
// late.
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

}  // namespace dcgn::message
