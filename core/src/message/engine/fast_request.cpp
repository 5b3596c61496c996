// Requests and announcements that a call's leader begins alone.
#include "message/engine/compiled.hpp"

#include "message/engine/fast_request.hpp"

#include "message/engine/fast_path.hpp"
#include "message/engine/operations.hpp"
#include "message/engine/plan.hpp"
#include "message/engine/receiving.hpp"
#include "message/engine/sending.hpp"

#include <dcgn/message/fifo.hpp>

#include <cstdint>

#if DCGN_COMPILED_HERE

namespace dcgn::message {

DCGN_HOST_DEVICE Sent announce(Endpoint& me, std::uint32_t threads, const void* data, std::uint64_t bytes, int to,
                               int tag, std::uint32_t context) {
  OutFifo& fifo = me.out[to - me.first];
  Sent result;
  if (has_ended(me, fifo) || !begin_fast(me)) {
    result.why = Reason::off;
    return result;
  }
  const Outgoing message{{to, tag, context, 0, bytes}, static_cast<const unsigned char*>(data)};
  const SendPlan plan = fifo.first ? SendPlan::queued() : plan_send(me, fifo, threads, message);
  result.why = plan.is_rendezvous() && !has_record(me) ? Reason::requests : plan.why;
  if (!plan.is_rendezvous() || !has_record(me)) {
    end_fast(me);
    return result;
  }
  Header h = header_of(me, fifo, threads, message, plan);
  h.ack = take_ack(me);
  std::uint64_t& word = fifo.acks[ack_index(h.ack)];
  Tx(fifo).put(plan.place, h, to);
  ++fifo.sent;
  result.state = Sent::State::pending;
  std::uint64_t answer = ack_none;
  spin(fast_answer_looks, [&] {
    answer = ack_answer(h.ack, load_answer(word));
    return answer >= ack_pulled;
  });
  if (answer == ack_pulled) result.state = Sent::State::over;
  if (result.state == Sent::State::over) {
    free_ack(me, h.ack);
    ++me.statistics.sent_messages;
    me.statistics.sent_bytes += bytes;
    count(me, context, Reason::none);
  } else {  // goes on as an ordinary send
    Record* r = take_record(me);
    r->envelope = message.envelope;
    r->buffer = const_cast<unsigned char*>(message.data);
    r->ack = h.ack;
    r->state = State::announced;
    me.announced.append(r);
    result.index = static_cast<std::uint32_t>(r - me.records);
    result.generation = r->generation;
    const bool in_pieces = answer >= ack_accepted && answer < ack_accepted + ack_place;
    count(me, context, answer == ack_none ? Reason::unanswered : in_pieces ? Reason::pieces : Reason::moved);
  }
  ++me.statistics.activity;
  end_fast(me);
  return result;
}

DCGN_HOST_DEVICE Request begin_send(Endpoint& me, std::uint32_t threads, const ConstBufferRef& buffer, int to, int tag,
                                    std::uint32_t context) {
  if (has_ended(me, me.out[to - me.first]) || !begin_fast(me)) return {};
  Request request;
  if (Record* const r = new_send(me, buffer, to, tag, context)) {
    request = request_of(me, r);
    count(me, context, Reason::nonblocking);
    me.threads = threads;
    Transfer nothing;
    start_send(me, r, nothing);
    begin_copy(me, to, static_cast<std::uint64_t>(buffer.bytes));
  }
  end_fast(me);
  return request;
}

DCGN_HOST_DEVICE Request begin_receive(Endpoint& me, std::uint32_t threads, const BufferRef& buffer, int from, int tag,
                                       std::uint32_t context) {
  if (!begin_fast(me)) return {};
  Request request;
  Record* const r = me.unexpected_count ? nullptr : new_receive(me, buffer, from, tag, context);
  if (r) {
    request = request_of(me, r);
    count(me, context, Reason::nonblocking);
    r->state = State::posted;
    me.posted.append(r);
    me.threads = threads;
    begin_copy(me, from, static_cast<std::uint64_t>(buffer.bytes));
  }
  end_fast(me);
  return request;
}

}  // namespace dcgn::message

#endif
