// What a rank keeps account with: its records, each from the start of a send or a receive to its end, and its
// acknowledgement words. Called by a call's leader alone, as all of sending.hpp, receiving.hpp and progress.hpp.
#pragma once

#include <dcgn/arch/atomic.hpp>
#include <dcgn/message/endpoint.hpp>

#include <cstdint>

namespace dcgn::message {

DCGN_HOST_DEVICE inline bool has_record(const Endpoint& me) {
  return me.free_records || me.records_used < me.record_capacity;
}
DCGN_HOST_DEVICE inline Record* take_record(Endpoint& me) {
  Record* r = me.free_records;
  if (r) {
    me.free_records = r->next;
  } else {
    if (me.records_used == me.record_capacity) return nullptr;
    r = &me.records[me.records_used++];
    r->generation = 0;
  }
  if (++r->generation == 0) r->generation = 1;
  r->moved = 0;
  r->flags = 0;
  r->code = Code::ok;
  ++me.open;
  return r;
}

DCGN_HOST_DEVICE inline void free_record(Endpoint& me, Record* r) {
  r->state = State::idle;
  r->next = me.free_records;
  me.free_records = r;
}

// A message that was kept has been received.
DCGN_HOST_DEVICE inline void discard(Endpoint& me, Record* r) {
  --me.open;
  free_record(me, r);
}

DCGN_HOST_DEVICE inline void complete(Endpoint& me, Record* r) {
  r->state = State::complete;
  --me.open;
  if (r->flags & Record::is_receive) {
    ++me.statistics.received_messages;
    me.statistics.received_bytes += r->envelope.bytes;
    if (r->envelope.bytes > r->capacity) r->code = Code::truncated;
  } else {
    ++me.statistics.sent_messages;
    me.statistics.sent_bytes += r->envelope.bytes;
    if (r->flags & Record::buffered) {
      if (r->buffer) me.buffer.free(r->buffer);
      free_record(me, r);
    }
  }
}

// ---- acknowledgement words

DCGN_HOST_DEVICE inline bool has_ack(const Endpoint& me) { return me.acks_free || me.acks_used < me.ack_capacity; }

// An acknowledgement word and its turn, where there is one.
DCGN_HOST_DEVICE inline std::uint32_t take_ack(Endpoint& me) {
  return (me.acks_free ? me.free_acks[--me.acks_free] : me.acks_used++) + (1u << ack_index_bits);
}

DCGN_HOST_DEVICE inline void free_ack(Endpoint& me, std::uint32_t ack) { me.free_acks[me.acks_free++] = ack; }

// An answer orders the receiver's reads of the sender's buffer before whatever the sender writes there next. A GPU has
// its values before it answers, and acts on an answer no sooner than it has it; an acquire load there would empty the
// multiprocessor's cache at every look, a release store cost most of a microsecond.
DCGN_HOST_DEVICE inline std::uint64_t load_answer(const std::uint64_t& word) {
#if defined(__CUDA_ARCH__)
  return load_relaxed(word);
#else
  return load_acquire(word);
#endif
}

DCGN_HOST_DEVICE inline void store_answer(std::uint64_t& word, std::uint64_t answer) {
#if defined(__CUDA_ARCH__)
  store_relaxed(word, answer);
#else
  store_release(word, answer);
#endif
}

}  // namespace dcgn::message
