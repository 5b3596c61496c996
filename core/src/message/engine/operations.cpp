// What calls wait for: beginning it, and whether it is done.
#include "message/engine/compiled.hpp"

#include "message/engine/operations.hpp"

#include "message/engine/plan.hpp"
#include "message/engine/receiving.hpp"
#include "message/engine/records.hpp"
#include "message/engine/sending.hpp"

#include <cstdint>

#if DCGN_COMPILED_HERE

namespace dcgn::message {

DCGN_HOST_DEVICE bool settled(Endpoint& me, Record* r, const Request& request, bool blocking, Result& result) {
  if (!blocking) {
    result.index = request.index();
    result.generation = request.generation();
    return true;
  }
  if (r->state != State::complete) return false;
  collect(me, r, result);
  return true;
}

DCGN_HOST_DEVICE Code SendOperation::begin(Transfer& transfer) {
  const auto bytes = static_cast<std::uint64_t>(buffer.bytes);
  unsigned char* copy = nullptr;
  if (mode == SendMode::buffered && bytes) {
    copy = static_cast<unsigned char*>(me.buffer.allocate(bytes));
    no_room = !copy;
    if (no_room) return Code::out_of_resources;
  }
  record = new_send(me, buffer, peer, tag, context);
  if (!record) {
    if (copy) me.buffer.free(copy);
    return Code::out_of_resources;
  }
  record->flags = mode == SendMode::synchronous ? Record::synchronous
                  : mode == SendMode::buffered  ? Record::buffered
                                                : 0;
  if (bytes && is_device_memory(me, buffer.data)) record->flags |= Record::on_device;
  if (mode == SendMode::buffered) record->buffer = copy;
  request = request_of(me, record);
  count(me, context, why);
  if (copy) {
    transfer.action = Action::copy;
    transfer.after = After::buffered;
    transfer.to = copy;
    transfer.from = static_cast<const unsigned char*>(buffer.data);
    transfer.bytes = bytes;
    transfer.record = record;
  } else {
    start_send(me, record, transfer);
  }
  return Code::ok;
}

DCGN_HOST_DEVICE Code ReceiveOperation::begin(Transfer& transfer) {
  record = new_receive(me, buffer, peer, tag, context);
  if (!record) return Code::out_of_resources;
  if (blocking) record->flags |= Record::waited;
  if (buffer.bytes && is_device_memory(me, buffer.data)) record->flags |= Record::on_device;
  request = request_of(me, record);
  count(me, context, why);
  start_receive(me, record, transfer);
  return Code::ok;
}

DCGN_HOST_DEVICE Code ExchangeOperation::begin(Transfer& transfer) { return send.begin(transfer); }

DCGN_HOST_DEVICE bool ExchangeOperation::done(Result& result, Transfer& transfer) {
  if (!receive.record) {
    result.status.code = receive.begin(transfer);
    return result.status.code != Code::ok;
  }
  if (!receive_done) {
    if (!receive.done(received, transfer)) return false;
    receive_done = true;
  }
  // A buffered send frees its record when it is complete, any other one waits to be collected.
  Record* sent = record_of(send.me, send.request);
  if (sent && sent->state != State::complete) return false;
  if (sent) free_record(send.me, sent);
  result = received;
  return true;
}

DCGN_HOST_DEVICE bool ProbeOperation::done(Result& result, Transfer&) {
  Record* before;
  const Record* u = find_unexpected(me, wanted, &before);
  if (!u) return false;
  result.status = status_of(*u);
  result.index = 0;
  return true;
}

DCGN_HOST_DEVICE bool AllOperation::done(Result& result, Transfer&) {
  for (; next < count; ++next) {
    const Record* r = record_of(me, requests[next]);
    if (r && r->state != State::complete) return false;
  }
  result.index = count;
  for (std::int64_t i = 0; i < count; ++i) {
    Record* r = record_of(me, requests[i]);
    Status status;
    status.code = requests[i].code();
    if (r) {
      status = status_of(*r);
      free_record(me, r);
    }
    if (result.status.code == Code::ok) {  // the first error, or the last status
      result.status = status;
      result.capacity = r ? r->capacity : 0;
    }
    if (statuses) statuses[i] = status;
  }
  return true;
}

DCGN_HOST_DEVICE Waited AllOperation::waited() const {
  Waited w;
  for (std::int64_t i = count; i-- > next;) {
    const Record* r = record_of(me, requests[i]);
    if (!r || r->state == State::complete) continue;
    const std::uint32_t open = w.requests + 1;
    w = waited_for(*r);
    w.requests = open;
  }
  return w;
}

DCGN_HOST_DEVICE bool AnyOperation::done(Result& result, Transfer&) {
  bool active = false;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t at = (me.next_choice + i) % count;
    Record* r = record_of(me, requests[at]);
    if (!r) continue;
    active = true;
    if (r->state != State::complete) continue;
    collect(me, r, result);
    result.index = at;
    me.next_choice = static_cast<std::uint32_t>(at + 1);
    return true;
  }
  return !active;
}

DCGN_HOST_DEVICE bool FlushOperation::done(Result&, Transfer&) {
#if !defined(__CUDA_ARCH__)
  if (me.fragments && me.fragments->held()) return false;
#endif
  return !me.queued && !me.announced.first && !me.streaming.first && !me.copies.under_way.first;
}

DCGN_HOST_DEVICE Waited FlushOperation::waited() const {
  const Record* r = me.announced.first ? me.announced.first : me.streaming.first ? me.streaming.first : nullptr;
  if (!r && me.queued) r = me.queued->first;
  if (!r) r = me.copies.under_way.first;
#if !defined(__CUDA_ARCH__)
  if (!r && me.fragments && me.fragments->held()) return {*me.fragments->held(), false, 0, 0};
#endif
  return r ? waited_for(*r) : Waited{};
}

}  // namespace dcgn::message

#endif
