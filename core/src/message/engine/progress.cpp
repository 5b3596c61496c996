// One step of a rank, and its end.
#include "message/engine/compiled.hpp"

#include "message/engine/progress.hpp"

#include "message/engine/calls.hpp"
#include "message/engine/copying.hpp"
#include "message/engine/receiving.hpp"
#include "message/engine/sending.hpp"

#include <dcgn/arch/clock.hpp>
#include <dcgn/arch/relax.hpp>

#include <cstdint>

#if DCGN_COMPILED_HERE

namespace dcgn::message {

DCGN_HOST_DEVICE bool poll_others(Endpoint& me, bool all, Transfer& transfer) {
  const std::int32_t end = fifos(me);
  for (std::int32_t looked = 0; looked < (all ? end : 1); looked += fifos_at_once) {
    std::int32_t some[fifos_at_once];
    const std::int32_t start = me.next_fifo;
    for (int i = 0; i < fifos_at_once; ++i) some[i] = start + i < end ? start + i : -1;
    std::uint32_t found = full_fifos(me, some);
    for (std::int32_t fifo = start; found; ++fifo, found >>= 1)
      if (found & 1 && poll_fifo(me, fifo, transfer)) {
        note_taken(me, fifo);
        return true;
      }
    me.next_fifo = start + fifos_at_once < end ? start + fifos_at_once : 0;
  }
  return false;
}

DCGN_HOST_DEVICE bool step(Endpoint& me, std::int32_t source, bool all, Transfer& transfer) {
  if (source >= 0 && poll_fifo(me, fifo_of(me, source), transfer)) return true;
  if (me.announced.first && advance_announced(me, transfer)) return true;
  if (me.queued && advance_queued(me, transfer)) return true;
  if (me.streaming.first && advance_streaming(me, transfer)) return true;
  if (me.copies.under_way.first && advance_copies(me, transfer)) return true;
#if !defined(__CUDA_ARCH__)
  if (me.fragments && me.fragments->advance(me)) return true;
#endif
  return poll_others(me, all || source < 0, transfer);
}

DCGN_HOST_DEVICE void look_ahead(Endpoint& me, std::int32_t source, const Transfer& now, Transfer& next) {
  if (now.after != After::pulled && now.after != After::placed) return;
  for (int i = 0; i < 8 && next.action == Action::nothing && step(me, source, true, next); ++i) continue;
}

DCGN_HOST_DEVICE void finish(Endpoint& me, const Transfer& transfer, Transfer& next) {
  Record* r = transfer.record;
  if (transfer.action == Action::take) Rx(*transfer.fifo).release_to(transfer.position + transfer.packets);
  switch (transfer.after) {
    case After::nothing:
    case After::stored: break;
    case After::sent:
    case After::received: complete(me, r); break;
    case After::piece_sent:
    case After::piece_received:
      if (r->moved == r->envelope.bytes && !r->order) complete(me, r);
      break;
    case After::pulled:
      acknowledge(*transfer.fifo, r->ack, ack_pulled);
      complete(me, r);
      break;
    case After::placed: {
      OutFifo& fifo = fifo_to(me, r->envelope.peer);
#if !defined(__CUDA_ARCH__)
      store_release(fifo.acks[ack_index(r->ack)], ack_word(r->ack, ack_pulled));  // for withdraw()
#endif
      tell_placed(me, fifo, r);
      break;
    }
    case After::unstored:
      me.arrivals.free(transfer.stored->buffer);
      discard(me, transfer.stored);
      complete(me, r);
      break;
    case After::buffered:
      r->flags &= ~Record::on_device;
      start_send(me, r, next);
      break;
  }
}

DCGN_HOST_DEVICE void withdraw(Endpoint& me) {
  drain_copies(me);
#if !defined(__CUDA_ARCH__)
  if (me.fragments) me.fragments->drain();
  for (Record* r = me.announced.first; r; r = r->next)
    take_back(fifo_to(me, r->envelope.peer).acks[ack_index(r->ack)], r->ack);
  for (std::uint32_t i = 0; i < me.records_used; ++i) {
    const Record& r = me.records[i];
    if (r.state == State::streaming && r.flags & Record::is_receive && r.flags & Record::placed)
      take_back(fifo_from(me, r.envelope.peer).acks[ack_index(r.ack)], r.ack);
  }
  if (!me.lent) return;
  // The gateway says that it has a buffer before it looks at the phase a last time: so if it did not find the job
  // aborted then, it is seen to have one here.
  static_cast<void>(load_in_order(*me.phase));
  const std::uint64_t since = now_ns();
  while (load_in_order(*me.lent) && now_ns() - since < 10'000'000'000u) relax();
#endif
}

}  // namespace dcgn::message

#endif
