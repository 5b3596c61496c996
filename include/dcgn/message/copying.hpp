// Receives whose messages a copy engine fetches, while the rank goes on with other business: posted as requests, up to
// copy_queue_length of them under way at once, and acknowledged to the sender when they are done.
#pragma once

#include <dcgn/gpu/atomic.hpp>
#include <dcgn/gpu/clock.hpp>
#include <dcgn/gpu/relax.hpp>
#include <dcgn/message/endpoint.hpp>
#include <dcgn/message/records.hpp>

#include <cstdint>

namespace dcgn::message {

DCGN_HOST_DEVICE inline void acknowledge(InLane& lane, std::uint32_t ack, std::uint64_t value) {
  store_answer(lane.acks[ack_index(ack)], ack_word(ack, value));
}

// Before a pull: false where the sender has taken its buffer back, which it does only when the job is aborted.
DCGN_HOST_DEVICE inline bool begin_pull([[maybe_unused]] InLane& lane, [[maybe_unused]] std::uint32_t ack) {
#if defined(__CUDA_ARCH__)
  return true;  // device memory stays where it is while kernels run
#else
  std::uint64_t& word = lane.acks[ack_index(ack)];
  const std::uint64_t found = load_acquire(word);  // an answer to an earlier use, as a rule
  return ack_answer(ack, found) == ack_none && compare_exchange(word, found, ack_word(ack, ack_pulling)) == found;
#endif
}

// Whether a copy engine fetches the message that `h` announces: because no thread can, or because it is faster.
DCGN_HOST_DEVICE inline bool is_for_engine(const Endpoint& me, const InLane& lane, const Record* r, const Header& h) {
  if (!me.copies.queue || !least(h.bytes, r->capacity) || !reachable(r->buffer)) return false;
  return !h.readable || (r->flags & Record::on_device) || h.bytes >= copy_engine_limit(lane, me.threads);
}

// The oldest request holds the place that the next one would take.
DCGN_HOST_DEVICE inline bool has_place(const Copies& c) {
  return !c.under_way.first || c.requests - static_cast<std::uint32_t>(c.under_way.first->order) < copy_queue_length;
}

DCGN_HOST_DEVICE inline void post_copy(Endpoint& me, Record* r) {
  if (!begin_pull(me.in[r->envelope.peer], r->ack)) return;  // the job is aborted: what becomes of it is all one
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

DCGN_HOST_DEVICE inline bool is_done(const Copies& c, const Record* r) {
  const auto number = static_cast<std::uint32_t>(r->order);
  const std::uint32_t& word = c.done[number % copy_queue_length];
  // Orders the copy before what comes now, at the cost of one look and not of each.
  return load_relaxed(word) == number + 1 && load_acquire(word) == number + 1;
}

// Completes one receive whose copy is done; those that wait for a place move up.
[[gnu::noinline]] DCGN_HOST_DEVICE inline bool advance_copies(Endpoint& me) {
  Copies& c = me.copies;
  Record* before = nullptr;
  for (Record* r = c.under_way.first; r; before = r, r = r->next) {
    if (!is_done(c, r)) continue;
    c.under_way.remove(before, r);
    acknowledge(me.in[r->envelope.peer], r->ack, ack_pulled);
    complete(me, r);
    ++me.statistics.activity;
    while (c.waiting.first && has_place(c)) {
      Record* next = c.waiting.first;
      c.waiting.remove(nullptr, next);
      post_copy(me, next);
    }
    return true;
  }
  return false;
}

// The job is aborted and the caller's buffers will go: waits for the copies that are under way. They are soon done; an
// engine that has failed must not hold up the end.
DCGN_HOST_DEVICE inline void drain_copies(Endpoint& me) {
  me.copies.waiting = {};
  const std::uint64_t since = now_ns();
  while (me.copies.under_way.first && now_ns() - since < 5'000'000'000u)
    if (!advance_copies(me)) relax();
}

}  // namespace dcgn::message
