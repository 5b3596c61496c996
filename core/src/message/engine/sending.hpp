// What becomes of a send: queued, written to its FIFO or announced there, streamed where the receiver asks for that.
//
// Bytes in quantity are not moved here but returned as Transfer for all threads of the call.
#pragma once

#include <dcgn/arch/atomic.hpp>
#include <dcgn/message/endpoint.hpp>
#include <dcgn/message/exports.hpp>
#include <dcgn/message/fifo.hpp>
#include "message/engine/fragments.hpp"
#include "message/engine/records.hpp"
#include "message/engine/transfer.hpp"

#include <cstdint>
#include <cstring>

namespace dcgn::message {

// Sends a queued record's message, or its announcement, if the FIFO has room.
DCGN_HOST_DEVICE bool advance_send(Endpoint& me, OutFifo& fifo, Record* r, Transfer& transfer);

// Starts a send: at once where it may, in the FIFO's queue otherwise.
DCGN_HOST_DEVICE void start_send(Endpoint& me, Record* r, Transfer& transfer);

DCGN_HOST_DEVICE bool advance_queued(Endpoint& me, Transfer& transfer);

// Tells the receiver that what `r` announced is in its buffer, or that it has to read it after all; later where the
// FIFO has no room.
DCGN_HOST_DEVICE inline void tell_placed(Endpoint& me, OutFifo& fifo, Record* r) {
  Header h;
  h.kind = Kind::placed;
  h.record = static_cast<std::uint32_t>(r->address);
  h.readable = r->moved != r->envelope.bytes;
  if (!Tx(fifo).send(h, r->envelope.peer)) return me.streaming.append(r);
  if (h.readable) {
    r->state = State::announced;
    me.announced.append(r);
  } else {
    free_ack(me, r->ack);
    complete(me, r);
  }
  ++me.statistics.activity;
}

// The receiver has asked for what `r` announced. A call of fewer threads than the one that did leaves it to the
// receiver after all.
DCGN_HOST_DEVICE void place(Endpoint& me, OutFifo& fifo, Record* r, Transfer& transfer);

DCGN_HOST_DEVICE bool advance_announced(Endpoint& me, Transfer& transfer);

// Sends the next piece of an accepted offer.
DCGN_HOST_DEVICE bool advance_streaming(Endpoint& me, Transfer& transfer);

}  // namespace dcgn::message
