// A public call's event in the rank's trace, while one is recorded. Without, a call asks a word that its port has.
#pragma once

#include <dcgn/group.hpp>
#include <dcgn/host_device.hpp>
#include <dcgn/message/endpoint.hpp>
#include <dcgn/message/trace_log.hpp>
#include <dcgn/message/two_words.hpp>
#include <dcgn/status.hpp>

#include <cstddef>
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
DCGN_HOST_DEVICE message::TraceEvent* begin_event(const message::Port& port, const Group& group, message::Call call,
                                                  Ends ends, Ends beside);

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
      event_->what = message::TraceEvent::what_of(event_->call(), event_->communicator(), status.bytes);
    }
  }
  DCGN_HOST_DEVICE void got_beside(const message::Port& port, const Group& group, const Status& status) const {
    if (event_) [[unlikely]] {
      event_->from = traced_rank(port, group, status.source);
      event_->from_tag = status.tag;
      event_->from_bytes = status.bytes;
    }
  }
  // Which way its message took.
  DCGN_HOST_DEVICE void took(message::TraceLog& log) const {
    if (event_) [[unlikely]]
      event_->slow = log.take_slow();
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

// The same for a slot's sends and receives, of which each nanosecond counts: a look at the clock and at the log when
// they begin, beside the loads that they make anyway, and the rest once the message is on its way, or has come. Where
// nothing is recorded these are a few instructions, none of which anything waits for.
class RecordedMessage {
 public:
  DCGN_HOST_DEVICE explicit RecordedMessage(const message::Port& port) {
#if !defined(__CUDA_ARCH__)
    if (!port.watched) [[likely]]
      return;
#endif
    begin_ = message::trace_ticks();  // a GPU has done both before it could have found out whether to
    log_ = message::load_two(&port.me->log.next);
  }

  // All threads of the scope come to it. `peer` is the world's rank, `communicator` as Group::pair.
  template <class Scope>
  DCGN_HOST_DEVICE void end(const Scope& scope, const message::Port& port, message::Call call, int communicator,
                            int peer, int tag, std::int64_t bytes) const {
    if (!port.watched) [[likely]]
      return;
    write(scope.leader(), port.me->log, begin_, log_, call, communicator, peer, tag, bytes);
    scope.sync();  // another thread may make the next call
  }
  // The same where the call has taken its time. `peer` is the communicator's.
  template <class Scope>
  DCGN_HOST_DEVICE void end_late(const Scope& scope, const message::Port& port, const Group& group, message::Call call,
                                 int peer, int tag, std::int64_t bytes) const {
    if (!port.watched) [[likely]]
      return;
    write_late(scope.leader(), port.me->log, begin_, log_, call, group.pair, traced_rank(port, group, peer), tag,
               bytes);
    scope.sync();
  }

 private:
  // Without a branch for the leader: the threads of a warp would have to come together again.
  DCGN_HOST_DEVICE static void write(bool leader, message::TraceLog& log, std::uint64_t begin, message::TwoWords place,
                                     message::Call call, std::int32_t communicator, int peer, int tag,
                                     std::int64_t bytes) {
    using message::TraceEvent, message::TraceLog;
    static_assert(offsetof(TraceLog, stop) == offsetof(TraceLog, next) + 8);
    static_assert(offsetof(TraceEvent, end) == 8 && offsetof(TraceEvent, what) == 16);
    static_assert(offsetof(TraceEvent, peer) == 24 && offsetof(TraceEvent, tag) == 28);
    auto* const event = reinterpret_cast<TraceEvent*>(place.first);
    if (place.first == place.second) [[unlikely]]
      return drop(leader, log);
    message::store_if(leader, &log.next, place.first + sizeof(TraceEvent));
    message::store_two_if(leader, event, begin, message::trace_ticks());
    message::store_two_if(leader, &event->what, TraceEvent::what_of(call, communicator, bytes),
                          static_cast<std::uint32_t>(peer) | static_cast<std::uint64_t>(static_cast<std::uint32_t>(tag))
                                                                 << 32);
  }
  DCGN_HOST_DEVICE static void drop(bool leader, message::TraceLog& log);
  DCGN_HOST_DEVICE static void write_late(bool leader, message::TraceLog& log, std::uint64_t begin,
                                          message::TwoWords place, message::Call call, std::int32_t communicator,
                                          int peer, int tag, std::int64_t bytes);

  std::uint64_t begin_;    // of these nothing where nothing is recorded
  message::TwoWords log_;  // where the event goes, and where the log ends
};

}  // namespace dcgn::collective
