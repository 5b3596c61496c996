#include "job/world_state.hpp"
#include "message/describe.hpp"

#include <dcgn/collective/channel.hpp>
#include <dcgn/comm.hpp>
#include <dcgn/gpu/scope.hpp>
#include <dcgn/message/calls.hpp>

#include <exception>
#include <utility>

namespace dcgn {

namespace {

constexpr gpu::ThreadScope scope{};

// Something that no other thread, nor another rank's fiber in deterministic mode, has.
const void* this_agent() {
  static std::atomic<std::uintptr_t> next{1};
  if (!detail::agent) detail::agent = reinterpret_cast<void*>(next.fetch_add(1, std::memory_order_relaxed));
  return detail::agent;
}

}  // namespace

Comm::Comm(std::shared_ptr<job::WorldState> world, message::Endpoint& me)
    : world_(std::move(world)), me_(&me), owner_(this_agent()), exceptions_(std::uncaught_exceptions()) {}

Comm::Comm(Comm&& other) noexcept
    : world_(std::move(other.world_)),
      me_(std::exchange(other.me_, nullptr)),
      owner_(other.owner_),
      exceptions_(other.exceptions_) {}

Comm& Comm::operator=(Comm&& other) noexcept {
  std::swap(world_, other.world_);
  std::swap(me_, other.me_);
  std::swap(owner_, other.owner_);
  std::swap(exceptions_, other.exceptions_);
  return *this;
}

Comm::~Comm() {
  if (!world_) return;
  if (std::uncaught_exceptions() > exceptions_ && !world_->aborted())
    world_->abort({Code::aborted, world_->name_of(rank()) + " left with an exception"});
  // What goes wrong now is the watchdog's to report: a destructor does not throw.
  if (!world_->aborted()) message::flush(scope, *me_);
  world_->detach(rank());
}

void Comm::finish() { check(message::flush(scope, mine("finish")), message::Call::finish); }

message::Endpoint& Comm::mine(const char* operation) const {
  if (!world_) throw Error(Code::not_attached, operation, "this Comm has been moved from; use the one it was moved to");
  if (owner_ != this_agent())
    throw Error(Code::not_attached, operation,
                "the calling thread is not rank " + std::to_string(rank()) +
                    "; a thread becomes a rank by World::attach or Job::attach",
                rank(), to_string(place()));
  return *me_;
}

collective::Member Comm::member(message::Call call) const {
  const message::Port port(mine(message::to_string(call)));
  return {port, collective::whole_world(port)};
}

void Comm::check(Code code, message::Call call) const {
  if (code == Code::ok) return;
  const std::string operation = message::to_string(call);
  if (code == Code::aborted) {
    const std::string reason = world_->verdict().text;
    throw Error(code, operation, "the job is being stopped: " + reason.substr(0, reason.find('\n')), rank(),
                to_string(place()));
  }
  if (code == Code::deadline || code == Code::rank_ended) {
    const std::string reason = world_->verdict().text;
    if (!reason.empty()) throw Error(code, operation, reason, rank(), to_string(place()));
  }
  throw Error(code, operation, message::describe(me_->last_failure), rank(), to_string(place()));
}

void Comm::send_bytes(const void* data, std::int64_t bytes, int to, int tag) {
  check(message::send(scope, message::Port(mine("send")), message::Call::send, message::SendMode::standard, data, bytes,
                      to, tag, message::user_context),
        message::Call::send);
}

void Comm::ssend_bytes(const void* data, std::int64_t bytes, int to, int tag) {
  check(message::send(scope, message::Port(mine("ssend")), message::Call::ssend, message::SendMode::synchronous, data,
                      bytes, to, tag, message::user_context),
        message::Call::ssend);
}

void Comm::bsend_bytes(const void* data, std::int64_t bytes, int to, int tag) {
  check(message::send(scope, message::Port(mine("bsend")), message::Call::bsend, message::SendMode::buffered, data,
                      bytes, to, tag, message::user_context),
        message::Call::bsend);
}

Status Comm::recv_bytes(void* data, std::int64_t capacity, int from, int tag) {
  const Status s = message::recv(scope, message::Port(mine("recv")), message::Call::recv, data, capacity, from, tag,
                                 message::user_context);
  check(s.code, message::Call::recv);
  return s;
}

Request Comm::isend_bytes(const void* data, std::int64_t bytes, int to, int tag) {
  const Request r =
      message::isend(scope, mine("isend"), message::SendMode::standard, data, bytes, to, tag, message::user_context);
  check(r.code(), message::Call::isend);
  return r;
}

Request Comm::irecv_bytes(void* data, std::int64_t capacity, int from, int tag) {
  const Request r = message::irecv(scope, mine("irecv"), data, capacity, from, tag, message::user_context);
  check(r.code(), message::Call::irecv);
  return r;
}

std::optional<Status> Comm::test(const Request& request) {
  bool done = false;
  const Status s = message::wait_all(scope, mine("test"), message::Call::test, true, &request, 1, nullptr, done);
  check(s.code, message::Call::test);
  if (!done) return std::nullopt;
  return s;
}

Status Comm::wait(const Request& request) {
  bool done = false;
  const Status s = message::wait_all(scope, mine("wait"), message::Call::wait, false, &request, 1, nullptr, done);
  check(s.code, message::Call::wait);
  return s;
}

void Comm::wait_all(Span<const Request> requests, Status* statuses) {
  bool done = false;
  const Status s = message::wait_all(scope, mine("wait_all"), message::Call::wait_all, false, requests.data(),
                                     static_cast<std::int64_t>(requests.size()), statuses, done);
  check(s.code, message::Call::wait_all);
}

std::pair<std::int64_t, Status> Comm::wait_any(Span<const Request> requests) {
  std::int64_t index = -1;
  const Status s = message::wait_any(scope, mine("wait_any"), message::Call::wait_any, false, requests.data(),
                                     static_cast<std::int64_t>(requests.size()), index);
  check(s.code, message::Call::wait_any);
  return {index, s};
}

Status Comm::probe(int from, int tag) {
  bool found = false;
  const Status s = message::probe(scope, mine("probe"), false, from, tag, message::user_context, found);
  check(s.code, message::Call::probe);
  return s;
}

std::optional<Status> Comm::iprobe(int from, int tag) {
  bool found = false;
  const Status s = message::probe(scope, mine("iprobe"), true, from, tag, message::user_context, found);
  check(s.code, message::Call::iprobe);
  if (!found) return std::nullopt;
  return s;
}

Status Comm::sendrecv_bytes(const void* out, std::int64_t bytes, int to, int send_tag, void* in, std::int64_t capacity,
                            int from, int recv_tag) {
  const Status s = message::sendrecv(scope, mine("sendrecv"), message::Call::sendrecv, message::SendMode::standard, out,
                                     bytes, to, send_tag, in, capacity, from, recv_tag, message::user_context);
  check(s.code, message::Call::sendrecv);
  return s;
}

Status Comm::sendrecv_replace_bytes(void* data, std::int64_t bytes, int to, int send_tag, int from, int recv_tag) {
  const Status s =
      message::sendrecv(scope, mine("sendrecv_replace"), message::Call::sendrecv_replace, message::SendMode::buffered,
                        data, bytes, to, send_tag, data, bytes, from, recv_tag, message::user_context);
  check(s.code, message::Call::sendrecv_replace);
  return s;
}

}  // namespace dcgn
