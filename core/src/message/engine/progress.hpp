// Progress: everything that a rank does between waiting once and waiting again. Called by a call's leader alone.
//
// step() looks at the FIFOs into the rank, at its sends that wait for room and at the acknowledgements it expects, and
// does one thing. Bytes in quantity are not moved here but returned as Transfer for all threads of the call; finish()
// is told when they have moved. The larger functions are in progress.cpp.
#pragma once

#include <dcgn/arch/clock.hpp>
#include <dcgn/arch/relax.hpp>
#include <dcgn/arch/scope.hpp>
#include <dcgn/message/endpoint.hpp>
#include <dcgn/message/spin.hpp>
#include "message/engine/copying.hpp"
#include "message/engine/fragments.hpp"
#include "message/engine/receiving.hpp"
#include "message/engine/records.hpp"
#include "message/engine/sending.hpp"

#include <cstdint>

namespace dcgn::message {

// Waits for the next message of a FIFO; false where none has come in a while.
DCGN_HOST_DEVICE inline bool await_message(const InFifo& fifo, Incoming& found) {
  return spin(fast_looks, [&] { return Rx::peek(fifo, found); });
}

// FIFOs whose packets a thread has loads under way for at once.
inline constexpr int fifos_at_once = 8;

// Which of these FIFOs, -1 for none, hold a message: bit i for FIFOs[i]. Each load is of another address: where a
// packet is in the host's memory, several loads of one that are under way at once take 15 % to 25 % of the link's
// bandwidth from copies (H100, by the page).
DCGN_HOST_DEVICE inline std::uint32_t full_fifos(const Endpoint& me, const std::int32_t (&fifos)[fifos_at_once]) {
  const Packet* packets[fifos_at_once];
  std::uint32_t epochs[fifos_at_once], seen[fifos_at_once], found = 0;
  for (int i = 0; i < fifos_at_once; ++i) {
    const InFifo& fifo = me.in[fifos[i] < 0 ? 0 : fifos[i]];
    const std::uint32_t head = fifo.head();
    packets[i] = &fifo.ring.at(head);
    epochs[i] = fifos[i] < 0 ? 0 : fifo.ring.epoch(head);
  }
  for (int i = 0; i < fifos_at_once; ++i) seen[i] = epochs[i] ? load_relaxed(packets[i]->epoch) : 0;
  for (int i = 0; i < fifos_at_once; ++i) found |= static_cast<std::uint32_t>(epochs[i] && seen[i] == epochs[i]) << i;
  return found;
}

DCGN_HOST_DEVICE inline bool has_message(const Endpoint& me, std::int32_t fifo) {
  const InFifo& in = me.in[fifo];
  const std::uint32_t head = in.head();
  return load_relaxed(in.ring.at(head).epoch) == in.ring.epoch(head);
}

DCGN_HOST_DEVICE inline void set_doorbell(Endpoint& me, std::int32_t fifo) {
  store_relaxed(me.doorbells[doorbell_place(fifo)], 1);
}
DCGN_HOST_DEVICE inline void clear_doorbell(Endpoint& me, std::int32_t fifo) {
  store_relaxed(me.doorbells[doorbell_place(fifo)], 0);
}

// Which FIFOs of a group have rung: bit i for FIFO doorbell_group * group + i.
DCGN_HOST_DEVICE inline std::uint64_t rung_of(const Endpoint& me, int group) {
  const auto* const words = reinterpret_cast<const std::uint64_t*>(me.doorbells + group * doorbell_group);
  std::uint64_t bits = 0;
#if defined(__CUDA_ARCH__)
  std::uint64_t two[4][2];
  for (int i = 0; i < 4; ++i)
    asm volatile("ld.relaxed.sys.v2.b64 {%0,%1},[%2];"
                 : "=l"(two[i][0]), "=l"(two[i][1])
                 : "l"(words + 2 * i)
                 : "memory");
  for (int i = 0; i < 8; ++i) bits |= two[i / 2][i % 2] << i;
#else
  for (int i = 0; i < 8; ++i) bits |= load_relaxed(words[i]) << i;
#endif
  return bits;
}

// A message of this FIFO has been found by a look at all: the next one begins behind it.
DCGN_HOST_DEVICE inline void note_found(Endpoint& me, std::int32_t fifo) {
  me.next_fifo = fifo + 1 < fifos(me) ? fifo + 1 : 0;
  if (!me.doorbells || fifo == me.last_fifo) return;
  if (me.last_fifo >= 0) clear_doorbell(me, me.last_fifo);
  me.cleared_fifo = me.last_fifo;
  me.last_fifo = fifo;
}
// The same without such a look.
DCGN_HOST_DEVICE inline void note_taken(Endpoint& me, std::int32_t fifo) {
  if (me.cleared_fifo >= 0 && has_message(me, me.cleared_fifo)) set_doorbell(me, me.cleared_fifo);
  note_found(me, fifo);
}

// Looks at a few FIFOs in turn, or at all, and takes one message.
DCGN_HOST_DEVICE bool poll_others(Endpoint& me, bool all, Transfer& transfer);

// Does one thing if there is one to do. `source` is the rank whose FIFO to look at first, or any_source; `all` looks at
// every FIFO, otherwise a few beside it in turn.
DCGN_HOST_DEVICE bool step(Endpoint& me, std::int32_t source, bool all, Transfer& transfer);

// The bytes of `transfer` have moved.
DCGN_HOST_DEVICE void finish(Endpoint& me, const Transfer& transfer, Transfer& next);

#if !defined(__CUDA_ARCH__)
// Takes a buffer back from the other side, or waits for it to have done with it: a copy is soon done, but who has died
// in the middle of one must not hold up the others.
inline void take_back(std::uint64_t& word, std::uint32_t ack) {
  const std::uint64_t since = now_ns();
  for (std::uint64_t found = load_acquire(word);;) {
    const std::uint64_t answer = ack_answer(ack, found);
    if (answer == ack_pulling && now_ns() - since < 10'000'000'000u) {
      relax();
      found = load_acquire(word);
      continue;
    }
    if (answer != ack_none && answer < ack_place) return;
    const std::uint64_t meanwhile = compare_exchange(word, found, ack_word(ack, ack_withdrawn));
    if (meanwhile == found) return;
    found = meanwhile;
  }
}
#endif

// The job is aborted and the caller's buffers will go: wait for copies into them, take them back from ranks that have
// been told of them and have not begun to read or to write there, and wait for those that have.
DCGN_HOST_DEVICE void withdraw(Endpoint& me);

}  // namespace dcgn::message
