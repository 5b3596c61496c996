// A CPU rank's calls with datatypes: those of bytes, of packed views.
#include <dcgn/arch/clock.hpp>
#include <dcgn/collective/calls.hpp>
#include <dcgn/comm.hpp>
#include <dcgn/error.hpp>
#include <dcgn/message/copy_queue.hpp>
#include "message/engine/wait.hpp"

#include "datatype/node.hpp"
#include "job/cpu_scope.hpp"
#include "job/packed.hpp"
#include "job/perform.hpp"
#include "job/world_state.hpp"
#include "message/describe.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace dcgn {

namespace {

using job::Packed;
using message::Call;
using message::SendMode;

}  // namespace

void Comm::wait_for(Call call, const Stream* stream) {
  message::Endpoint& me = mine(call);
  if (!stream || stream->idle()) return;
  message::Waiter waiter(me);
  const auto describe = [&] { return message::Waited{{me.rank, any_tag, message::user_context, 0, 0}, false, 0, 0}; };
  // Not as one who waits for a message: that would make a rank idle whom the stream will let go on, and so a deadlock
  // of all who wait for it.
  for (const std::uint64_t since = now_ns(); !stream->idle();) {
    const Code code = waiter.poll(describe);
    if (code != Code::ok) {
      me.last_failure = {code, call};
      check(code, call);
    }
    if (now_ns() - since > me.limits.deadline_ns)
      throw Error(Code::deadline, message::to_string(call),
                  "the stream's work has not come to its end within the deadline", me.rank, to_string(place()));
  }
}

void Comm::wait_for(const Stream& stream) { wait_for(Call::wait, &stream); }

void Comm::send(const ConstTypedBuffer& buffer, int to, int tag, const Stream* stream) {
  const Packed packed("send", buffer);
  wait_for(Call::send, stream);
  send_as(Call::send, SendMode::standard, packed.sent(), to, tag);
}

void Comm::ssend(const ConstTypedBuffer& buffer, int to, int tag, const Stream* stream) {
  const Packed packed("ssend", buffer);
  wait_for(Call::ssend, stream);
  send_as(Call::ssend, SendMode::synchronous, packed.sent(), to, tag);
}

void Comm::bsend(const ConstTypedBuffer& buffer, int to, int tag, const Stream* stream) {
  const Packed packed("bsend", buffer);
  wait_for(Call::bsend, stream);
  send_as(Call::bsend, SendMode::buffered, packed.sent(), to, tag);
}

Status Comm::recv(const TypedBuffer& buffer, int from, int tag, const Stream* stream) {
  const Packed packed("recv", buffer);
  wait_for(Call::recv, stream);
  const Status status = recv_to(packed.room(), from, tag);
  packed.check("recv", status);
  return status;
}

Request Comm::isend(const ConstTypedBuffer& buffer, int to, int tag, const Stream* stream) {
  Packed packed("isend", buffer);
  wait_for(Call::isend, stream);
  const Request request = isend_as(packed.sent(), to, tag);
  if (packed.is_view()) world_->packed_requests(me_->rank).keep(request, std::move(packed));
  return request;
}

Request Comm::irecv(const TypedBuffer& buffer, int from, int tag, const Stream* stream) {
  Packed packed("irecv", buffer);
  wait_for(Call::irecv, stream);
  const Request request = irecv_bytes(packed.data(), packed.bytes(), from, tag);
  if (packed.is_view() || packed.is_checked()) world_->packed_requests(me_->rank).keep(request, std::move(packed));
  return request;
}

Status Comm::sendrecv(const ConstTypedBuffer& out, int to, int send_tag, const TypedBuffer& in, int from, int recv_tag,
                      const Stream* stream) {
  const Packed packed_out("sendrecv", out), packed_in("sendrecv", in);
  wait_for(Call::sendrecv, stream);
  const Status status = sendrecv_as(Call::sendrecv, SendMode::standard, packed_out.sent(), to, send_tag,
                                    packed_in.room(), from, recv_tag);
  packed_in.check("sendrecv", status);
  return status;
}

Status Comm::sendrecv_replace(const TypedBuffer& buffer, int to, int send_tag, int from, int recv_tag,
                              const Stream* stream) {
  const Packed packed("sendrecv_replace", buffer);
  wait_for(Call::sendrecv_replace, stream);
  const Status status = sendrecv_as(Call::sendrecv_replace, SendMode::buffered, packed.sent(), to, send_tag,
                                    packed.room(), from, recv_tag);
  packed.check("sendrecv_replace", status);
  return status;
}

namespace {

// What a collective is given, for as long as it lasts.
template <class In, class Out>
struct PackedPair {
  PackedPair(const char* call, const In& a, const Out& b) : in(call, a), out(call, b) {}
  Packed in, out;
  collective::Input input() const { return {static_cast<const unsigned char*>(in.data()), in.bytes()}; }
  collective::Output output() const { return {static_cast<unsigned char*>(out.data()), out.bytes()}; }
};
template <class In, class Out>
auto packed_pair(const char* call, const In& in, const Out& out) {
  return std::make_shared<const PackedPair<In, Out>>(call, in, out);
}

}  // namespace

