#include "job/background.hpp"
#include "job/cpu_scope.hpp"
#include "job/recorded.hpp"
#include "job/world_state.hpp"
#include "message/describe.hpp"

#include <dcgn/collective/channel.hpp>
#include <dcgn/collective/communicators.hpp>
#include <dcgn/collective/messages.hpp>
#include <dcgn/comm.hpp>
#include <dcgn/message/calls.hpp>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>
#include <utility>

namespace dcgn {

namespace {

// Something that no other thread, nor another rank's fiber in deterministic mode, has.
const void* this_agent() {
  static std::atomic<std::uintptr_t> next{1};
  if (!detail::agent) detail::agent = reinterpret_cast<void*>(next.fetch_add(1, std::memory_order_relaxed));
  return detail::agent;
}

// What the rank has once it has begun a call that goes on beside others.
job::Background& background_of(message::Endpoint& me) {
  if (!me.background) me.background = new job::Background(me);  // ends with the rank's own Comm
  return static_cast<job::Background&>(*me.background);
}

}  // namespace

Comm::Comm(std::shared_ptr<job::WorldState> world, message::Endpoint& me, const collective::Group& group)
    : world_(std::move(world)),
      me_(&me),
      owner_(this_agent()),
      exceptions_(std::uncaught_exceptions()),
      group_(group) {}

Comm::Comm(Comm&& other) noexcept
    : world_(std::move(other.world_)),
      me_(std::exchange(other.me_, nullptr)),
      owner_(other.owner_),
      exceptions_(other.exceptions_),
      group_(other.group_) {}

Comm& Comm::operator=(Comm&& other) noexcept {
  std::swap(world_, other.world_);
  std::swap(me_, other.me_);
  std::swap(owner_, other.owner_);
  std::swap(exceptions_, other.exceptions_);
  std::swap(group_, other.group_);
  return *this;
}

int Comm::rank() const noexcept { return !me_ ? -1 : group_.is_world() ? me_->rank : group_.rank; }
int Comm::size() const noexcept { return !me_ ? 0 : group_.is_world() ? me_->size : group_.size; }
std::uint64_t Comm::deadline_ns() const noexcept { return me_ ? me_->limits.deadline_ns : 0; }
Place Comm::place() const noexcept { return !me_ ? Place{} : Place{me_->node, me_->cpu, me_->device, me_->slot}; }

Comm::~Comm() {
  if (!world_) return;
  if (!group_.is_world()) {
    // Whoever is no longer this rank has nothing to give back.
    if (owner_ != this_agent() || world_->memory().ended(me_->rank)) return;
    if (me_->background && !background_of(*me_).finish(group_.pair, std::uncaught_exceptions() > exceptions_)) return;
    collective::release(cpu_scope, {message::Port(*me_), group_});
    return;
  }
  if (std::uncaught_exceptions() > exceptions_ && !world_->aborted())
    world_->abort({Code::aborted, world_->name_of(rank()) + " left with an exception"});
  // What goes wrong now is the watchdog's to report: a destructor does not throw.
  if (me_->background) {
    background_of(*me_).finish();
    if (background_of(*me_).take_fault() && !world_->aborted())
      world_->abort({Code::aborted, world_->name_of(rank()) + ": a collective that it did not wait for has failed"});
    delete std::exchange(me_->background, nullptr);
  }
  if (!world_->aborted() && message::flush(cpu_scope, *me_) != Code::ok) {
    const std::string reason = world_->verdict().text;
    std::fprintf(stderr, "dcgn: %s went with sends that are not complete: %s\n", world_->name_of(rank()).c_str(),
                 reason.substr(0, reason.find('\n')).c_str());
  }
  world_->detach(rank());
}

bool Comm::is_here(int r) const noexcept { return world_ && world_->home().has(in_world(r)); }

bool Comm::reaches(const Device& device) const noexcept {
  return world_ && std::any_of(world_->devices().begin(), world_->devices().end(),
                               [&](const Device& d) { return d.index() == device.index(); });
}

void Comm::finish() {
  message::Endpoint& me = mine(message::Call::finish);
  const job::Recorded recorded(me, group_, message::Call::finish);
  if (me.background) {
    background_of(me).finish();
    check_background(nullptr);
  }
  check(message::flush(cpu_scope, me), message::Call::finish);
}

message::Endpoint& Comm::mine(message::Call call) const {
  const char* const operation = message::to_string(call);
  if (!world_) throw Error(Code::not_attached, operation, "this Comm has been moved from; use the one it was moved to");
  if (owner_ != this_agent())
    throw Error(Code::not_attached, operation,
                "the calling thread is not rank " + std::to_string(me_->rank) +
                    "; a thread becomes a rank by World::attach or Job::attach",
                me_->rank, to_string(place()));
  if (me_->background && me_->background->is_calling())
    throw Error(Code::concurrent_use, operation, "called by the operation of a collective that is under way", me_->rank,
                to_string(place()));
  if (!group_.is_world() && world_->memory().ended(me_->rank))
    throw Error(Code::not_attached, operation,
                "the Comm is gone that the thread was attached by; expected this one, made from it, to go first",
                me_->rank, to_string(place()));
  return *me_;
}

collective::Member Comm::member(message::Call call) const {
  const message::Port port(mine(call));
  return {port, group_.is_world() ? collective::whole_world(port) : group_};
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
    if (!reason.empty()) throw Error(code, operation, reason, me_->rank, to_string(place()));
  }
  std::string reason = message::describe(me_->last_failure);
  if (code == Code::rank_ended && message::is_collective(call)) {
    message::publish_turns(*me_);
    reason += world_->mismatch(true);
  }
  throw Error(code, operation, reason, me_->rank, to_string(place()));
}

