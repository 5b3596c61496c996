// A public call's event in the rank's trace, while one is recorded. Without, a call asks a word that its port has.
#pragma once

#include <dcgn/collective/group.hpp>
#include <dcgn/host_device.hpp>
#include <dcgn/message/endpoint.hpp>
#include <dcgn/message/trace_log.hpp>
#include <dcgn/status.hpp>

#include <cstdint>

namespace dcgn::collective {

// Requests that are active at once differ in it.
DCGN_HOST_DEVICE inline std::uint64_t number_of(const Request& request) {
  return std::uint64_t{request.generation()} << 24 | request.index();
}

// The world's rank, -1 where there is none.
DCGN_HOST_DEVICE inline std::int32_t traced_rank(const message::Port& port, const Group& group, int rank) {
  if (group.is_world()) return rank >= 0 && rank < port.size ? rank : -1;
  return group.has(rank) ? group.in_world(rank) : -1;
}

// Where a message goes, or comes from, by ranks of its communicator.
struct Ends {
  std::int32_t peer = any_source, tag = any_tag;
  std::int64_t bytes = 0;
};

// Out of line, so that a kernel which records nothing is not larger for it.
[[gnu::noinline]] DCGN_HOST_DEVICE inline message::TraceEvent* begin_event(const message::Port& port,
                                                                           const Group& group, message::Call call,
                                                                           Ends ends, Ends beside) {
  message::TraceEvent* const event = port.me->log.begin();
  *event = {message::trace_ticks(),
            0,
            0,
            ends.bytes,
            beside.bytes,
            traced_rank(port, group, ends.peer),
            ends.tag,
            traced_rank(port, group, beside.peer),
            beside.tag,
            call,
            group.pair};
  return event;
}

// From the beginning of a call to its end, by all threads of its scope; the leader writes. What it is told is put
// together where it is recorded, and it holds no reference to port and group: those of a kernel stay in registers.
class Recorded {
 public:
  template <class Scope>
  DCGN_HOST_DEVICE Recorded(const Scope& scope, const message::Port& port, const Group& group, message::Call call,
                            int peer = any_source, int tag = any_tag, std::int64_t bytes = 0, int from = any_source,
                            int from_tag = any_tag, std::int64_t from_bytes = 0) {
    if (port.watched) [[unlikely]]
      if (scope.leader())
        event_ = begin_event(message::Port(port), Group(group), call, {peer, tag, bytes}, {from, from_tag, from_bytes});
  }
  Recorded(const Recorded&) = delete;
  Recorded& operator=(const Recorded&) = delete;
  DCGN_HOST_DEVICE ~Recorded() {
    if (event_) [[unlikely]]
      event_->end = message::trace_ticks();
  }

  // Whether the calling thread records it.
  DCGN_HOST_DEVICE explicit operator bool() const { return event_; }
  // What the call has made, waits for, or has come to know: `status` is in ranks of the communicator.
  DCGN_HOST_DEVICE void names(const Request& request) const {
    if (event_) [[unlikely]]
      event_->request = number_of(request);
  }
  DCGN_HOST_DEVICE void got(const message::Port& port, const Group& group, const Status& status) const {
    if (event_) [[unlikely]] {
      event_->peer = traced_rank(port, group, status.source);
      event_->tag = status.tag;
      event_->bytes = status.bytes;
    }
  }
  DCGN_HOST_DEVICE void got_beside(const message::Port& port, const Group& group, const Status& status) const {
    if (event_) [[unlikely]] {
      event_->from = traced_rank(port, group, status.source);
      event_->from_tag = status.tag;
      event_->from_bytes = status.bytes;
    }
  }
  // It has found nothing: who asks again and again has no more than the last answer in the log.
  DCGN_HOST_DEVICE void forget(const message::Port& port) {
    if (event_) [[unlikely]]
      port.me->log.forget(event_);
    event_ = nullptr;
  }

 private:
  message::TraceEvent* event_ = nullptr;
};

// The same for the calls of which each nanosecond counts: what the event says is put together when the call is over, by
// when the log has long said where it goes.
class RecordedMessage {
 public:
  template <class Scope>
  DCGN_HOST_DEVICE RecordedMessage(const Scope& scope, const message::Port& port)
      : begin_(message::trace_ticks()), is_leader_(scope.leader()) {
    if (!is_leader_) return;
    message::TraceLog& log = port.me->log;
    place_ = log.take();
    events_ = log.events;
    capacity_ = log.capacity;
  }

  DCGN_HOST_DEVICE void end(const message::Port& port, const Group& group, message::Call call, const Ends& ends) const {
    if (!is_leader_) return;
    events_[place_ < capacity_ ? place_ : capacity_] = {begin_,    message::trace_ticks(),
                                                        0,         ends.bytes,
                                                        0,         traced_rank(port, group, ends.peer),
                                                        ends.tag,  -1,
                                                        any_tag,   call,
                                                        group.pair};
  }

 private:
  std::uint64_t begin_, place_ = 0;
  message::TraceEvent* events_ = nullptr;
  std::uint32_t capacity_ = 0;
  bool is_leader_;
};

}  // namespace dcgn::collective
