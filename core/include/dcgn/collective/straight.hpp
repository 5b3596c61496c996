// Calls by slots with inboxes of each other that work on the ranks' buffers directly (addresses.hpp). A turn tells the
// addresses of the buffers, and another turn ends the call. Several blocks make these calls in the kernel's own code:
// a function would save the registers of all their threads.
#pragma once

#include <dcgn/collective/addresses.hpp>
#include <dcgn/collective/channel.hpp>
#include <dcgn/collective/in_turns.hpp>
#include <dcgn/collective/moving.hpp>
#include <dcgn/collective/thresholds.hpp>
#include <dcgn/collective/turn.hpp>

#include <cstdint>

namespace dcgn::collective {

// The number of a call that has begun.
DCGN_HOST_DEVICE inline std::uint32_t number_of_call(const Member& m) { return m.port.turns->begun[m.group.pair] - 1; }

// The rest of a call after tell_straight(): visit(channel, places) if all buffers can be reached; otherwise
// otherwise(channel).
template <class Scope, class Visit, class Otherwise>
[[gnu::always_inline]] DCGN_HOST_DEVICE inline Code go_straight(const Scope& scope, const Member& m, Call call,
                                                                const Told& told, const Visit& visit,
                                                                const Otherwise& otherwise) {
  if (told.code != Code::ok) return told.code;
  Code code;
  if (told.reached) {
    const Channel c(scope, m, call, std::uint32_t{0});  // sends no messages
    code = visit_straight(c, m, call, [&](const Place* places) { visit(c, places); });
  } else {
    code = otherwise(Channel(scope, m, call, number_of_call(m)));
  }
  return code == Code::ok ? told.late : code;
}

// True if broadcast, all_gather or all_to_all use the buffers directly.
template <class Scope>
DCGN_HOST_DEVICE bool moves_straight(const Scope& scope, const Member& m, const Moved& a) {
  if (!a.right || !a.in || !a.out) return false;
  if (a.call == Call::broadcast) return may_go_straight(scope, m, a.bytes, broadcast_by_addresses);
  return (a.call == Call::all_gather || a.call == Call::all_to_all) && !(a.out_stride && a.in == a.out) &&
         may_go_straight(scope, m, a.bytes, slots_parts_by_addresses);
}

// The same call by messages, when its ranks know that they cannot reach all buffers.
template <class Scope>
[[gnu::noinline]] DCGN_HOST_DEVICE Code move_by_messages(dcgn::detail::Kept<Scope> scope, const Member m, const Moved a,
                                                         std::uint32_t number);

template <class Scope>
[[gnu::always_inline]] DCGN_HOST_DEVICE inline Code move_straight(const Scope& scope, const Member& m, const Moved& a) {
  const bool broadcasts = a.call == Call::broadcast;
  const Alike alike{static_cast<std::uint64_t>(a.bytes), broadcasts ? a.root : 0};
  const Pieces pieces(a.bytes, m.group.size, 128);
  const Told told = tell_straight(scope, m, a.call, a.out, a.in, alike, broadcasts ? pieces.each : a.bytes);
  return go_straight(
      scope, m, a.call, told,
      [&](const auto& c, const Place* places) {
        if (broadcasts)
          push_piece(c, places, a.root, pieces.begin(c.rank()), pieces.length(c.rank()));
        else
          push_parts(c, places, a.out, a.out_stride, a.bytes);
      },
      [&](const auto&) { return move_by_messages<Scope>(scope, m, a, number_of_call(m)); });
}
template <class Scope>
[[gnu::noinline]] DCGN_HOST_DEVICE static Code move_straight_apart(dcgn::detail::Kept<Scope> scope, const Member m,
                                                                   const Moved a) {
  return move_straight<Scope>(scope, m, a);
}

}  // namespace dcgn::collective