void Comm::check_waited(Span<const Request> requests, Code code, message::Call call) const {
  if (requests.data() == nullptr) return check(code, call);
  std::exception_ptr first;  // all have been waited for, so the others are over, too
  for (const Request& request : requests) {
    try {
      check_background(&request);
    } catch (...) {
      if (!first) first = std::current_exception();
    }
  }
  if (first) std::rethrow_exception(first);
  check(code, call);
}

void Comm::check_background(const Request* request) const {
  if (!me_->background) return;
  job::Background& background = background_of(*me_);
  const auto fault = request ? background.take_fault(*request) : background.take_fault();
  if (!fault) return;
  if (fault->thrown) std::rethrow_exception(fault->thrown);
  me_->last_failure = fault->failure;
  check(fault->failure.code, fault->failure.call);
}

Request Comm::begin(message::Call call, std::function<Code()> act) {
  message::Endpoint& me = mine(call);
  job::Background& background = background_of(me);
  const Request request = background.begin(call, group_.is_world() ? 0 : group_.pair, std::move(act));
  if (request.is_null()) check(Code::out_of_resources, call);
  // What is wrong from the start is an error at once; what others have a part in comes out of the wait, however early
  // it is found.
  const auto* const fault = background.find_fault(request);
  if (fault && !fault->thrown && fault->failure.code != Code::mismatch && fault->failure.code != Code::truncated &&
      fault->failure.code != Code::rank_ended)
    wait_untold(request);
  return request;
}

void Comm::send_bytes(const void* data, std::int64_t bytes, int to, int tag) {
  send_as(message::Call::send, message::SendMode::standard, {data, bytes}, to, tag);
}

void Comm::ssend_bytes(const void* data, std::int64_t bytes, int to, int tag) {
  send_as(message::Call::ssend, message::SendMode::synchronous, {data, bytes}, to, tag);
}

void Comm::bsend_bytes(const void* data, std::int64_t bytes, int to, int tag) {
  send_as(message::Call::bsend, message::SendMode::buffered, {data, bytes}, to, tag);
}

void Comm::send_as(message::Call call, message::SendMode mode, const message::ConstBufferRef& buffer, int to, int tag) {
  message::Endpoint& me = mine(call);
  const job::Recorded recorded(me, group_, call, to, tag, buffer.bytes);
  check(group_.is_world()
            ? message::send(cpu_scope, message::Port(me), call, mode, buffer, to, tag, message::user_context)
            : collective::send(cpu_scope, member(call), call, mode, buffer, to, tag),
        call);
}

Status Comm::recv_bytes(void* data, std::int64_t capacity, int from, int tag) {
  return recv_to({data, capacity}, from, tag);
}

