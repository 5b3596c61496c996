// Fast requests: an isend or an irecv that its leader can begin alone, with no bytes for the other threads to move.
//
// The rank does little else on the way: a long message that has come is begun with, whatever else comes is seen to by
// the call that waits.
#pragma once

#include <dcgn/status.hpp>
#include "message/engine/fast_path.hpp"
#include "message/engine/operations.hpp"
#include "message/engine/progress.hpp"

#include <cstdint>

namespace dcgn::message {

// The leader's part. Null where it is not for a fast call.
DCGN_HOST_DEVICE Request begin_send(Endpoint& me, std::uint32_t threads, const ConstBufferRef& buffer, int to, int tag,
                                    std::uint32_t context);

DCGN_HOST_DEVICE Request begin_receive(Endpoint& me, std::uint32_t threads, const BufferRef& buffer, int from, int tag,
                                       std::uint32_t context);

// A message that its header holds or announces.
template <class Scope>
DCGN_HOST_DEVICE Request fast_isend(const Scope& scope, Endpoint& me, const ConstBufferRef& buffer, int to, int tag,
                                    std::uint32_t context) {
  const auto bytes = static_cast<std::uint64_t>(buffer.bytes);
  if (!fits_small(context, tag, bytes) && bytes <= eager_limit(me.out[to - me.first], scope.size())) return {};
  return scope.lead([&] { return begin_send(me, scope.size(), buffer, to, tag, context); });
}

// A receive that nothing has come for yet.
template <class Scope>
DCGN_HOST_DEVICE Request fast_irecv(const Scope& scope, Endpoint& me, const BufferRef& buffer, int from, int tag,
                                    std::uint32_t context) {
  return scope.lead([&] { return begin_receive(me, scope.size(), buffer, from, tag, context); });
}

}  // namespace dcgn::message
