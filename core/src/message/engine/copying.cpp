// Copies that are done, and those that begin early.
#include "message/engine/compiled.hpp"

#include "message/engine/copying.hpp"

#include "message/engine/receiving.hpp"
#include "message/engine/records.hpp"
#include "message/engine/transfer.hpp"

#include <cstdint>

#if DCGN_COMPILED_HERE

namespace dcgn::message {

DCGN_HOST_DEVICE bool advance_copies(Endpoint& me, Transfer& transfer) {
  Copies& c = me.copies;
  Record* before = nullptr;
  for (Record* r = c.under_way.first; r; before = r, r = r->next) {
    const std::uint32_t value = static_cast<std::uint32_t>(r->order) + 1;
    const std::uint32_t& word = c.done[(value - 1) % copy_queue_length];
    const std::uint32_t found = load_relaxed(word);
    if (found != value && found != ~value) continue;
    static_cast<void>(load_acquire(word));  // orders the copy before what comes now, at the cost of one look
    c.under_way.remove(before, r);
#if !defined(__CUDA_ARCH__)
    if (r->flags & Record::opened) me.exports->close(*r);
#endif
    if (found == value) {
      acknowledge(fifo_from(me, r->envelope.peer), r->ack, ack_pulled);
      complete(me, r);
    } else if (r->flags & Record::readable) {
      read_message(me, r, transfer);
    } else {
      accept(me, r);
    }
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

DCGN_HOST_DEVICE void begin_copy(Endpoint& me, std::int32_t source, std::uint64_t bytes) {
  if (source < 0 || !is_near(me, source) || me.copies.host) return;
  const std::int32_t index = fifo_of(me, source);
  const InFifo& fifo = me.in[index];
  if (bytes < copy_engine_limit(fifo, me.threads, false)) return;
  Incoming found;
  const Header& h = found.header;
  if (!Rx::peek(fifo, found) || h.kind != Kind::pull) return;
  Record* before;
  const Record* const r = find_posted(me, source, h, &before);
  Transfer nothing;
  if (r && is_for_engine(me, fifo, r, h)) poll_fifo(me, index, nothing);
}

}  // namespace dcgn::message

#endif