Status Comm::recv_to(const message::BufferRef& buffer, int from, int tag) {
  constexpr auto call = message::Call::recv;
  message::Endpoint& me = mine(call);
  const job::Recorded recorded(me, group_, call, from, tag, buffer.bytes);
  const Status s = group_.is_world()
                       ? message::recv(cpu_scope, message::Port(me), call, buffer, from, tag, message::user_context)
                       : collective::recv(cpu_scope, member(call), buffer, from, tag);
  if (s.code == Code::ok || s.code == Code::truncated) recorded.got(s);
  check(s.code, call);
  return s;
}

Request Comm::isend_bytes(const void* data, std::int64_t bytes, int to, int tag) {
  return isend_as({data, bytes}, to, tag);
}

Request Comm::isend_as(const message::ConstBufferRef& buffer, int to, int tag) {
  constexpr auto call = message::Call::isend;
  const collective::Member m = member(call);
  const job::Recorded recorded(*m.port.me, group_, call, to, tag, buffer.bytes);
  const Request r = collective::isend(cpu_scope, m, buffer, to, tag);
  recorded.names(r);
  check(r.code(), call);
  return r;
}

Request Comm::irecv_bytes(void* data, std::int64_t capacity, int from, int tag) {
  constexpr auto call = message::Call::irecv;
  const collective::Member m = member(call);
  const job::Recorded recorded(*m.port.me, group_, call, from, tag, capacity);
  const Request r = collective::irecv(cpu_scope, m, {data, capacity}, from, tag);
  recorded.names(r);
  check(r.code(), call);
  return r;
}

std::optional<Status> Comm::test(const Request& request) {
  constexpr auto call = message::Call::test;
  message::Endpoint& me = mine(call);
  job::Recorded recorded(me, group_, call);
  recorded.names(request);
  bool done = false;
  const Status s = message::wait_all(cpu_scope, me, call, true, &request, 1, nullptr, done);
  if (!done) {
    recorded.forget();
    check(s.code, call);
    return std::nullopt;
  }
  const auto packed = world_->packed_requests(me_->rank).take(request);
  check_waited({&request, 1}, s.code, call);
  const Status status = collective::status_in(group_, s);
  recorded.got(status);
  if (packed) packed->check(message::to_string(call), status);
  return status;
}

Status Comm::wait(const Request& request) {
  const job::Recorded recorded(mine(message::Call::wait), group_, message::Call::wait);
  recorded.names(request);
  const Status status = wait_untold(request);
  recorded.got(status);
  return status;
}

// As wait(), in the midst of another call.
Status Comm::wait_untold(const Request& request) {
  constexpr auto call = message::Call::wait;
  bool done = false;
  const Status s = message::wait_all(cpu_scope, mine(call), call, false, &request, 1, nullptr, done);
  const auto packed = done ? world_->packed_requests(me_->rank).take(request) : std::nullopt;
  check_waited({&request, 1}, s.code, call);
  const Status status = collective::status_in(group_, s);
  if (packed) packed->check(message::to_string(call), status);
  return status;
}

void Comm::wait_all(Span<const Request> requests, Status* statuses) {
  constexpr auto call = message::Call::wait_all;
  message::Endpoint& me = mine(call);
  const job::Recorded recorded(me, group_, call);
  if (requests.data() && requests.size() == 1) recorded.names(requests[0]);
  job::PackedRequests& all_packed = world_->packed_requests(me_->rank);
  std::vector<Status> own;
  if (!statuses && !all_packed.empty()) {
    own.resize(requests.size());
    statuses = own.data();
  }
  bool done = false;
  const Status s = message::wait_all(cpu_scope, me, call, false, requests.data(),
                                     static_cast<std::int64_t>(requests.size()), statuses, done);
  std::vector<std::pair<job::Packed, Status>> ended;
  if (statuses && done)
    for (std::size_t i = 0; i < requests.size(); ++i) {
      statuses[i] = collective::status_in(group_, statuses[i]);
      if (auto packed = all_packed.take(requests[i])) ended.emplace_back(std::move(*packed), statuses[i]);
    }
  check_waited(requests, s.code, call);
  for (const auto& [packed, status] : ended) packed.check(message::to_string(call), status);
}

