// A public call's event in the rank's trace, while one is recorded. Without, a call asks a word that its port has.
#pragma once

#include <dcgn/collective/group.hpp>
#include <dcgn/host_device.hpp>
#include <dcgn/message/endpoint.hpp>
#include <dcgn/message/trace_log.hpp>
#include <dcgn/status.hpp>

#include <cstdint>

namespace dcgn::collective {

// What is known of a call when it begins. Ranks are those of its communicator.
struct Beginning {
  message::Call call;
  std::int32_t peer = any_source;
  std::int32_t tag = any_tag;
  std::int64_t bytes = 0;
  std::int32_t from = any_source, from_tag = any_tag;
  std::int64_t from_bytes = 0;
  std::uint64_t request = 0;
};

// Requests that are active at once differ in it.
DCGN_HOST_DEVICE inline std::uint64_t number_of(const Request& request) {
  return std::uint64_t{request.generation()} << 24 | request.index();
}

// The world's rank, -1 where there is none.
DCGN_HOST_DEVICE inline std::int32_t traced_rank(const message::Port& port, const Group& group, int rank) {
  if (group.is_world()) return rank >= 0 && rank < port.size ? rank : -1;
  return group.has(rank) ? group.in_world(rank) : -1;
}

// Out of line, so that a kernel which records nothing is not larger for it.
[[gnu::noinline]] DCGN_HOST_DEVICE inline message::TraceEvent* begin_event(const message::Port& port,
                                                                           const Group& group, Beginning what) {
  message::TraceEvent* const event = port.me->log.begin();
  const std::uint64_t now = now_ns();
  *event = {now,
            0,
            what.request,
            what.bytes,
            what.from_bytes,
            traced_rank(port, group, what.peer),
            what.tag,
            traced_rank(port, group, what.from),
            what.from_tag,
            what.call,
            group.pair};
  return event;
}

// From the beginning of a call to its end, by all threads of its scope; the leader writes. It holds no reference to
// port and group: those of a kernel stay in registers.
class Recorded {
 public:
  template <class Scope>
  DCGN_HOST_DEVICE Recorded(const Scope& scope, const message::Port& port, const Group& group, const Beginning& what) {
    if (port.watched & message::TraceLog::has_events) [[unlikely]]
      if (scope.leader()) event_ = begin_event(message::Port(port), Group(group), what);
  }
  Recorded(const Recorded&) = delete;
  Recorded& operator=(const Recorded&) = delete;
  DCGN_HOST_DEVICE ~Recorded() {
    if (event_) [[unlikely]]
      event_->end = now_ns();
  }

  // What the call has made, or has come to know: `status` is in ranks of the communicator.
  DCGN_HOST_DEVICE void made(const Request& request) const {
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

}  // namespace dcgn::collective
