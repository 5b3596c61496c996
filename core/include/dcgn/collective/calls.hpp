// The collective calls, one source for CPU threads and for kernels: each checks its arguments and runs an algorithm.
// Each is made by all threads of a scope with the same arguments; `count`s and Parts are in elements of `element`
// bytes.
#pragma once

#include <dcgn/collective/channel.hpp>
#include <dcgn/collective/hosts.hpp>
#include <dcgn/collective/in_blocks.hpp>
#include <dcgn/collective/in_cells.hpp>
#include <dcgn/collective/in_lanes.hpp>
#include <dcgn/collective/moving.hpp>
#include <dcgn/collective/reducing.hpp>

#include <cstdint>
#include <type_traits>

namespace dcgn::collective {

// Calls that may be a matter of cells are inlined up to there; the rest has a copy of scope and member, so that these
// stay in registers before.
template <class Scope>
using Kept = std::conditional_t<exchanges_cells<Scope>, const Scope, const Scope&>;

template <class Scope>
[[gnu::noinline]] DCGN_HOST_DEVICE Code barrier_otherwise(Kept<Scope> scope, const Member m) {
  const Channel c(scope, m, Call::barrier, [](Checks&) {});
  if (c.code() != Code::ok) return c.code();
  const Hosts hosts(c);
  return hosts.count ? meet_by_hosts(c, hosts) : meet(c);
}

template <class Scope>
DCGN_HOST_DEVICE Code barrier(const Scope& scope, const Member& m) {
  Code code = Code::ok;
  return meet_in_cells(scope, m, code) ? code : barrier_otherwise<Scope>(scope, m);
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

// A call whose arguments have been looked at, once all have told their addresses: visit(channel, places) where all can
// be reached, else otherwise(channel).
template <class Scope, class Visit, class Otherwise>
DCGN_HOST_DEVICE Code go_straight(const Scope& scope, const Member& m, Call call, const Told& told, const Visit& visit,
                                  const Otherwise& otherwise) {
  if (told.code != Code::ok) return told.code;
  const Channel c(scope, m, call, told.number);
  return told.reached ? visit_straight(c, m, call, told.number, [&](const Place* places) { visit(c, places); })
                      : otherwise(c);
}

template <class Scope>
[[gnu::noinline]] DCGN_HOST_DEVICE Code broadcast_straight(Kept<Scope> scope, const Member m, unsigned char* data,
                                                           std::int64_t bytes, int root) {
  const Alike alike{static_cast<std::uint64_t>(bytes), root};
  return go_straight<Scope>(
      scope, m, Call::broadcast,
      tell_straight(scope, m, Call::broadcast, data, data, alike, Pieces(bytes, m.group.size, 128).each),
      [&](const auto& c, const Place* places) { pushing_piece(c, bytes, root)(places); },
      [&](const auto& c) { return broadcast_by_messages(c, data, bytes, root); });
}

template <class Scope>
DCGN_HOST_DEVICE Code broadcast(const Scope& scope, const Member& m, void* data, std::int64_t bytes, int root) {
  Code code = Code::ok;
  if (broadcast_in_cells(scope, m, data, bytes, root, code)) return code;
  if (broadcast_in_lanes(scope, m, data, bytes, root, code)) return code;
  if constexpr (goes_straight<Scope>)
    if (data && m.group.has(root) && may_go_straight(scope, m, bytes, broadcast_by_addresses))
      return broadcast_straight<Scope>(scope, m, static_cast<unsigned char*>(data), bytes, root);
  return broadcast_otherwise<Scope>(scope, m, data, bytes, root);
}

template <class Scope>
[[gnu::noinline]] DCGN_HOST_DEVICE Code gather(const Scope& scope, const Member& m, Input in, Output out,
                                               std::int64_t element, int root) {
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
[[gnu::noinline]] DCGN_HOST_DEVICE Code gatherv(const Scope& scope, const Member& m, Input in, Output out, Parts parts,
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
[[gnu::noinline]] DCGN_HOST_DEVICE Code scatter(const Scope& scope, const Member& m, Input in, Output out,
                                                std::int64_t element, int root) {
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
[[gnu::noinline]] DCGN_HOST_DEVICE Code scatterv(const Scope& scope, const Member& m, Input in, Parts parts, Output out,
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

// all_gather and all_to_all.
template <class Scope>
[[gnu::noinline]] DCGN_HOST_DEVICE Code parts_straight(Kept<Scope> scope, const Member m, Call call,
                                                       const unsigned char* in, unsigned char* out,
                                                       std::int64_t bytes) {
  const bool to_each = call == Call::all_to_all;
  const Alike alike{static_cast<std::uint64_t>(bytes)};
  return go_straight<Scope>(
      scope, m, call, tell_straight(scope, m, call, in, out, alike, bytes),
      [&](const auto& c, const Place* places) { push_parts(c, places, in, to_each ? bytes : 0, bytes); },
      [&](const auto& c) {
        return to_each ? all_to_all_by_messages(c, in, out, bytes) : all_gather_by_messages(c, in, bytes, out);
      });
}

template <class Scope>
DCGN_HOST_DEVICE Code all_gather(const Scope& scope, const Member& m, Input in, Output out, std::int64_t element) {
  Code code = Code::ok;
  const std::int64_t bytes = in.count * element, all = bytes * m.group.size;
  const bool right =
      (out.count * element >= all) & lies_apart(in.data, bytes, out.data, all, out.data + bytes * m.group.rank);
  if (parts_in_lanes(scope, m, Call::all_gather, in.data, out.data, bytes, right, code)) return code;
  if constexpr (goes_straight<Scope>)
    if (right && in.data && out.data && may_go_straight(scope, m, bytes, least_by_addresses(*m.port.me)))
      return parts_straight<Scope>(scope, m, Call::all_gather, in.data, out.data, bytes);
  return all_gather_otherwise<Scope>(scope, m, in, out, element);
}

template <class Scope>
[[gnu::noinline]] DCGN_HOST_DEVICE Code all_gatherv(const Scope& scope, const Member& m, Input in, Output out,
                                                    Parts parts, std::int64_t element) {
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
  Code code = Code::ok;
  const std::int64_t all = in.count * element;
  const auto part = static_cast<std::uint32_t>(in.count) / static_cast<std::uint32_t>(m.group.size ? m.group.size : 1);
  const bool right =
      (in.count >> 31 == 0) & (part * m.group.size == in.count) & (out.count >= in.count) &
      lies_apart(in.data, all, out.data, all, out.data) &
      ((in.data != out.data) | (static_cast<std::uint64_t>(all) <= m.port.me->collectives.scratch_bytes));
  if (parts_in_lanes(scope, m, Call::all_to_all, in.data, out.data, part * element, right, code)) return code;
  if constexpr (goes_straight<Scope>)
    if (right && in.data != out.data && in.data && out.data &&
        may_go_straight(scope, m, part * element, least_by_addresses(*m.port.me)))
      return parts_straight<Scope>(scope, m, Call::all_to_all, in.data, out.data, part * element);
  return all_to_all_otherwise<Scope>(scope, m, in, out, element);
}

template <class Scope>
[[gnu::noinline]] DCGN_HOST_DEVICE Code all_to_allv(const Scope& scope, const Member& m, Input in, Parts send,
                                                    Output out, Parts receive, std::int64_t element) {
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

// ---- with an operation

template <class Scope, class R>
[[gnu::noinline]] DCGN_HOST_DEVICE Code reduce_otherwise(Kept<Scope> scope, const Member m, Input in, Output out,
                                                         int root, const R r) {
  const Channel c(scope, m, Call::reduce, [&](Checks& checks) {
    checks.root(root);
    checks.alike(in.count * r.element());
    checks.input(in, in.count, r.element());
    checks.reachable(in.data);
    if (m.group.rank != root) return;
    checks.output(out, in.count, r.element());
    checks.reachable(out.data);
    checks.apart(in.data, in.count * r.element(), out.data, out.count * r.element(), out.data);
  });
  if (c.code() != Code::ok) return c.code();
  const Hosts hosts(c);
  return hosts.count ? reduce_by_hosts(c, hosts, in.data, out.data, in.count, root, r)
                     : reduce(c, in.data, out.data, in.count, root, r);
}

template <class Scope, class R>
DCGN_HOST_DEVICE Code reduce(const Scope& scope, const Member& m, Input in, Output out, int root, const R& r) {
  Code code = Code::ok;
  const int known = m.group.has(root) ? root : m.group.size;
  return reduce_in_cells(scope, m, Call::reduce, in, out, known, r, code)
             ? code
             : reduce_otherwise<Scope>(scope, m, in, out, root, r);
}

// What those check that give every rank as much as it gave.
template <class R>
DCGN_HOST_DEVICE void check_alike(Checks& checks, const Input& in, const Output& out, const R& r) {
  checks.alike(in.count * r.element());
  checks.input(in, in.count, r.element());
  checks.output(out, in.count, r.element());
  checks.apart(in.data, in.count * r.element(), out.data, out.count * r.element(), out.data);
  checks.reachable(in.data);
  checks.reachable(out.data);
}

template <class Scope, class R>
[[gnu::noinline]] DCGN_HOST_DEVICE Code all_reduce_otherwise(Kept<Scope> scope, const Member m, Input in, Output out,
                                                             const R r) {
  const Channel c(scope, m, Call::all_reduce, [&](Checks& checks) { check_alike(checks, in, out, r); });
  if (c.code() != Code::ok) return c.code();
  const Hosts hosts(c);
  return hosts.count ? all_reduce_by_hosts(c, hosts, in.data, out.data, in.count, r)
                     : all_reduce(c, in.data, out.data, in.count, r);
}

// `told`, if they have told each other.
template <class Scope, class R>
[[gnu::noinline]] DCGN_HOST_DEVICE Code all_reduce_straight(Kept<Scope> scope, const Member m, Input in, Output out,
                                                            bool have_told, Told told, const R r) {
  const Pieces pieces = pieces_to_reduce(in.count, m.group.size, r);
  if (!have_told)
    told = tell_straight<Scope>(scope, m, Call::all_reduce, in.data, out.data, alike_to_reduce(in.count, r));
  return go_straight<Scope>(
      scope, m, Call::all_reduce, told,
      [&](const auto& c, const Place* places) {
        reducing_part(c, out.data, pieces.begin(c.rank()), pieces.length(c.rank()), true, r)(places);
      },
      [&](const auto& c) { return all_reduce_by_messages(c, in.data, out.data, in.count, r); });
}

template <class Scope, class R>
DCGN_HOST_DEVICE Code all_reduce(const Scope& scope, const Member& m, Input in, Output out, const R& r) {
  Code code = Code::ok;
  if (reduce_in_cells(scope, m, Call::all_reduce, in, out, -1, r, code)) return code;
  if constexpr (ReducesInLanes<Scope, R>) {
    bool fits = false;
    const Reduction reduction = reduction_in_lanes<Scope, R>(scope, m, in, out, fits);
    if (fits)
      if (const Outcome outcome = all_reduce_in_lanes(scope, m, reduction, r); outcome.done) return outcome.code;
  }
  if constexpr (goes_straight<Scope>)
    if (const std::int64_t bytes = in.count * r.element(); may_go_straight(scope, m, bytes, all_reduce_by_addresses) &&
                                                           in.data && out.data && out.count >= in.count &&
                                                           lies_apart(in.data, bytes, out.data, bytes, out.data)) {
      if constexpr (ReducesInBlocks<Scope, R>)
        if (const unsigned blocks = blocks_that_move(scope, m, in, out, bytes)) {
          const Told told = all_reduce_in_blocks(scope, m, in, out, alike_to_reduce(in.count, r), blocks, r);
          return told.together || told.code != Code::ok ? told.code
                                                        : all_reduce_straight<Scope>(scope, m, in, out, true, told, r);
        }
      return all_reduce_straight<Scope>(scope, m, in, out, false, {}, r);
    }
  return all_reduce_otherwise<Scope>(scope, m, in, out, r);
}

template <class Scope, class R>
DCGN_HOST_DEVICE Code scan(const Scope& scope, const Member& m, Input in, Output out, bool exclusive, const R& r) {
  const Channel c(scope, m, exclusive ? Call::exclusive_scan : Call::scan,
                  [&](Checks& checks) { check_alike(checks, in, out, r); });
  if (c.code() != Code::ok) return c.code();
  const Hosts hosts(c);
  return hosts.count ? scan_by_hosts(c, hosts, in.data, out.data, in.count, exclusive, r)
                     : scan(c, in.data, out.data, in.count, exclusive, r);
}

// Part k of `total` elements for rank k.
template <class Scope, class R>
DCGN_HOST_DEVICE Code reduce_parts_of(const Channel<Scope>& c, const message::Spread<const unsigned char>& in,
                                      std::int64_t total, unsigned char* out, const R& r) {
  if (const std::int64_t bytes = total * r.element(); bytes <= share_bytes(c, 2))
    if (const Hosts hosts(c); hosts.count) return reduce_scatter_by_hosts(c, hosts, in, total, out, r);
  return reduce_scatter(c, in, total, out, r);
}

template <class Scope, class R>
DCGN_HOST_DEVICE Code reduce_scatter(const Scope& scope, const Member& m, Input in, Output out, const R& r) {
  const Channel c(scope, m, Call::reduce_scatter, [&](Checks& checks) {
    checks.alike(out.count * r.element());
    checks.output(out, 0, r.element());
    checks.input(in, out.count * m.group.size, r.element());
    checks.apart(out.data, out.count * r.element(), in.data, in.count * r.element(),
                 in.data + out.count * m.group.rank * r.element());
    checks.reachable(in.data);
    checks.reachable(out.data);
  });
  if (c.code() != Code::ok) return c.code();
  const std::int64_t bytes = out.count * r.element();
  return reduce_parts_of(c, message::in_row(in.data, bytes, bytes), in.count, out.data, r);
}

// Part i is parts.counts[i] elements, which follow each other.
template <class Scope, class R>
DCGN_HOST_DEVICE Code reduce_scatterv(const Scope& scope, const Member& m, Input in, Parts parts, Output out,
                                      const R& r) {
  const auto begin = [&](int i) {
    std::int64_t sum = 0;
    for (int k = 0; k < i; ++k) sum += parts.counts[k];
    return sum;
  };
  const Channel c(scope, m, Call::reduce_scatterv, [&](Checks& checks) {
    checks.alike(in.count * r.element());
    checks.counts(parts);
    if (checks.failure().code != Code::ok) return;
    checks.input(in, begin(m.group.size), r.element());
    checks.output(out, parts.counts[m.group.rank], r.element());
    checks.apart(out.data, out.count * r.element(), in.data, in.count * r.element(),
                 in.data + begin(m.group.rank) * r.element());
    checks.reachable(in.data);
    checks.reachable(out.data);
  });
  if (c.code() != Code::ok) return c.code();
  return reduce_parts_of(c, message::listed(in.data, parts.counts, nullptr, r.element()), in.count, out.data, r);
}

}  // namespace dcgn::collective