Request CommCollectives::broadcast_typed(When when, const TypedBuffer& buffer, int root, const Stream* stream) {
  const auto packed = comm().rank() == root ? std::make_shared<const Packed>("broadcast", ConstTypedBuffer(buffer))
                                            : std::make_shared<const Packed>("broadcast", buffer);
  comm().wait_for(Call::broadcast, stream);
  return perform(when, Call::broadcast, root, packed->bytes(), [=](const collective::Member& m) {
    return collective::broadcast(cpu_scope, m, packed->data(), packed->bytes(), root);
  });
}

Request CommCollectives::gather_typed(When when, const ConstTypedBuffer& in, const TypedBuffer& out, int root,
                                      const Stream* stream) {
  const auto packed = packed_pair("gather", in, out);
  comm().wait_for(Call::gather, stream);
  return perform(when, Call::gather, root, packed->in.bytes(), [=](const collective::Member& m) {
    return collective::gather(cpu_scope, m, packed->input(), packed->output(), 1, root);
  });
}

Request CommCollectives::scatter_typed(When when, const ConstTypedBuffer& in, const TypedBuffer& out, int root,
                                       const Stream* stream) {
  const auto packed = packed_pair("scatter", in, out);
  comm().wait_for(Call::scatter, stream);
  return perform(when, Call::scatter, root, packed->out.bytes(), [=](const collective::Member& m) {
    return collective::scatter(cpu_scope, m, packed->input(), packed->output(), 1, root);
  });
}

Request CommCollectives::all_gather_typed(When when, const ConstTypedBuffer& in, const TypedBuffer& out,
                                          const Stream* stream) {
  const auto packed = packed_pair("all_gather", in, out);
  comm().wait_for(Call::all_gather, stream);
  return perform(when, Call::all_gather, any_source, packed->in.bytes(), [=](const collective::Member& m) {
    return collective::all_gather(cpu_scope, m, packed->input(), packed->output(), 1);
  });
}

Request CommCollectives::all_to_all_typed(When when, const ConstTypedBuffer& in, const TypedBuffer& out,
                                          const Stream* stream) {
  const auto packed = packed_pair("all_to_all", in, out);
  comm().wait_for(Call::all_to_all, stream);
  return perform(when, Call::all_to_all, any_source, packed->in.bytes(), [=](const collective::Member& m) {
    return collective::all_to_all(cpu_scope, m, packed->input(), packed->output(), 1);
  });
}

namespace {

// Where each of several buffers is among the packed bytes of all.
struct BufferParts {
  std::vector<std::int64_t> counts, displacements;
  template <class Buffers>
  explicit BufferParts(const Buffers& buffers) {
    std::int64_t at = 0;
    for (const auto& buffer : buffers) {
      counts.push_back(buffer.bytes());
      displacements.push_back(at);
      at += buffer.bytes();
    }
  }
  collective::Parts get() const { return collective::parts(counts, displacements); }
};

}  // namespace

Request CommCollectives::all_to_allw_typed(When when, const std::vector<ConstTypedBuffer>& in,
                                           const std::vector<TypedBuffer>& out, const Stream* stream) {
  const auto packed = packed_pair("all_to_allw", in, out);
  const auto from = std::make_shared<const BufferParts>(in), to = std::make_shared<const BufferParts>(out);
  comm().wait_for(Call::all_to_allv, stream);
  return perform(when, Call::all_to_allv, any_source, packed->in.bytes(), [=](const collective::Member& m) {
    return collective::all_to_allv(cpu_scope, m, packed->input(), from->get(), packed->output(), to->get(), 1);
  });
}

void CommCollectives::check_elements(Call call, const Datatype& element, const ConstTypedBuffer& in,
                                     const TypedBuffer* out) {
  const char* const name = message::to_string(call);
  datatype::check_all(name, element, in.type(), in.count());
  if (!out) return;
  if (out->bytes() < in.bytes())
    throw Error(
        Code::invalid_size, name,
        "the output has " + std::to_string(out->bytes()) + " bytes, expected at least " + std::to_string(in.bytes()));
  datatype::check_all(name, element, out->type(), out->count());
  const Packed packed(name, *out);
}

void CommCollectives::fetch(Call call, const ConstTypedBuffer& in, void* values, const Stream* stream) {
  const Packed packed(message::to_string(call), in);
  comm().wait_for(call, stream);
  if (packed.bytes()) comm().me_->copies.host->copy(values, packed.data(), static_cast<std::uint64_t>(packed.bytes()));
}

void CommCollectives::put(const void* values, std::int64_t bytes, const TypedBuffer& out) {
  const Packed packed("reduce", out);
  if (bytes) comm().me_->copies.host->copy(packed.data(), values, static_cast<std::uint64_t>(bytes));
}

bool CommCollectives::is_root(int root) { return comm().rank() == root; }

}  // namespace dcgn
