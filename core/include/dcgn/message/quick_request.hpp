// Quick requests: an isend or an irecv that its leader can begin alone, with nothing for the other threads to carry.
//
// The rank does little else on the way: a long message that has come is begun with, whatever else comes is seen to by
// the call that waits.
#pragma once

#include <dcgn/message/goals.hpp>
#include <dcgn/message/progress.hpp>
#include <dcgn/message/quick.hpp>
#include <dcgn/status.hpp>

#include <cstdint>

namespace dcgn::message {

// The leader's part. Null where it is not for a quick call.
[[gnu::noinline]] DCGN_HOST_DEVICE inline Request begin_send(Endpoint& me, std::uint32_t threads, const void* data,
                                                             std::uint64_t bytes, int to, int tag,
                                                             std::uint32_t context) {
  if (has_ended(me, me.out[to - me.first]) || !begin_quick(me)) return {};
  Request request;
  if (Record* const r = new_send(me, data, bytes, to, tag, context)) {
    request = request_of(me, r);
    me.threads = threads;
    Work nothing;
    start_send(me, r, nothing);
    begin_copy(me, to, bytes);
  }
  end_quick(me);
  return request;
}

[[gnu::noinline]] DCGN_HOST_DEVICE inline Request begin_receive(Endpoint& me, std::uint32_t threads, void* data,
                                                                std::uint64_t capacity, int from, int tag,
                                                                std::uint32_t context) {
  if (!begin_quick(me)) return {};
  Request request;
  Record* const r = me.unexpected_count ? nullptr : new_receive(me, data, capacity, from, tag, context);
  if (r) {
    request = request_of(me, r);
    r->state = State::posted;
    me.posted.append(r);
    me.threads = threads;
    begin_copy(me, from, capacity);
  }
  end_quick(me);
  return request;
}

// A message that its header holds or announces.
template <class Scope>
DCGN_HOST_DEVICE Request quick_isend(const Scope& scope, Endpoint& me, const void* data, std::uint64_t bytes, int to,
                                     int tag, std::uint32_t context) {
  if (!fits_small(context, tag, bytes) && bytes <= eager_limit(me.out[to - me.first], scope.size())) return {};
  return scope.lead([&] { return begin_send(me, scope.size(), data, bytes, to, tag, context); });
}

// A receive that nothing has come for yet.
template <class Scope>
DCGN_HOST_DEVICE Request quick_irecv(const Scope& scope, Endpoint& me, void* data, std::uint64_t capacity, int from,
                                     int tag, std::uint32_t context) {
  return scope.lead([&] { return begin_receive(me, scope.size(), data, capacity, from, tag, context); });
}

}  // namespace dcgn::message
