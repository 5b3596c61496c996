// The collective calls that compute, compiled with each operation: each checks its arguments and runs an algorithm.
// Each is made by all threads of a scope with the same arguments; `count`s and Parts are in elements of `element`
// bytes.
#pragma once

#include <dcgn/collective/channel.hpp>
#include <dcgn/collective/hosts.hpp>
#include <dcgn/collective/in_turns.hpp>
#include <dcgn/collective/moving.hpp>
#include <dcgn/collective/reducing.hpp>
#include <dcgn/collective/straight.hpp>

#include <cstdint>

namespace dcgn::collective {

// ---- with an operation

// Operations of slots: those of CPU ranks have no inboxes.
template <class R>
concept ReducesInTurns = requires {
  R::element_size;
};

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

// Whether operands may be reduced in a turn: with room for the result, which lies at `same` or clear of them.
template <class Scope>
DCGN_HOST_DEVICE bool reduces_in_turn(const Scope& scope, const Member& m, const Input& in, const Output& out,
                                      std::int64_t results, std::int64_t element, const void* same) {
  return goes_in_turns(scope, m) & (in.data != nullptr || in.count == 0) & (out.data != nullptr || results == 0) &
             (out.count >= results) &&
         lies_apart(out.data, results * element, in.data, in.count * element, same);
}

// A call that reduces on the buffers directly, of ranks that have inboxes.
struct StraightReduction {
  Call call;
  int root;  // the rank that gets the result, or no_root
  const unsigned char* in;
  unsigned char* out;
  std::int64_t total;         // elements of an input, the same at all ranks
  std::int64_t begin, count;  // those that the calling rank reduces; `each_its_piece`: a piece of all instead
  int operands;               // of ranks 0 to operands - 1
  bool each_its_piece = false;
  bool to_all = false;  // into the outputs of all ranks; otherwise into the root's, or the calling rank's
};
template <class Scope, class R, class ByMessages>
[[gnu::always_inline]] DCGN_HOST_DEVICE inline Code reduce_straight(const Scope& scope, const Member& m,
                                                                    const StraightReduction& a, const R& r,
                                                                    const ByMessages& by_messages) {
  Alike alike = alike_to_reduce(a.total, r);
  if (a.root >= 0) alike.root = a.root;
  // Of reduce, the root alone has an output.
  const void* const out = a.out ? a.out : a.in;
  const Told told = tell_straight<Scope>(scope, m, a.call, a.in, out, alike);
  return go_straight<Scope>(
      scope, m, a.call, told,
      [&](const auto& c, const Place* places) {
        constexpr int table = at_once_ranks * sizeof(Place);
        std::int64_t begin = a.begin, count = a.count;
        if (a.each_its_piece) {
          const Pieces pieces = pieces_to_reduce(a.total, c.size(), r);
          begin = pieces.begin(c.rank());
          count = pieces.length(c.rank());
        }
        const std::int64_t at = begin * r.element();
        unsigned char* const alone = a.to_all ? nullptr : a.root >= 0 ? places[a.root].to() + at : a.out;
        r.fold(
            c.scope(),
            Far{places, a.operands, c.size(), c.rank(), at, at, alone, c.scratch() + table, c.scratch_bytes() - table},
            a.operands ? count : 0);
      },
      by_messages);
}
template <class Scope, class R, class ByMessages>
[[gnu::noinline]] DCGN_HOST_DEVICE static Code reduce_straight_apart(Kept<Scope> scope, const Member m,
                                                                     const StraightReduction a, const R r,
                                                                     const ByMessages& by_messages) {
  return reduce_straight<Scope>(scope, m, a, r, by_messages);
}

// A call in a turn (`in_turn`), on the buffers directly (`straight`), or by otherwise(scope). by_messages(channel) goes
// on if not all buffers can be reached. Several blocks reduce in the kernel's own code: a function would save the
// registers of all their threads.
template <class Scope, class R, class ByMessages, class Otherwise>
[[gnu::always_inline]] DCGN_HOST_DEVICE inline Code reduce_one_way(const Scope& scope, const Member& m, bool in_turn,
                                                                   const Reduced& a, bool straight,
                                                                   const StraightReduction& s, const R& r,
                                                                   const ByMessages& by_messages,
                                                                   const Otherwise& otherwise) {
  if constexpr (message::plans_ahead<Scope>)
    if (straight) return reduce_straight(scope, m, s, r, by_messages);
  return reduce_by(scope, m, in_turn, a, s.total * r.element(), r, [&]<class S>(const S& its) {
    if constexpr (!message::plans_ahead<Scope>)
      if (straight) return reduce_straight_apart<S>(its, m, s, r, by_messages);
    return otherwise(its);
  });
}

template <class Scope, class R>
[[gnu::always_inline]] DCGN_HOST_DEVICE inline Code reduce(const Scope& scope, const Member& m, Input in, Output out,
                                                           int root, const R r) {
  const auto otherwise = [&]<class S>(const S& s) { return reduce_otherwise<S>(s, m, in, out, root, r); };
  if constexpr (ReducesInTurns<R>) {
    const std::int64_t bytes = in.count * r.element();
    const int size = m.group.size, self = m.group.rank;
    const bool here = self == root;
    const bool right =
        reduces_in_turn(scope, m, in, out, here ? in.count : 0, r.element(), in.data) && m.group.has(root);
    const bool in_turn = right && bytes <= most_to_reduce_in_turn &&
                         bytes <= InboxHalves(m.group.inbox_packets).whole_bytes() &&
                         has_room(*m.port.me, bytes, size, r);
    const bool straight = right && !in_turn && may_go_straight(scope, m, bytes, all_reduce_by_addresses);
    return reduce_one_way(
        scope, m, in_turn,
        {Call::reduce, root, in.count, in.data, 0, out.data, here ? 0 : bit_of(root), here ? size : 0}, straight,
        {Call::reduce, root, in.data, here ? out.data : nullptr, in.count, 0, 0, size, true}, r,
        [&](const auto& c) { return reduce(c, in.data, out.data, in.count, root, r); }, otherwise);
  } else {
    return otherwise(scope);
  }
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

template <class Scope, class R>
[[gnu::always_inline]] DCGN_HOST_DEVICE inline Code all_reduce(const Scope& scope, const Member& m, Input in,
                                                               Output out, const R r) {
  if constexpr (ReducesInTurns<R>) {
    const std::int64_t bytes = in.count * r.element();
    const int size = m.group.size;
    const bool right = reduces_in_turn(scope, m, in, out, in.count, r.element(), in.data);
    const auto fits = [&](std::int64_t operand) { return has_room(*m.port.me, operand, size, r); };
    const Steps steps = right && bytes <= most_to_reduce_in_turn
                            ? steps_of(m.group.inbox_packets, bytes, size, r.element(), fits(bytes))
                            : Steps::none;
    const bool in_parts = steps == Steps::two;
    const bool in_turn = steps == Steps::one || (in_parts && fits(parts_of(bytes, size, r.element()).each));
    const bool straight = right && !in_turn && may_go_straight(scope, m, bytes, all_reduce_by_addresses);
    return reduce_one_way(
        scope, m, in_turn,
        {Call::all_reduce, no_root, in.count, in.data, 0, out.data, others_in(m.group), size, in_parts}, straight,
        {Call::all_reduce, no_root, in.data, out.data, in.count, 0, 0, size, true, true}, r,
        [&](const auto& c) { return all_reduce_by_messages(c, in.data, out.data, in.count, r); },
        [&]<class S>(const S& s) { return all_reduce_otherwise<S>(s, m, in, out, r); });
  } else {
    return all_reduce_otherwise<Scope>(scope, m, in, out, r);
  }
}

template <class Scope, class R>
[[gnu::noinline]] DCGN_HOST_DEVICE static Code scan_otherwise(Kept<Scope> scope, const Member m, Input in, Output out,
                                                              bool exclusive, const R r) {
  const Channel c(scope, m, exclusive ? Call::exclusive_scan : Call::scan,
                  [&](Checks& checks) { check_alike(checks, in, out, r); });
  if (c.code() != Code::ok) return c.code();
  const Hosts hosts(c);
  return hosts.count ? scan_by_hosts(c, hosts, in.data, out.data, in.count, exclusive, r)
                     : scan(c, in.data, out.data, in.count, exclusive, r);
}

template <class Scope, class R>
[[gnu::always_inline]] DCGN_HOST_DEVICE inline Code scan(const Scope& scope, const Member& m, Input in, Output out,
                                                         bool exclusive, const R r) {
  const auto otherwise = [&]<class S>(const S& s) { return scan_otherwise<S>(s, m, in, out, exclusive, r); };
  if constexpr (ReducesInTurns<R>) {
    const std::int64_t bytes = in.count * r.element();
    const int size = m.group.size, self = m.group.rank;
    const bool right = reduces_in_turn(scope, m, in, out, in.count, r.element(), in.data);
    const bool in_turn = right && bytes <= most_to_move_in_turn &&
                         bytes <= InboxHalves(m.group.inbox_packets).whole_bytes() &&
                         has_room(*m.port.me, bytes, size, r);
    const bool straight = right && !in_turn && may_go_straight(scope, m, bytes, slots_parts_by_addresses);
    const Call call = exclusive ? Call::exclusive_scan : Call::scan;
    const int operands = self + !exclusive;
    return reduce_one_way(
        scope, m, in_turn,
        {call, no_root, in.count, in.data, 0, out.data, others_in(m.group) & ~(2 * bit_of(self) - 1), operands},
        straight, {call, no_root, in.data, out.data, in.count, 0, in.count, operands}, r,
        [&](const auto& c) { return scan(c, in.data, out.data, in.count, exclusive, r); }, otherwise);
  } else {
    return otherwise(scope);
  }
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
[[gnu::noinline]] DCGN_HOST_DEVICE static Code reduce_scatter_otherwise(Kept<Scope> scope, const Member m, Input in,
                                                                        Output out, const R r) {
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

template <class Scope, class R>
[[gnu::always_inline]] DCGN_HOST_DEVICE inline Code reduce_scatter(const Scope& scope, const Member& m, Input in,
                                                                   Output out, const R r) {
  const auto otherwise = [&]<class S>(const S& s) { return reduce_scatter_otherwise<S>(s, m, in, out, r); };
  if constexpr (ReducesInTurns<R>) {
    const std::int64_t bytes = out.count * r.element();
    const int size = m.group.size;
    const bool right = reduces_in_turn(scope, m, in, out, out.count, r.element(), in.data + m.group.rank * bytes) &&
                       in.count == out.count * size;
    const bool in_turn = right && bytes <= most_to_move_in_turn &&
                         bytes <= InboxHalves(m.group.inbox_packets).whole_bytes() &&
                         has_room(*m.port.me, bytes, size, r);
    const bool straight = right && !in_turn && may_go_straight(scope, m, bytes, slots_parts_by_addresses);
    return reduce_one_way(
        scope, m, in_turn,
        {Call::reduce_scatter, no_root, out.count, in.data, bytes, out.data, others_in(m.group), size}, straight,
        {Call::reduce_scatter, no_root, in.data, out.data, in.count, m.group.rank * out.count, out.count, size}, r,
        [&](const auto& c) { return reduce_scatter(c, message::in_row(in.data, bytes, bytes), in.count, out.data, r); },
        otherwise);
  } else {
    return otherwise(scope);
  }
}

// Part i is parts.counts[i] elements, which follow each other.
template <class Scope, class R>
[[gnu::noinline]] DCGN_HOST_DEVICE static Code reduce_scatterv(Kept<Scope> scope, const Member m, Input in, Parts parts,
                                                               Output out, const R r) {
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
