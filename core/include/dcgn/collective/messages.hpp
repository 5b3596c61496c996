// The point-to-point calls in a communicator that need not be the world's: ranks are its ranks, and what it sends meets
// its own receives alone. Each is a call of message/calls.hpp with ranks and contexts changed.
#pragma once

#include <dcgn/collective/channel.hpp>
#include <dcgn/message/calls.hpp>
#include <dcgn/status.hpp>

#include <cstdint>

namespace dcgn::collective {

// A status with the rank of its source in this communicator; any_source where it is of none.
DCGN_HOST_DEVICE inline Status status_in(const Group& g, Status s) {
  if (!g.is_world()) s.source = g.from_world(s.source);
  return s;
}

DCGN_HOST_DEVICE inline Status failed(Code code) {
  Status s;
  s.code = code;
  return s;
}

template <class Scope>
[[gnu::noinline]] DCGN_HOST_DEVICE Code send(const Scope& scope, const Member& m, Call call, message::SendMode mode,
                                             message::ConstBufferRef buffer, int to, int tag);

template <class Scope>
[[gnu::noinline]] DCGN_HOST_DEVICE Status recv(const Scope& scope, const Member& m, message::BufferRef buffer, int from,
                                               int tag);

template <class Scope>
[[gnu::noinline]] DCGN_HOST_DEVICE Request isend(const Scope& scope, const Member& m, message::ConstBufferRef buffer,
                                                 int to, int tag);

template <class Scope>
[[gnu::noinline]] DCGN_HOST_DEVICE Request irecv(const Scope& scope, const Member& m, message::BufferRef buffer,
                                                 int from, int tag);

template <class Scope>
[[gnu::noinline]] DCGN_HOST_DEVICE Status probe(const Scope& scope, const Member& m, bool once, int from, int tag,
                                                bool& found);

template <class Scope>
[[gnu::noinline]] DCGN_HOST_DEVICE Status sendrecv(const Scope& scope, const Member& m, Call call,
                                                   message::SendMode mode, message::ConstBufferRef out, int to,
                                                   int send_tag, message::BufferRef in, int from, int recv_tag);

}  // namespace dcgn::collective