std::pair<std::int64_t, Status> Comm::wait_any(Span<const Request> requests) {
  constexpr auto call = message::Call::wait_any;
  message::Endpoint& me = mine(call);
  const job::Recorded recorded(me, group_, call);
  std::int64_t index = -1;
  const Status s =
      message::wait_any(cpu_scope, me, call, false, requests.data(), static_cast<std::int64_t>(requests.size()), index);
  const Span<const Request> chosen =
      index < 0 ? Span<const Request>() : Span<const Request>(requests.data() + index, 1);
  const auto packed = index < 0 ? std::nullopt : world_->packed_requests(me_->rank).take(chosen[0]);
  if (index >= 0) recorded.names(chosen[0]);
  check_waited(chosen, s.code, call);
  const Status status = collective::status_in(group_, s);
  recorded.got(status);
  if (packed) packed->check(message::to_string(call), status);
  return {index, status};
}

Status Comm::probe(int from, int tag) {
  constexpr auto call = message::Call::probe;
  const collective::Member m = member(call);
  const job::Recorded recorded(*m.port.me, group_, call, from, tag);
  bool found = false;
  const Status s = collective::probe(cpu_scope, m, false, from, tag, found);
  if (found) recorded.got(s);
  check(s.code, call);
  return s;
}

std::int64_t Comm::eager_limit(int to) const {
  const message::Endpoint& me = mine(message::Call::send);
  if (to < 0 || to >= size())
    throw Error(Code::invalid_rank, "eager_limit",
                "rank " + std::to_string(to) + " is out of range, expected 0.." + std::to_string(size() - 1), rank(),
                to_string(place()));
  return static_cast<std::int64_t>(message::eager_limit(me.out[message::fifo_of(me, in_world(to))], 1));
}

std::optional<Status> Comm::iprobe(int from, int tag) {
  constexpr auto call = message::Call::iprobe;
  const collective::Member m = member(call);
  job::Recorded recorded(*m.port.me, group_, call, from, tag);
  bool found = false;
  const Status s = collective::probe(cpu_scope, m, true, from, tag, found);
  if (found)
    recorded.got(s);
  else
    recorded.forget();
  check(s.code, call);
  if (!found) return std::nullopt;
  return s;
}

Status Comm::sendrecv_bytes(const void* out, std::int64_t bytes, int to, int send_tag, void* in, std::int64_t capacity,
                            int from, int recv_tag) {
  return sendrecv_as(message::Call::sendrecv, message::SendMode::standard, {out, bytes}, to, send_tag, {in, capacity},
                     from, recv_tag);
}

Status Comm::sendrecv_replace_bytes(void* data, std::int64_t bytes, int to, int send_tag, int from, int recv_tag) {
  return sendrecv_as(message::Call::sendrecv_replace, message::SendMode::buffered, {data, bytes}, to, send_tag,
                     {data, bytes}, from, recv_tag);
}

Status Comm::sendrecv_as(message::Call call, message::SendMode mode, const message::ConstBufferRef& out, int to,
                         int send_tag, const message::BufferRef& in, int from, int recv_tag) {
  const collective::Member m = member(call);
  const job::Recorded recorded(*m.port.me, group_, call, to, send_tag, out.bytes, from, recv_tag, in.bytes);
  const Status s = collective::sendrecv(cpu_scope, m, call, mode, out, to, send_tag, in, from, recv_tag);
  if (s.code == Code::ok || s.code == Code::truncated) recorded.got_beside(s);
  check(s.code, call);
  return s;
}

Comm Comm::made(const collective::Group& group, message::Call call) {
  check(group.code, call);
  return {world_, *me_, group};
}

Comm Comm::split(int color, int key) {
  constexpr auto call = message::Call::split;
  const collective::Member m = member(call);
  const job::Recorded recorded(*m.port.me, group_, call);
  return made(collective::split(cpu_scope, m, color, key), call);
}

Comm Comm::dup() {
  constexpr auto call = message::Call::dup;
  const collective::Member m = member(call);
  const job::Recorded recorded(*m.port.me, group_, call);
  return made(collective::dup(cpu_scope, m), call);
}

Comm Comm::cart(const Cart& grid) {
  constexpr auto call = message::Call::cart;
  const collective::Member m = member(call);
  const job::Recorded recorded(*m.port.me, group_, call);
  return made(collective::cart(cpu_scope, m, grid.size()), call);
}

}  // namespace dcgn
