// The collective calls that only move, one source for CPU threads and for kernels: each checks its arguments and runs
// an algorithm. Each is made by all threads of a scope with the same arguments; `count`s and Parts are in elements of
// `element` bytes. Compiled once for each scope, in the library; those that compute are in reductions.hpp.
#pragma once

#include <dcgn/buffers.hpp>
#include <dcgn/collective/channel.hpp>
#include <dcgn/collective/in_turns.hpp>
#include <dcgn/collective/turn.hpp>

#include <cstdint>

namespace dcgn::collective {

// act(scope) of a call for which a rank has so many bytes: by the first warp where these go beside signatures, for a
// block would have to save the registers of all of its threads.
template <class Scope, class Act>
DCGN_HOST_DEVICE Code by_few(const Scope& scope, const Member& m, std::int64_t bytes, const Act& act) {
  if constexpr (!Scope::single) {
    const bool few = !Scope::in_warp && bytes <= static_cast<std::int64_t>(message::small_bytes);
    if ((few || !has_lanes(scope, m.group.size)) && goes_in_turns(scope, m))
      return lead_few(scope, m.group.size, [&](const auto& part) { return Outcome{act(part), true}; }).code;
  }
  return act(scope);
}

// A call that moves: by a block in the kernel's own code, if `plan(moved)` says that it goes in a turn and what it
// moves are words; else by act(scope).
template <bool Inline, class Scope, class Plan, class Act>
[[gnu::always_inline]] DCGN_HOST_DEVICE inline Code move_by(const Scope& scope, const Member& m, std::int64_t bytes,
                                                            const Plan& plan, const Act& act) {
  if constexpr (Inline && !Scope::in_warp) {
    Moved a{};
    if (has_lanes(scope, m.group.size) && plan(a) && moves_words(a)) return move_rows<true>(scope, m, a);
  }
  return by_few(scope, m, bytes, act);
}

template <class Scope>
DCGN_HOST_DEVICE Code barrier(const Scope& scope, const Member& m);

template <class Scope>
DCGN_HOST_DEVICE Code broadcast(const Scope& scope, const Member& m, void* data, std::int64_t bytes, int root);

template <class Scope>
[[gnu::noinline]] DCGN_HOST_DEVICE Code gather(const Scope& scope, const Member& m, Input in, Output out,
                                               std::int64_t element, int root);

template <class Scope>
[[gnu::noinline]] DCGN_HOST_DEVICE Code gatherv(const Scope& scope, const Member& m, Input in, Output out, Parts parts,
                                                std::int64_t element, int root);

template <class Scope>
[[gnu::noinline]] DCGN_HOST_DEVICE Code scatter(const Scope& scope, const Member& m, Input in, Output out,
                                                std::int64_t element, int root);

template <class Scope>
[[gnu::noinline]] DCGN_HOST_DEVICE Code scatterv(const Scope& scope, const Member& m, Input in, Parts parts, Output out,
                                                 std::int64_t element, int root);

template <class Scope>
DCGN_HOST_DEVICE Code all_gather(const Scope& scope, const Member& m, Input in, Output out, std::int64_t element);

template <class Scope>
[[gnu::noinline]] DCGN_HOST_DEVICE Code all_gatherv(const Scope& scope, const Member& m, Input in, Output out,
                                                    Parts parts, std::int64_t element);

template <class Scope>
DCGN_HOST_DEVICE Code all_to_all(const Scope& scope, const Member& m, Input in, Output out, std::int64_t element);

template <class Scope>
[[gnu::noinline]] DCGN_HOST_DEVICE Code all_to_allv(const Scope& scope, const Member& m, Input in, Parts send,
                                                    Output out, Parts receive, std::int64_t element);

}  // namespace dcgn::collective
