// What a call waits for: a send, a receive, a probe, some requests. All functions here are for a call's leader; see
// operate() in calls.hpp.
#pragma once

#include <dcgn/call.hpp>
#include <dcgn/status.hpp>
#include "message/engine/progress.hpp"
#include "message/engine/wait.hpp"

#include <cstdint>

namespace dcgn::message {

// What a call returns.
struct Result {
  Status status;
  std::uint32_t generation = 0;  // of the request that it began, or the number of
  std::int64_t index = -1;       // the one that it chose
  std::uint64_t capacity = 0;    // of a receive's buffer; for the leader
};

DCGN_HOST_DEVICE inline Status status_of(const Record& r) {
  return {r.envelope.peer, r.envelope.tag, static_cast<std::int64_t>(r.envelope.bytes), r.code, r.envelope.elements};
}

DCGN_HOST_DEVICE inline Request request_of(const Endpoint& me, const Record* r) {
  return Request(me.rank, static_cast<std::uint32_t>(r - me.records), r->generation);
}

// Whether this rank has ever made such a request, of those that say so.
DCGN_HOST_DEVICE inline bool was_made(const Endpoint& me, const Request& request) {
  if (request.is_null()) return true;
  return request.index() < me.records_used &&
         static_cast<std::int32_t>(request.generation() - me.records[request.index()].generation) <= 0;
}

// The record of an active request; null where the request is null or has been waited for.
DCGN_HOST_DEVICE inline Record* record_of(Endpoint& me, const Request& request) {
  if (request.is_null() || !was_made(me, request)) return nullptr;
  Record* r = &me.records[request.index()];
  return r->state != State::idle && r->generation == request.generation() ? r : nullptr;
}

DCGN_HOST_DEVICE inline Waited waited_for(const Record& r) {
  Waited w{r.envelope, (r.flags & Record::is_receive) != 0, 0, r.flags & Record::is_receive ? r.capacity : 0};
  if (r.state == State::posted) w.envelope.bytes = r.capacity;
  return w;
}

// The result of a completed record, which is freed.
DCGN_HOST_DEVICE inline void collect(Endpoint& me, Record* r, Result& result) {
  result.status = status_of(*r);
  result.capacity = r->capacity;
  free_record(me, r);
}

// The record of a new send or receive; null where there is none left.
DCGN_HOST_DEVICE inline Record* new_send(Endpoint& me, const ConstBufferRef& buffer, int to, int tag,
                                         std::uint32_t context) {
  Record* r = take_record(me);
  if (!r) return nullptr;
  r->envelope = {to, tag, context, buffer.elements, static_cast<std::uint64_t>(buffer.bytes)};
  r->buffer = const_cast<unsigned char*>(static_cast<const unsigned char*>(buffer.data));
  return r;
}

DCGN_HOST_DEVICE inline Record* new_receive(Endpoint& me, const BufferRef& buffer, int from, int tag,
                                            std::uint32_t context) {
  Record* r = take_record(me);
  if (!r) return nullptr;
  r->envelope = {from, tag, context, 0, 0};
  r->buffer = static_cast<unsigned char*>(buffer.data);
  r->capacity = static_cast<std::uint64_t>(buffer.bytes);
  r->flags = Record::is_receive;
  return r;
}

// Whether a call that started `r` may return: at once with its request, or with its result when it is complete.
DCGN_HOST_DEVICE bool settled(Endpoint& me, Record* r, const Request& request, bool blocking, Result& result);

// Every operation has begin(transfer), done(result, transfer), waited() and source(), all for the leader: see
// operate().
struct SendOperation {
  Endpoint& me;
  ConstBufferRef buffer;
  int peer, tag;
  std::uint32_t context;
  SendMode mode;
  bool blocking;
  Reason why;            // it takes this path
  bool no_room = false;  // for the copy of a buffered send
  Record* record = nullptr;
  Request request{};

  DCGN_HOST_DEVICE Code begin(Transfer& transfer);
  DCGN_HOST_DEVICE bool done(Result& result, Transfer&) {
    return settled(me, record, request, blocking && mode != SendMode::buffered, result);
  }
  DCGN_HOST_DEVICE Waited waited() const {
    const auto bytes = static_cast<std::uint64_t>(buffer.bytes);
    return record ? waited_for(*record) : Waited{{peer, tag, context, 0, bytes}, false, 0, no_room ? bytes : 0};
  }
  DCGN_HOST_DEVICE int source() const { return peer; }  // an answer is likely to come from there
};

// A message that a fast send has announced.
struct AnnouncedOperation {
  Endpoint& me;
  Record* record;
  Request request;

