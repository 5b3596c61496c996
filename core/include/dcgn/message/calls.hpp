// The point-to-point calls, one source for CPU threads and for kernels. Each is made by all threads of a scope with
// the same arguments; buffers hold what any of those threads wrote before.
//
// What a call does where it finds all that it needs at once is here, and compiled into kernels; the rest is declared
// here and compiled once, for each scope of dcgn/arch/scope.hpp and dcgn/message/blocks_scope.hpp, in the library.
#pragma once

#include <dcgn/call.hpp>
#include <dcgn/message/endpoint.hpp>
#include <dcgn/message/fast_path.hpp>
#include <dcgn/status.hpp>

#include <cstdint>

namespace dcgn::message {

struct Argument {
  Code code = Code::ok;
  std::int64_t value = 0;
  std::int64_t expected = 0;
};

// A bad argument: remembered for the report, and the job is stopped where errors are fatal.
DCGN_HOST_DEVICE Code fail(Endpoint& me, const Failure& failure);

DCGN_HOST_DEVICE Code fail(Endpoint& me, Code code, Call call, std::int64_t value, std::int64_t expected,
                           const Envelope& envelope = {});

// Whether the grid has the blocks of a scope: where it has not, the scope is broken from the beginning.
template <class Scope>
DCGN_HOST_DEVICE Argument check_scope(const Scope& scope);

// ---- the calls. `me` or `port` is the rank, `context` tells its user's messages from the library's own.

// Any send. Out of line: a kernel makes many calls, and one copy of this is enough.
template <class Scope>
[[gnu::noinline]] DCGN_HOST_DEVICE Code send_any(const Scope& scope, Endpoint& me, Call call, SendMode mode,
                                                 ConstBufferRef buffer, int to, int tag, std::uint32_t context);

// A receive from this rank, or from any source where recv_from_any() has found nothing. Out of line as send_any().
template <class Scope>
[[gnu::noinline]] DCGN_HOST_DEVICE Status recv_from(const Scope& scope, Endpoint& me, Call call, BufferRef buffer,
                                                    int from, int tag, std::uint32_t context);

// A receive from any source. Likewise.
template <class Scope>
[[gnu::noinline]] DCGN_HOST_DEVICE Status recv_from_any(const Scope& scope, Endpoint& me, Call call, BufferRef buffer,
                                                        int tag, std::uint32_t context);

// Either of them.
template <class Scope>
DCGN_HOST_DEVICE Status recv_any(const Scope& scope, Endpoint& me, Call call, BufferRef buffer, int from, int tag,
                                 std::uint32_t context) {
  return from == any_source ? recv_from_any(scope, me, call, buffer, tag, context)
                            : recv_from(scope, me, call, buffer, from, tag, context);
}

template <class Scope>
DCGN_HOST_DEVICE Request isend(const Scope& scope, Endpoint& me, SendMode mode, ConstBufferRef buffer, int to, int tag,
                               std::uint32_t context);

template <class Scope>
DCGN_HOST_DEVICE Request irecv(const Scope& scope, Endpoint& me, BufferRef buffer, int from, int tag,
                               std::uint32_t context);

template <class Scope>
DCGN_HOST_DEVICE Status sendrecv(const Scope& scope, Endpoint& me, Call call, SendMode mode, ConstBufferRef out, int to,
                                 int send_tag, BufferRef in, int from, int recv_tag, std::uint32_t context);

// `once`: returns at once; `found` says whether there was one.
template <class Scope>
DCGN_HOST_DEVICE Status probe(const Scope& scope, Endpoint& me, bool once, int from, int tag, std::uint32_t context,
                              bool& found);

template <class Scope>
DCGN_HOST_DEVICE Status wait_all(const Scope& scope, Endpoint& me, Call call, bool once, const Request* requests,
                                 std::int64_t count, Status* statuses, bool& done);

template <class Scope>
DCGN_HOST_DEVICE Status wait_any(const Scope& scope, Endpoint& me, Call call, bool once, const Request* requests,
                                 std::int64_t count, std::int64_t& index);

// Waits until nothing that this rank has begun to send depends on it any more.
template <class Scope>
DCGN_HOST_DEVICE Code flush(const Scope& scope, Endpoint& me);

// What a slot's send does where it finds all that it needs at once. False: it has done nothing, send_any() is to.
template <class Scope>
DCGN_HOST_DEVICE bool send_at_once([[maybe_unused]] const Scope& scope, [[maybe_unused]] const Port& port,
                                   [[maybe_unused]] SendMode mode, [[maybe_unused]] const void* data,
                                   [[maybe_unused]] std::int64_t bytes, [[maybe_unused]] int to,
                                   [[maybe_unused]] int tag, [[maybe_unused]] std::uint32_t context) {
  if constexpr (decides_in_block && Scope::in_block)
    if (mode == SendMode::standard && calls_in_block(*port.me)) {
      const auto size = static_cast<std::uint64_t>(bytes);
      if constexpr (!Scope::in_warp)
        return send_words(scope, port, data, size, to, tag, context);
      else if (size <= small_bytes)
        return send_packet(scope, port, data, size, to, tag, context);
    }
  return false;
}

// As send_at_once().
template <class Scope>
DCGN_HOST_DEVICE bool recv_at_once([[maybe_unused]] const Scope& scope, [[maybe_unused]] const Port& port,
                                   [[maybe_unused]] void* data, [[maybe_unused]] std::int64_t capacity,
                                   [[maybe_unused]] int from, [[maybe_unused]] int tag,
                                   [[maybe_unused]] std::uint32_t context, [[maybe_unused]] Status& status) {
  if constexpr (decides_in_block && Scope::in_block)
    if (calls_in_block(*port.me)) {
      const auto size = static_cast<std::uint64_t>(capacity);
      if constexpr (!Scope::in_warp) {
        return receive_words(scope, port, data, size, from, tag, context, status);
      } else if (size <= small_bytes) {
        return receive_packet(scope, port, data, size, from, tag, context, status);
      }
    }
  return false;
}

// The same from any source: a warp's. A thread would take too many of its caller's registers.
template <class Scope>
DCGN_HOST_DEVICE bool recv_any_at_once([[maybe_unused]] const Scope& scope, [[maybe_unused]] const Port& port,
                                       [[maybe_unused]] void* data, [[maybe_unused]] std::int64_t capacity,
                                       [[maybe_unused]] int tag, [[maybe_unused]] std::uint32_t context,
                                       [[maybe_unused]] Status& status) {
  if constexpr (decides_in_block && Scope::in_warp && !Scope::single)
    if (calls_in_block(*port.me) && static_cast<std::uint64_t>(capacity) <= small_bytes)
      return receive_packet_of_few(scope, port, data, static_cast<std::uint64_t>(capacity), tag, context, status);
  return false;
}

template <class Scope>
DCGN_HOST_DEVICE Code send(const Scope& scope, const Port& port, Call call, SendMode mode, ConstBufferRef buffer,
                           int to, int tag, std::uint32_t context) {
  if (send_at_once(scope, port, mode, buffer.data, buffer.bytes, to, tag, context)) [[likely]]
    return Code::ok;
  return send_any(scope, *port.me, call, mode, buffer, to, tag, context);
}

template <class Scope>
DCGN_HOST_DEVICE Status recv(const Scope& scope, const Port& port, Call call, BufferRef buffer, int from, int tag,
                             std::uint32_t context) {
  Status status;
  if (from == any_source ? recv_any_at_once(scope, port, buffer.data, buffer.bytes, tag, context, status)
                         : recv_at_once(scope, port, buffer.data, buffer.bytes, from, tag, context, status)) [[likely]]
    return status;
  return recv_any(scope, *port.me, call, buffer, from, tag, context);
}

}  // namespace dcgn::message
