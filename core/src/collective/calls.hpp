// The collective calls that only move: how they are carried out.
#pragma once

#include <dcgn/collective/calls.hpp>
#include <dcgn/collective/in_turns.hpp>
#include <dcgn/collective/reductions.hpp>

#include <cstdint>

namespace dcgn::collective {

template <class Scope>
[[gnu::noinline]] DCGN_HOST_DEVICE Code barrier_otherwise(Kept<Scope> scope, const Member m) {
  const Channel c(scope, m, Call::barrier, [](Checks&) {});
  if (c.code() != Code::ok) return c.code();
  const Hosts hosts(c);
  return hosts.count ? meet_by_hosts(c, hosts) : meet(c);
}

template <class Scope>
DCGN_HOST_DEVICE Code barrier_by_steps(Kept<Scope> scope, const Member m, bool has_begun) {
  if constexpr (!message::plans_ahead<Scope>)  // by_few() leaves it to a warp
    if (goes_in_turns(scope, m)) {
      const message::Peers peers = peers_of(m.group);
      return meet_by_steps<Scope>(scope, m.port, m.group, peers, plan_to_meet(m.group, peers, m.group.size, true),
                                  m.group.size, has_begun);
    }
  if constexpr (Scope::single || Scope::in_warp) {  // barrier_by_few() leaves it to these
    if (meets_as_world(m) && !scope.broken()) return meet_in_world<Scope>(scope, m);
    const Outcome met = meet_in_gpus<Scope>(scope, m);
    if (met.done) return met.code;
  }
  return barrier_otherwise<Scope>(scope, m);
}

template <class Scope>
[[gnu::noinline]] DCGN_HOST_DEVICE Code broadcast_otherwise(Kept<Scope> scope, const Member m, void* data,
                                                            std::int64_t bytes, int root) {
  const Channel c(scope, m, Call::broadcast, [&](Checks& checks) {
    checks.root(root);
    checks.alike(bytes);
    checks.buffer(data, bytes);
  });
  if (c.code() != Code::ok) return c.code();
  auto* const buffer = static_cast<unsigned char*>(data);
  const Hosts hosts(c);
  return hosts.count ? broadcast_by_hosts(c, hosts, buffer, bytes, root) : broadcast(c, buffer, bytes, root);
}

template <class Scope>
DCGN_HOST_DEVICE Code move_by_messages(Kept<Scope> scope, const Member m, const Moved a, std::uint32_t number) {
  const Channel<Scope> c(scope, m, a.call, number);
  if (a.call == Call::broadcast) return broadcast_by_messages(c, a.in, a.bytes, a.root);
  return a.call == Call::all_to_all ? all_to_all_by_messages(c, a.out, a.in, a.bytes)
                                    : all_gather_by_messages(c, a.out, a.bytes, a.in);
}

template <class Scope>
DCGN_HOST_DEVICE Code broadcast(const Scope& scope, const Member& m, void* buffer, std::int64_t bytes, int root) {
  Moved a;
  if (plan_broadcast(scope, m, buffer, bytes, root, a)) return move_in_turn(scope, m, a);
  if (moves_straight(scope, m, a)) return move_straight_apart<Scope>(scope, m, a);
  return broadcast_otherwise<Scope>(scope, m, buffer, bytes, root);
}

template <class Scope>
DCGN_HOST_DEVICE Code gather(const Scope& scope, const Member& m, Input in, Output out, std::int64_t element,
                             int root) {
  if (Moved a; plan_gather(scope, m, in, out, element, root, a)) return move_in_turn(scope, m, a);
  const Channel c(scope, m, Call::gather, [&](Checks& checks) {
    checks.root(root);
    checks.alike(in.count * element);
    checks.input(in, in.count, element);
    if (m.group.rank != root) return;
    checks.output(out, in.count * m.group.size, element);
    checks.apart(in.data, in.count * element, out.data, out.count * element, out.data + in.count * root * element);
  });
  return c.code() == Code::ok ? gather(c, in.data, in.count * element, out.data, root) : c.code();
}

template <class Scope>
DCGN_HOST_DEVICE Code gatherv(const Scope& scope, const Member& m, Input in, Output out, Parts parts,
                              std::int64_t element, int root) {
  const Channel c(scope, m, Call::gatherv, [&](Checks& checks) {
    checks.root(root);
    if (m.group.rank != root) return checks.input(in, in.count, element);
    checks.output(out, 0, element);
    checks.output_parts(parts, out.count);
    if (checks.failure().code != Code::ok) return;
    checks.input(in, parts.counts[root], element);
    checks.apart(in.data, in.count * element, out.data, out.count * element,
                 out.data + parts.displacements[root] * element);
  });
  return c.code() == Code::ok ? gather_parts(c, in.data, in.count * element, out.data, parts, element, root) : c.code();
}

template <class Scope>
DCGN_HOST_DEVICE Code scatter(const Scope& scope, const Member& m, Input in, Output out, std::int64_t element,
                              int root) {
  if (Moved a; plan_scatter(scope, m, in, out, element, root, a)) return move_in_turn(scope, m, a);
  const Channel c(scope, m, Call::scatter, [&](Checks& checks) {
    checks.root(root);
    checks.alike(out.count * element);
    checks.output(out, out.count, element);
    if (m.group.rank != root) return;
    checks.input(in, out.count * m.group.size, element);
    checks.apart(out.data, out.count * element, in.data, in.count * element, in.data + out.count * root * element);
  });
  return c.code() == Code::ok ? scatter(c, in.data, out.data, out.count * element, root) : c.code();
}

template <class Scope>
DCGN_HOST_DEVICE Code scatterv(const Scope& scope, const Member& m, Input in, Parts parts, Output out,
                               std::int64_t element, int root) {
  const Channel c(scope, m, Call::scatterv, [&](Checks& checks) {
    checks.root(root);
    checks.buffer(out.data, out.count * element);
    if (m.group.rank != root) return;
    checks.input(in, in.count, element);
    checks.parts(parts, in.count);
    if (checks.failure().code != Code::ok) return;
    checks.require(out.count == parts.counts[root], Code::invalid_size, Flaw::output, out.count, parts.counts[root]);
    checks.apart(out.data, out.count * element, in.data, in.count * element,
                 in.data + parts.displacements[root] * element);
  });
  return c.code() == Code::ok ? scatter_parts(c, in.data, parts, element, out.data, out.count * element, root)
                              : c.code();
}

template <class Scope>
[[gnu::noinline]] DCGN_HOST_DEVICE Code all_gather_otherwise(Kept<Scope> scope, const Member m, Input in, Output out,
                                                             std::int64_t element) {
  const Channel c(scope, m, Call::all_gather, [&](Checks& checks) {
    checks.alike(in.count * element);
    checks.input(in, in.count, element);
    checks.output(out, in.count * m.group.size, element);
    checks.apart(in.data, in.count * element, out.data, out.count * element,
                 out.data + in.count * m.group.rank * element);
  });
  if (c.code() != Code::ok) return c.code();
  const std::int64_t bytes = in.count * element;
  const Hosts hosts(c);
  return hosts.count ? all_gather_by_hosts(c, hosts, in.data, bytes, out.data)
                     : all_gather(c, in.data, bytes, out.data);
}

template <class Scope>
DCGN_HOST_DEVICE Code all_gather(const Scope& scope, const Member& m, Input in, Output out, std::int64_t element) {
  Moved a{};
  if (plan_parts(scope, m, Call::all_gather, in, out, element, a)) return move_in_turn(scope, m, a);
  if (moves_straight(scope, m, a)) return move_straight_apart<Scope>(scope, m, a);
  return all_gather_otherwise<Scope>(scope, m, in, out, element);
}

template <class Scope>
DCGN_HOST_DEVICE Code all_gatherv(const Scope& scope, const Member& m, Input in, Output out, Parts parts,
                                  std::int64_t element) {
  const Channel c(scope, m, Call::all_gatherv, [&](Checks& checks) {
    checks.output(out, 0, element);
    checks.output_parts(parts, out.count);
    if (checks.failure().code != Code::ok) return;
    checks.input(in, parts.counts[m.group.rank], element);
    checks.apart(in.data, in.count * element, out.data, out.count * element,
                 out.data + parts.displacements[m.group.rank] * element);
  });
  return c.code() == Code::ok ? all_gather_parts(c, in.data, out.data, parts, element) : c.code();
}

// The same number of elements for each rank.
template <class Scope>
[[gnu::noinline]] DCGN_HOST_DEVICE Code all_to_all_otherwise(Kept<Scope> scope, const Member m, Input in, Output out,
                                                             std::int64_t element) {
  const Channel c(scope, m, Call::all_to_all, [&](Checks& checks) {
    checks.input(in, in.count, element);
    if (checks.failure().code != Code::ok) return;
    checks.require(in.count % m.group.size == 0, Code::invalid_size, Flaw::blocks, in.count, m.group.size);
    checks.alike(in.count / m.group.size * element);
    checks.output(out, in.count, element);
    checks.apart(in.data, in.count * element, out.data, out.count * element, out.data);
  });
  return c.code() == Code::ok ? all_to_all(c, in.data, out.data, in.count / m.group.size * element) : c.code();
}

template <class Scope>
DCGN_HOST_DEVICE Code all_to_all(const Scope& scope, const Member& m, Input in, Output out, std::int64_t element) {
  Moved a{};
  if (plan_parts(scope, m, Call::all_to_all, in, out, element, a)) return move_in_turn(scope, m, a);
  if (moves_straight(scope, m, a)) return move_straight_apart<Scope>(scope, m, a);
  return all_to_all_otherwise<Scope>(scope, m, in, out, element);
}

template <class Scope>
DCGN_HOST_DEVICE Code all_to_allv(const Scope& scope, const Member& m, Input in, Parts send, Output out, Parts receive,
                                  std::int64_t element) {
  const Channel c(scope, m, Call::all_to_allv, [&](Checks& checks) {
    checks.input(in, in.count, element);
    checks.output(out, 0, element);
    checks.parts(send, in.count);
    checks.output_parts(receive, out.count);
    if (checks.failure().code != Code::ok) return;
    const std::int64_t own = send.counts[m.group.rank], expected = receive.counts[m.group.rank];
    checks.require(own == expected, Code::mismatch, Flaw::shorter, own * element, expected * element,
                   m.group.in_world(m.group.rank));
    checks.apart(in.data, in.count * element, out.data, out.count * element, nullptr);
  });
  return c.code() == Code::ok ? all_to_all_parts(c, in.data, send, out.data, receive, element) : c.code();
}

}  // namespace dcgn::collective
