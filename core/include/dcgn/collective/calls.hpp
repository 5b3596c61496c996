// The collective calls that only move, one source for CPU threads and for kernels: each checks its arguments and runs
// an algorithm. Each is made by all threads of a scope with the same arguments; `count`s and Parts are in elements of
// `element` bytes. Compiled once for each scope, in the library; those that compute are in reductions.hpp.
#pragma once

#include <dcgn/buffers.hpp>
#include <dcgn/collective/channel.hpp>
#include <dcgn/collective/in_turns.hpp>
#include <dcgn/collective/straight.hpp>
#include <dcgn/collective/teams.hpp>
#include <dcgn/collective/turn.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace dcgn::collective {

// A call that is compiled out of line. `part`: bytes of a rank's part; `longest`: of its longest buffer. What goes
// beside signatures is made by the first warp, because a block would have to save the registers of all its threads.
template <class Scope, class Act>
DCGN_HOST_DEVICE Code by_few(const Scope& scope, const Member& m, std::int64_t part, std::int64_t longest,
                             const Act& act) {
  if constexpr (!Scope::single) {
    const bool few = !Scope::in_warp && part <= static_cast<std::int64_t>(message::small_bytes);
    if ((few || !has_lanes(scope, m.group.size)) && goes_in_turns(scope, m))
      return lead_few(scope, m.group.size, [&](const auto& its) { return Outcome{act(its), true}; }).code;
    if constexpr (!Scope::in_warp)
      if (few && !scope.broken())
        return scope.lead_warp([&](const gpu::WarpScope& warp) { return Outcome{act(warp), true}; }).code;
  }
  return by_first_if_short(scope, longest, act);
}

// A communicator of one rank copies its part. If the rank is stopped or in another call, `done` is false and nothing
// has been done. The leader looks when all threads have come: one of them may have been in a call by itself.
template <class Scope>
[[gnu::always_inline]] DCGN_HOST_DEVICE inline Code move_alone(const Scope& scope, const Member& m, const Moved& a,
                                                               bool& done) {
  const Outcome open = scope.lead([&] {
    Outcome its;
    its.code = Code::ok;
    its.done = message::load_two(&m.port.me->busy).first == 0;
#if !defined(__CUDA_ARCH__)
    its.done = its.done && load_in_order(*m.port.me->phase) != static_cast<std::uint32_t>(message::Phase::aborted);
#endif
    return its;
  });
  done = open.done;
  if (!done) return open.code;
  if (a.keeps && a.out != a.in) {
    message::copy_bytes(scope, a.in, a.out, static_cast<std::uint64_t>(a.bytes));
    scope.sync();
  }
  return scope.broken() ? Code::aborted : Code::ok;
}

// A call that moves data. In the kernel's own code if blocks make it and what they move consists of words and goes in a
// turn, as `plan(moved)` says, or if several blocks use the buffers directly. Otherwise act(scope) makes it.
template <class Scope, class Plan, class Act>
[[gnu::always_inline]] DCGN_HOST_DEVICE inline Code move_by(const Scope& scope, const Member& m, std::int64_t part,
                                                            std::int64_t longest, const Plan& plan, const Act& act) {
  if constexpr (!Scope::in_warp) {
    Moved a{};
    const bool in_turn = plan(a);
    if (m.group.size == 1 && a.right && !scope.broken()) {
      bool done = false;
      const Code code = move_alone(scope, m, a, done);
      if (done) return code;
    }
    if (in_turn && has_carriers(scope, m.group.size) && moves_words(a)) return move_rows<true>(scope, m, a);
    if constexpr (message::plans_ahead<Scope>)
      if (!in_turn && moves_straight(scope, m, a)) return move_straight(scope, m, a);
  }
  return by_few(scope, m, part, longest, act);
}

// `has_begun`: a warp has sent what it sends.
template <class Scope>
[[gnu::noinline]] DCGN_HOST_DEVICE Code barrier_by_steps(dcgn::detail::Kept<Scope> scope, const Member m,
                                                         bool has_begun);
// By a warp in the kernel's own code. `blocks`: those that make the call, if several.
template <class Scope, class Blocks = std::nullptr_t>
[[gnu::always_inline]] DCGN_HOST_DEVICE inline Code barrier(const Scope& scope, const Member& m,
                                                            Blocks blocks = nullptr) {
  bool has_begun = false;
  if constexpr (Turn<Scope>::by_lanes && Scope::in_warp)
    if (goes_in_turns(scope, m)) {
      Turn<Scope, Blocks> turn(scope, m, blocks);
      if (!turn.await_blocks(true)) return Code::aborted;  // all threads see what any of them wrote
      if (meet_at_once(turn, m.group, peers_of(m.group), m.group.size, true, has_begun)) return Code::ok;
      blocks = nullptr;
    }
  if constexpr (!std::is_null_pointer_v<Blocks>)
    if (blocks && !blocks->await_others(scope, true)) return Code::aborted;
  return barrier_by_steps<Scope>(scope, m, has_begun);
}
// The same by the first warp, for all threads of the scope.
template <class Scope>
[[gnu::always_inline]] DCGN_HOST_DEVICE inline Code barrier_by_few(const Scope& scope, const Member& m) {
  if constexpr (message::plans_ahead<Scope>)
    if (scope.broken()) return barrier(scope, m);
  if (m.group.size == 1) {
    bool done = false;
    const Code code = move_alone(scope, m, {}, done);
    if (done) return code;
  }
  const int lanes = goes_in_turns(scope, m) ? m.group.size : 1;
  return lead_few_at_once(scope, lanes,
                          [&](const auto& few, auto blocks) {
                            return Outcome{barrier(few, m, blocks), true};
                          })
      .code;
}

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
