// Receives whose messages a copy engine fetches, while the rank goes on with other business: posted as requests, up to
// copy_queue_length of them under way at once, and acknowledged to the sender when they are done.
#pragma once

#include <dcgn/arch/atomic.hpp>
#include <dcgn/arch/clock.hpp>
#include <dcgn/arch/relax.hpp>
#include <dcgn/message/endpoint.hpp>
#include <dcgn/message/exports.hpp>
#include "message/engine/records.hpp"
#include "message/engine/transfer.hpp"

#include <cstdint>

namespace dcgn::message {

DCGN_HOST_DEVICE inline void acknowledge(InFifo& fifo, std::uint32_t ack, std::uint64_t value) {
  store_answer(fifo.acks[ack_index(ack)], ack_word(ack, value));
}

// Before a pull, for which the sender had this answer so far: false where it has taken its buffer back, which it does
// only when the job is aborted.
DCGN_HOST_DEVICE inline bool begin_pull([[maybe_unused]] InFifo& fifo, [[maybe_unused]] std::uint32_t ack,
                                        [[maybe_unused]] std::uint64_t answer = ack_none) {
#if defined(__CUDA_ARCH__)
  return true;  // device memory stays where it is while kernels run
#else
  std::uint64_t& word = fifo.acks[ack_index(ack)];
  const std::uint64_t found = load_acquire(word);  // an answer to an earlier use, as a rule
  return ack_answer(ack, found) == answer && compare_exchange(word, found, ack_word(ack, ack_pulling)) == found;
#endif
}

// The answer that asks the sender to store what it announced for this receive.
DCGN_HOST_DEVICE inline std::uint64_t asked_for(const Endpoint& me, const Record* r) {
  return ack_accepted + ack_place + static_cast<std::uint64_t>(r - me.records);
}

// Whether a copy engine fetches the message that `h` announces: because no thread can, or because it is faster.
DCGN_HOST_DEVICE inline bool is_for_engine(const Endpoint& me, const InFifo& fifo, const Record* r, const Header& h) {
  if (!me.copies.queue || fifo.process || !least(h.bytes, r->capacity) || !reachable(r->buffer)) return false;
#if !defined(__CUDA_ARCH__)
  // What a slot sends may be in memory of which the driver knows nothing.
  if (!h.readable && me.copies.host) return is_device_memory(me, reinterpret_cast<const void*>(h.address));
#endif
  return !h.readable || (r->flags & Record::on_device) ||
         h.bytes >= copy_engine_limit(fifo, me.threads, r->flags & Record::waited);
}

// The threads of the call read the message where it is.
DCGN_HOST_DEVICE inline void read_message(Endpoint& me, Record* r, Transfer& transfer) {
  r->state = State::streaming;  // neither posted nor complete until the bytes are here
  transfer.action = Action::copy;
  transfer.after = After::pulled;
  transfer.to = r->buffer;
  transfer.from = reinterpret_cast<const unsigned char*>(r->address);
  transfer.bytes = least(r->envelope.bytes, r->capacity);
  transfer.record = r;
  transfer.fifo = &fifo_from(me, r->envelope.peer);
  transfer.process = transfer.fifo->process;
}

// Asks the sender to store the message in the receive's buffer.
DCGN_HOST_DEVICE inline void ask_for(Endpoint& me, InFifo& fifo, Record* r) {
  r->state = State::streaming;
  r->flags |= Record::placed;
  if (!begin_pull(fifo, r->ack)) return;
  // With release order: the sender reads in the record where the buffer is.
  store_release(fifo.acks[ack_index(r->ack)], ack_word(r->ack, asked_for(me, r)));
}

// The sender leaves it to this side after all.
DCGN_HOST_DEVICE inline void read_after_all(Endpoint& me, InFifo& fifo, Record* r, Transfer& transfer) {
  r->flags &= ~Record::placed;
  if (begin_pull(fifo, r->ack, asked_for(me, r))) read_message(me, r, transfer);
}

// The message comes through the fifo: it was offered, or neither threads nor a copy engine can move it to this buffer.
DCGN_HOST_DEVICE inline void accept(Endpoint& me, Record* r) {
  r->state = State::streaming;
  r->order = 0;
  acknowledge(fifo_from(me, r->envelope.peer), r->ack, ack_accepted + static_cast<std::uint64_t>(r - me.records));
}

// The oldest request holds the place that the next one would take.
DCGN_HOST_DEVICE inline bool has_place(const Copies& c) {
  return !c.under_way.first || c.requests - static_cast<std::uint32_t>(c.under_way.first->order) < copy_queue_length;
}

DCGN_HOST_DEVICE inline void post_copy(Endpoint& me, Record* r) {
  if (!begin_pull(fifo_from(me, r->envelope.peer), r->ack))
    return;  // the job is aborted: what becomes of it is all one
  Copies& c = me.copies;
  const std::uint32_t number = c.requests++;
  r->order = number;
  c.under_way.append(r);
  CopyRequest& request = c.queue->requests[number % copy_queue_length];
  request.to = reinterpret_cast<std::uintptr_t>(r->buffer);
  request.from = r->address;
  request.bytes = least(r->envelope.bytes, r->capacity);
  request.done = reinterpret_cast<std::uintptr_t>(&c.done[number % copy_queue_length]);
  request.value = number + 1;
#if !defined(__CUDA_ARCH__)
  if (c.host) {
    c.host->start(request);
    return;
  }
#endif
  store_release(*c.posted, number + 1);
}

DCGN_HOST_DEVICE inline void start_copy(Endpoint& me, Record* r) {
  r->state = State::copying;
  if (has_place(me.copies))
    post_copy(me, r);
  else
    me.copies.waiting.append(r);
}

// Sees to one request that is done or refused; those that wait for a place move up.
DCGN_HOST_DEVICE bool advance_copies(Endpoint& me, Transfer& transfer);

// The job is aborted and the caller's buffers will go: waits for the copies that are under way. They are soon done; an
// engine that has failed must not hold up the end.
DCGN_HOST_DEVICE inline void drain_copies(Endpoint& me) {
  me.copies.waiting = {};
  const std::uint64_t since = now_ns();
  while (me.copies.under_way.first && now_ns() - since < 5'000'000'000u) {
    Transfer refused;
    if (!advance_copies(me, refused))
      relax();
    else if (refused.record)
      acknowledge(*refused.fifo, refused.record->ack, ack_pulled);  // nobody reads there any more
  }
}

}  // namespace dcgn::message
