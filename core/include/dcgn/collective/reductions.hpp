// The collective calls that compute, compiled with each operation: each checks its arguments and runs an algorithm.
// Each is made by all threads of a scope with the same arguments; `count`s and Parts are in elements of `element`
// bytes.
#pragma once

#include <dcgn/collective/channel.hpp>
#include <dcgn/collective/hosts.hpp>
#include <dcgn/collective/in_blocks.hpp>
#include <dcgn/collective/in_fifos.hpp>
#include <dcgn/collective/in_packets.hpp>
#include <dcgn/collective/moving.hpp>
#include <dcgn/collective/reducing.hpp>

#include <cstdint>

namespace dcgn::collective {

// Calls that may be a matter of packets are inlined up to there; the rest has a copy of scope and member.
using detail::Kept;

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

// ---- with an operation

template <class Scope, class R>
[[gnu::noinline]] DCGN_HOST_DEVICE static Code reduce_otherwise(Kept<Scope> scope, const Member m, Input in, Output out,
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
  return reduce_in_packets(scope, m, Call::reduce, in, out, known, r, code)
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
[[gnu::noinline]] DCGN_HOST_DEVICE static Code all_reduce_otherwise(Kept<Scope> scope, const Member m, Input in,
                                                                    Output out, const R r) {
  const Channel c(scope, m, Call::all_reduce, [&](Checks& checks) { check_alike(checks, in, out, r); });
  if (c.code() != Code::ok) return c.code();
  const Hosts hosts(c);
  return hosts.count ? all_reduce_by_hosts(c, hosts, in.data, out.data, in.count, r)
                     : all_reduce(c, in.data, out.data, in.count, r);
}

// `told`, if they have told each other.
template <class Scope, class R>
[[gnu::noinline]] DCGN_HOST_DEVICE static Code all_reduce_straight(Kept<Scope> scope, const Member m, Input in,
                                                                   Output out, bool have_told, Told told, const R r) {
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
  if (reduce_in_packets(scope, m, Call::all_reduce, in, out, -1, r, code)) return code;
  if constexpr (ReducesInFifos<Scope, R>) {
    bool fits = false;
    const Reduction reduction = reduction_in_fifos<Scope, R>(scope, m, in, out, fits);
    if (fits)
      if (const Outcome outcome = all_reduce_in_fifos(scope, m, reduction, r); outcome.done) return outcome.code;
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
