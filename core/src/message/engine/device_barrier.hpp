// How a rank waits at a device barrier.
#pragma once

#include "message/engine/calls.hpp"

#include <dcgn/message/device_barrier.hpp>

#include <cstdint>

namespace dcgn::message {

// What has not come in a while, as any call waits for it.
template <class Meeting>
struct MeetingOperation {
  const Meeting& meeting;
  int rank;  // the calling one
  std::int32_t tag;
  std::uint32_t context;

  DCGN_HOST_DEVICE Code begin(Transfer&) { return Code::ok; }
  DCGN_HOST_DEVICE bool done(Result&, Transfer&) { return meeting.awaits() < 0; }
  DCGN_HOST_DEVICE Waited waited() const { return {{source(), tag, context, 0, 0}, true, 0, 0}; }
  DCGN_HOST_DEVICE int source() const {
    const int awaits = meeting.awaits();
    return awaits < 0 ? rank : awaits;
  }
};

// Waits at the barrier: a member returns when its turn is over, the leader when all others have come.
template <class Scope>
DCGN_HOST_DEVICE Code attend(const Scope& scope, Endpoint& me, Call call, const Attendance& attendance,
                             std::int32_t tag, std::uint32_t context) {
  scope.sync();
  if (scope.leader()) attendance.begin();
  bool met = false;
  if constexpr (Scope::single) {
    met = spin(fast_looks, [&] { return attendance.leads() ? attendance.have_come(0, 1) : attendance.is_over(); });
  } else if (scope.looks()) {
    // Where many threads look, all do at the same words, or each at its own.
    const auto lookers = scope.lookers();
    const auto step = static_cast<int>(lookers.power()), mine = static_cast<int>(scope.rank());
    const bool shared = decides_in_block && calls_in_block(me);
    if (!shared)
      met = spin(fast_looks, [&] { return attendance.leads() ? attendance.have_come(0, 1) : attendance.is_over(); });
    else if (attendance.leads())
      met = spin(fast_looks, [&] { return lookers.vote(attendance.have_come(mine < step ? mine : 0, step)); });
    else if (scope.leader())
      met = spin(fast_looks, [&] { return attendance.is_over(); });
  }
  if (scope.broadcast(met)) return Code::ok;
  MeetingOperation<Attendance> operation{attendance, me.rank, tag, context};
  return run(scope, me, call, operation, {}).status.code;
}

template <class Scope>
DCGN_HOST_DEVICE Code attend(const Scope& scope, Endpoint& me, const WorldMeeting& meeting, std::int32_t tag,
                             std::uint32_t context) {
  MeetingOperation<WorldMeeting> operation{meeting, me.rank, tag, context};
  return run(scope, me, Call::barrier, operation, {}).status.code;
}

}  // namespace dcgn::message