  DCGN_HOST_DEVICE Code begin(Transfer&) { return Code::ok; }
  DCGN_HOST_DEVICE bool done(Result& result, Transfer&) { return settled(me, record, request, true, result); }
  DCGN_HOST_DEVICE Waited waited() const { return waited_for(*record); }
  DCGN_HOST_DEVICE int source() const { return any_source; }
};

struct ReceiveOperation {
  Endpoint& me;
  BufferRef buffer;
  int peer, tag;
  std::uint32_t context;
  bool blocking;
  Reason why;  // it takes this path
  Record* record = nullptr;
  Request request{};

  DCGN_HOST_DEVICE Code begin(Transfer& transfer);
  DCGN_HOST_DEVICE bool done(Result& result, Transfer&) { return settled(me, record, request, blocking, result); }
  DCGN_HOST_DEVICE Waited waited() const {
    if (!record) return {{peer, tag, context, 0, static_cast<std::uint64_t>(buffer.bytes)}, true, 0, 0};
    return waited_for(*record);
  }
  DCGN_HOST_DEVICE int source() const { return peer; }
};

// A send and a receive that go on together. With SendMode::buffered the receive may replace what is sent.
struct ExchangeOperation {
  SendOperation send;
  ReceiveOperation receive;
  Result received{};
  bool receive_done = false;

  DCGN_HOST_DEVICE Code begin(Transfer& transfer);
  DCGN_HOST_DEVICE bool done(Result& result, Transfer& transfer);
  DCGN_HOST_DEVICE Waited waited() const { return receive.record && !receive_done ? receive.waited() : send.waited(); }
  DCGN_HOST_DEVICE int source() const { return receive.peer; }
};

// A message that could be received is left where it is.
struct ProbeOperation {
  Endpoint& me;
  Envelope wanted;

  DCGN_HOST_DEVICE Code begin(Transfer&) { return Code::ok; }
  DCGN_HOST_DEVICE bool done(Result& result, Transfer&);
  DCGN_HOST_DEVICE Waited waited() const { return {wanted, true, 0, 0}; }
  DCGN_HOST_DEVICE int source() const { return wanted.peer; }
};

DCGN_HOST_DEVICE inline Code all_made(const Endpoint& me, const Request* requests, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i)
    if (!was_made(me, requests[i])) return Code::invalid_request;
  return Code::ok;
}

// All of the requests. `statuses` may be null.
struct AllOperation {
  Endpoint& me;
  const Request* requests;
  std::int64_t count;
  Status* statuses;
  std::int64_t next = 0;  // all before are complete

  DCGN_HOST_DEVICE Code begin(Transfer&) { return all_made(me, requests, count); }
  DCGN_HOST_DEVICE bool done(Result& result, Transfer&);
  DCGN_HOST_DEVICE Waited waited() const;
  DCGN_HOST_DEVICE int source() const {
    const Record* r = next < count ? record_of(me, requests[next]) : nullptr;
    return r ? r->envelope.peer : any_source;
  }
};

// One of the requests, taking turns among those that are complete. The index is -1 where none is active.
struct AnyOperation {
  Endpoint& me;
  const Request* requests;
  std::int64_t count;

  DCGN_HOST_DEVICE Code begin(Transfer&) { return all_made(me, requests, count); }
  DCGN_HOST_DEVICE bool done(Result& result, Transfer&);
  DCGN_HOST_DEVICE Waited waited() const {
    AllOperation all{me, requests, count, nullptr};
    return all.waited();
  }
  DCGN_HOST_DEVICE int source() const { return any_source; }
};

// Every message that this rank has begun to send is on its way and every offer of it has been taken up; and nobody
// waits for a copy of its own, whose sender it must still tell.
struct FlushOperation {
  Endpoint& me;

  DCGN_HOST_DEVICE Code begin(Transfer&) { return Code::ok; }
  DCGN_HOST_DEVICE bool done(Result&, Transfer&);
  DCGN_HOST_DEVICE Waited waited() const;
  DCGN_HOST_DEVICE int source() const { return any_source; }
};

}  // namespace dcgn::message
