// Algorithms that compute: all of them keep the order of the ranks, the left operand of an operation being of lower
// ranks, and none depends on timing. What does not fit the scratch is done piece by piece.
//
// `Reducer` is an operation on elements: a Reducer<T, Op> of a kernel's call or a HostReducer of a CPU rank's.
#pragma once

#include <dcgn/buffers.hpp>
#include <dcgn/collective/addresses.hpp>
#include <dcgn/collective/channel.hpp>
#include <dcgn/collective/moving.hpp>
#include <dcgn/collective/teams.hpp>
#include <dcgn/collective/thresholds.hpp>
#include <dcgn/message/copy_bytes.hpp>
#include <dcgn/operation.hpp>

#include <cstdint>
#include <type_traits>

namespace dcgn::collective {

// loop(reducer) in a function of its own, static as all that is compiled into kernels and not inlined: of relocatable
// code ptxas bounds the registers of such functions alone by those that the kernels which call them may have.
template <class R, class Loop>
[[gnu::noinline]] DCGN_HOST_DEVICE static void outlined_loop(const R& reducer, const Loop& loop) {
  loop(reducer);
}

// An operation on elements, which the threads of a scope share.
template <Reducible T, Operation<T> Op>
struct Reducer {
  Op op;

  DCGN_HOST_DEVICE static std::int64_t element() { return static_cast<std::int64_t>(sizeof(T)); }
  // into[i] = op(left[i], right[i]), where `into` may be one of the others; all threads of the scope see it.
  template <class Scope>
  DCGN_HOST_DEVICE void combine(const Scope& scope, void* into, const void* left, const void* right,
                                std::int64_t count) const {
    outlined_loop(*this, [&](const Reducer& r) { r.combine_here(scope, into, left, right, count); });
  }
  template <class Scope>
  DCGN_HOST_DEVICE void combine_here(const Scope& scope, void* into, const void* left, const void* right,
                                     std::int64_t count) const {
    T* const to = static_cast<T*>(into);
    const T* const a = static_cast<const T*>(left);
    const T* const b = static_cast<const T*>(right);
    for (std::int64_t i = scope.rank(); i < count; i += scope.size()) to[i] = op(a[i], b[i]);
    scope.sync();
  }
  static constexpr std::int64_t element_size = sizeof(T);
  static constexpr bool reads_operands_alone = dcgn::detail::reads_operands_alone<Op>;
  // Whether several elements, or one, fill 8 bytes: operands that threads pass each other.
  static constexpr bool folds_words = 8 % sizeof(T) == 0;
  // Of elements that fill a word.
  DCGN_HOST_DEVICE std::uint32_t fold_word(std::uint32_t left, std::uint32_t right) const {
    return fold_elements<4 / sizeof(T)>(left, right, 4 / sizeof(T));
  }
  // Of so many elements, up to 8 bytes.
  DCGN_HOST_DEVICE std::uint64_t fold_eight(std::uint64_t left, std::uint64_t right, std::int64_t count) const {
    return fold_elements<8 / sizeof(T)>(left, right, count);
  }
  // into[i] = operand 0 op operand 1 op ..., where `into` may be one of them; all threads of the scope see it.
  template <class Scope>
  DCGN_HOST_DEVICE void fold(const Scope& scope, void* into, const Operands& of, std::int64_t count) const {
    outlined_loop(*this, [&](const Reducer& r) { r.fold_here(scope, into, of, count); });
  }
  template <class Scope>
  DCGN_HOST_DEVICE void fold_here(const Scope& scope, void* into, const Operands& of, std::int64_t count) const {
    const auto operand = [&](int k, std::int64_t i) -> const T& { return reinterpret_cast<const T*>(of[k])[i]; };
    T* const to = static_cast<T*>(into);
    for (std::int64_t i = scope.rank(); i < count; i += scope.size()) {
      T sum = operand(0, i);
#if defined(__CUDA_ARCH__)
#pragma unroll 4  // so many loads are under way at once
#endif
      for (int k = 1; k < of.count; ++k) sum = op(sum, operand(k, i));
      to[i] = sum;
    }
    scope.sync();
  }
  // The same of what other ranks have.
  template <class Scope>
  DCGN_HOST_DEVICE void fold(const Scope& scope, const Far& far, std::int64_t count) const {
    outlined_loop(*this, [&](const Reducer& r) { r.fold_here(scope, far, count); });
  }
  template <class Scope>
  DCGN_HOST_DEVICE void fold_here(const Scope& scope, const Far& far, std::int64_t count) const {
    std::int64_t done = 0;
#if defined(__CUDA_ARCH__)
    if constexpr (16 % sizeof(T) == 0) done = fold_lines(scope, far, count);
#endif
    for (std::int64_t i = done + scope.rank(); i < count; i += scope.size()) {
      T sum = reinterpret_cast<const T*>(far[0])[i];
      for (int k = 1; k < far.operands; ++k) sum = op(sum, reinterpret_cast<const T*>(far[k])[i]);
      for (int k = 0; k < far.targets(); ++k) reinterpret_cast<T*>(far.target(k))[i] = sum;
    }
  }

 private:
  template <int Most, class Word>
  DCGN_HOST_DEVICE Word fold_elements(Word left, Word right, std::int64_t count) const {
    struct Elements {
      T at[Most];
    };
    static_assert(sizeof(Elements) == sizeof(Word));
    Elements sum = __builtin_bit_cast(Elements, left);
    const Elements next = __builtin_bit_cast(Elements, right);
    for (int j = 0; j < Most; ++j)
      if (j < count) sum.at[j] = op(sum.at[j], next.at[j]);
    return __builtin_bit_cast(Word, sum);
  }

#if defined(__CUDA_ARCH__)
  // Of the elements in whole lines of 16 bytes, if all buffers are aligned; returns how many. A thread has four lines
  // of two ranks under way; of several blocks two, which is enough, and takes few registers.
  template <class Scope>
  __device__ std::int64_t fold_lines(const Scope& scope, const Far& far, std::int64_t count) const {
    constexpr auto each = static_cast<std::int64_t>(16 / sizeof(T));
    constexpr int depth = message::plans_ahead<Scope> ? 2 : 4;
    const std::int64_t lines = count / each, stride = scope.size();
    std::uintptr_t together = 0;
    for (int k = 0; k < far.operands; ++k) together |= reinterpret_cast<std::uintptr_t>(far[k]);
    for (int k = 0; k < far.targets(); ++k) together |= reinterpret_cast<std::uintptr_t>(far.target(k));
    if (together & 15) return 0;
    for (std::int64_t i = scope.rank(); i < lines; i += depth * stride) {
      uint4 sum[depth], next[2][depth];
      const auto load = [&](int k, uint4(&to)[depth]) {
        const auto* const from = reinterpret_cast<const uint4*>(far[k]) + i;
#pragma unroll
        for (int d = 0; d < depth; ++d)
          if (i + d * stride < lines) to[d] = message::load_line(from + d * stride);
      };
      const auto add_all = [&](const uint4(&from)[depth]) {
#pragma unroll
        for (int d = 0; d < depth; ++d)
          if (i + d * stride < lines) add(sum[d], from[d]);
      };
      load(0, sum);
#pragma unroll 1
      for (int k = 1; k < far.operands; k += 2) {
        load(k, next[0]);
        if (k + 1 < far.operands) load(k + 1, next[1]);
        add_all(next[0]);
        if (k + 1 < far.operands) add_all(next[1]);
      }
#pragma unroll 1
      for (int k = 0; k < far.targets(); ++k) {
        auto* const to = reinterpret_cast<uint4*>(far.target(k)) + i;
#pragma unroll
        for (int d = 0; d < depth; ++d)
          if (i + d * stride < lines) to[d * stride] = sum[d];
      }
    }
    return lines * each;
  }
  __device__ void add(uint4& sum, const uint4& next) const {
    T* const a = reinterpret_cast<T*>(&sum);
    const T* const b = reinterpret_cast<const T*>(&next);
#pragma unroll
    for (std::size_t j = 0; j < 16 / sizeof(T); ++j) a[j] = op(a[j], b[j]);
  }
#endif
};

// How many elements fit one of so many equal shares of the scratch; a multiple of 64 bytes each.
template <class Scope>
DCGN_HOST_DEVICE std::int64_t share_bytes(const Channel<Scope>& c, int shares) {
  return static_cast<std::uint32_t>(c.scratch_bytes()) / static_cast<std::uint32_t>(shares) / 64 * 64;
}

// Whether there is something to do from here on. Of nothing at all there is: the ranks send each other nothing, so that
// those who have something find out.
DCGN_HOST_DEVICE inline bool is_left(std::int64_t at, std::int64_t count) { return at < count || at == 0; }

// ---- in rounds

// Whether so many operands of so many elements fit the scratch.
template <class Scope, class R>
DCGN_HOST_DEVICE bool has_space(const Channel<Scope>& c, int operands, std::int64_t count, const R& r) {
  return operands > 0 && share_bytes(c, operands) / r.element() >= count;
}

// Everyone's elements to the root, or with root -1 to all, who reduce them.
template <class Scope, class R>
[[gnu::noinline]] DCGN_HOST_DEVICE static Code reduce_whole(const Channel<Scope>& c, const unsigned char* in,
                                                            unsigned char* out, std::int64_t count, int root,
                                                            const R& r) {
  const std::int64_t share = share_bytes(c, c.size()), most = share / r.element();
  for (std::int64_t at = 0; is_left(at, count); at += most) {
    const std::int64_t n = lesser(most, count - at), begin = at * r.element();
    const auto mine = message::whole(in + begin, n * r.element());
    const auto theirs = message::in_row(c.scratch(), n * r.element(), share);
    message::Round round = root < 0 ? c.among_all(mine, theirs) : c.gathering(root, mine, theirs);
    round.keeps = false;
    const Code code = c.round(round);
    if (code != Code::ok) return code;
    if (root < 0 || root == c.rank())
      r.fold(c.scope(), out + begin, {c.scratch(), share, c.size(), c.rank(), in + begin}, n);
  }
  return Code::ok;
}

// Each rank reduces a piece, which goes to the root, or with root -1 to all.
template <class Scope, class R>
[[gnu::noinline]] DCGN_HOST_DEVICE static Code reduce_pieces(const Channel<Scope>& c, const unsigned char* in,
                                                             unsigned char* out, std::int64_t count, int root,
                                                             const R& r) {
  const std::int64_t element = r.element(), share = share_bytes(c, c.size()), most = share / element * c.size();
  const bool all = root < 0, here = all || root == c.rank();
  for (std::int64_t at = 0; is_left(at, count); at += most) {
    const Pieces pieces(lesser(most, count - at), c.size());
    const std::int64_t each = pieces.each * element, total = pieces.total * element, begin = at * element,
                       mine = begin + pieces.begin(c.rank()) * element, length = pieces.length(c.rank()) * element;
    Code code =
        c.round(c.among_all(message::cut(in + begin, each, total), message::in_row(c.scratch(), length, share), false));
    if (code != Code::ok) return code;
    unsigned char* const sum = here ? out + mine : c.scratch() + c.rank() * share;
    const unsigned char* const result = sum;
    r.fold(c.scope(), sum, {c.scratch(), share, c.size(), c.rank(), in + mine}, pieces.length(c.rank()));
    const auto piece = message::whole(result, length);
    const auto others = message::cut(out + (here ? begin : 0), each, total);
    message::Round round = all ? c.among_all(piece, others) : c.gathering(root, piece, others);
    round.keeps = false;
    code = c.round(round);
    if (code != Code::ok) return code;
  }
  return Code::ok;
}

// Whether all can send what is to be reduced to each other at once, and whether whole rather than in pieces.
template <class Scope, class R>
DCGN_HOST_DEVICE bool reduces_at_once(const Channel<Scope>& c, std::int64_t count, const R& r) {
  return c.at_once() && count * r.element() <= parts_at_once && has_space(c, c.size(), 1, r);
}
template <class Scope>
DCGN_HOST_DEVICE bool goes_whole(const Channel<Scope>& c, std::int64_t bytes) {
  return bytes * (c.size() - 1) <= whole_at_once && bytes <= share_bytes(c, c.size());
}
template <class Scope, class R>
DCGN_HOST_DEVICE Code reduce_at_once(const Channel<Scope>& c, const unsigned char* in, unsigned char* out,
                                     std::int64_t count, int root, const R& r) {
  return goes_whole(c, count * r.element()) ? reduce_whole(c, in, out, count, root, r)
                                            : reduce_pieces(c, in, out, count, root, r);
}

// Each team reduces its operands, then the leaders theirs; with root -1 the result goes to all, and else the leaders'
// operands to the root.
template <class Scope, class R>
[[gnu::noinline]] DCGN_HOST_DEVICE static Code reduce_in_teams(const Channel<Scope>& c, const Teams& teams,
                                                               const unsigned char* in, unsigned char* out,
                                                               std::int64_t count, int root, const R& r) {
  const std::int64_t bytes = count * r.element(), share = share_bytes(c, teams.largest + 1);
  unsigned char* const partial = root < 0 ? out : c.scratch() + teams.largest * share;
  const unsigned char* const given = partial;
  const auto operands = message::in_row(c.scratch(), bytes, share);
  Code code = c.round(teams.up(message::whole(in, bytes), operands));
  if (code != Code::ok) return code;
  if (teams.leads()) r.fold(c.scope(), partial, {c.scratch(), share, teams.members, 0, in}, count);
  if (root < 0) {
    if (teams.leads()) {
      code = c.round(teams.across(message::whole(given, bytes), operands));
      if (code != Code::ok) return code;
      r.fold(c.scope(), out, {c.scratch(), share, teams.count, teams.mine, given}, count);
    }
    return c.round(teams.down(out, bytes));
  }
  const bool here = c.rank() == root;
  if (teams.leads() && !here)
    return c.round({.peers = c.everyone(), .to = c.only(root), .out = message::whole(given, bytes)});
  if (!here) return Code::ok;
  message::Peers leaders = teams.leaders;
  if (!teams.leads()) leaders.self = -1;
  code = c.round({.peers = leaders, .from = {0, teams.count}, .in = operands});
  if (code == Code::ok) r.fold(c.scope(), out, {c.scratch(), share, teams.count, leaders.self, given}, count);
  return code;
}

template <class Scope, class R>
DCGN_HOST_DEVICE Teams teams_to_reduce(const Channel<Scope>& c, std::int64_t count, const R& r) {
  if (count * r.element() > in_teams_bytes) return {};
  Teams teams(c);
  if (!has_space(c, teams.largest + 1, count, r)) teams.count = 0;
  return teams;
}

// By addresses each rank reduces a part of `total` elements where it is, into its own output alone or those of all;
// `done` is false where that cannot be.
template <class R>
DCGN_HOST_DEVICE Alike alike_to_reduce(std::int64_t total, const R& r) {
  return {static_cast<std::uint64_t>(total * r.element()), 0, static_cast<std::uint32_t>(r.element())};
}
template <class Scope, class R>
DCGN_HOST_DEVICE auto reducing_part(const Channel<Scope>& c, unsigned char* out, std::int64_t begin, std::int64_t count,
                                    bool to_all, const R& r) {
  return [&c, &r, out, begin, count, to_all](const Place* places) {
    constexpr int table = at_once_ranks * sizeof(Place);
    const std::int64_t at = begin * r.element();
    r.fold(c.scope(),
           Far{places, c.size(), c.size(), c.rank(), at, at, to_all ? nullptr : out, c.scratch() + table,
               c.scratch_bytes() - table},
           count);
  };
}
template <class Scope, class R>
[[gnu::noinline]] DCGN_HOST_DEVICE static Code reduce_by_addresses(const Channel<Scope>& c, const unsigned char* in,
                                                                   unsigned char* out, std::int64_t begin,
                                                                   std::int64_t count, std::int64_t total, bool to_all,
                                                                   const R& r, bool& done) {
  return by_addresses(c, in, out, alike_to_reduce(total, r), true, done,
                      reducing_part(c, out, begin, count, to_all, r));
}
// The part of each rank of what all reduce.
template <class R>
DCGN_HOST_DEVICE Pieces pieces_to_reduce(std::int64_t count, int ranks, const R& r) {
  return {count, ranks, 128 % r.element() ? 1 : static_cast<int>(128 / r.element())};
}

// What each rank has for all is reduced by whom it is for, where all of it fits the scratch.
template <class Scope, class R>
[[gnu::noinline]] DCGN_HOST_DEVICE static Code reduce_parts_at_once(const Channel<Scope>& c,
                                                                    const message::Spread<const unsigned char>& in,
                                                                    unsigned char* out, std::int64_t count,
                                                                    const R& r) {
  const std::int64_t share = share_bytes(c, c.size());
  const Code code = c.round(c.among_all(in, message::in_row(c.scratch(), count * r.element(), share), false));
  if (code == Code::ok) r.fold(c.scope(), out, {c.scratch(), share, c.size(), c.rank(), in[c.rank()].data}, count);
  return code;
}

template <class Scope, class R>
[[gnu::noinline]] DCGN_HOST_DEVICE static Code scan_at_once(const Channel<Scope>& c, const unsigned char* in,
                                                            unsigned char* out, std::int64_t count, bool exclusive,
                                                            const R& r) {
  const std::int64_t share = share_bytes(c, c.size());
  const Code code = c.round({.peers = c.everyone(),
                             .to = {c.rank() + 1, c.size()},
                             .from = {0, c.rank()},
                             .out = message::whole(in, count * r.element()),
                             .in = message::in_row(c.scratch(), count * r.element(), share)});
  const int operands = c.rank() + !exclusive;
  if (code == Code::ok && operands) r.fold(c.scope(), out, {c.scratch(), share, operands, c.rank(), in}, count);
  return code;
}

// ---- step by step

// Up a tree whose ranks are in order, to rank 0, which passes the result on to the root.
template <class Scope, class R>
[[gnu::noinline]] DCGN_HOST_DEVICE static Code reduce(const Channel<Scope>& call, const unsigned char* in,
                                                      unsigned char* out, std::int64_t count, int root, const R& r) {
  if (reduces_at_once(call, count, r)) return reduce_at_once(call, in, out, count, root, r);
  const Channel<Scope> c = call.with_root(root);
  const Teams teams = teams_to_reduce(c, count, r);
  if (teams.count) return reduce_in_teams(c, teams, in, out, count, root, r);
  const std::int64_t share = share_bytes(c, 2), most = share / r.element();
  unsigned char* const received = c.scratch() + share;
  const bool ends_here = root == 0 && c.rank() == 0;
  for (std::int64_t at = 0; is_left(at, count); at += most) {
    const std::int64_t n = lesser(most, count - at), bytes = n * r.element();
    unsigned char* const result = c.rank() == root ? out + at * r.element() : nullptr;
    unsigned char* const sum = ends_here ? result : c.scratch();
    const unsigned char* have = in + at * r.element();
    Code code = Code::ok;
    int bit = 1;
    for (; bit < c.size() && !(c.rank() & bit) && code == Code::ok; bit *= 2) {
      if (c.rank() + bit >= c.size()) continue;
      code = c.recv(received, bytes, c.rank() + bit);
      if (code != Code::ok) break;
      r.combine(c.scope(), sum, have, received, n);
      have = sum;
    }
    if (code == Code::ok && c.rank() != 0) code = c.send(have, bytes, c.rank() - bit);
    if (code == Code::ok && c.rank() == 0 && root != 0) code = c.send(have, bytes, root);
    if (code == Code::ok && c.rank() == root && root != 0) code = c.recv(result, bytes, 0);
    if (code != Code::ok) return code;
    if (ends_here) c.copy(result, have, bytes);  // where there was nothing to combine
  }
  return Code::ok;
}

// All ranks reduce so many elements in place, with as much space for what comes: neighbours fold until their number is
// a power of two, then recursive doubling. A pair computes the same from the same operands, so all have the same bits.
template <class Scope, class R>
[[gnu::noinline]] DCGN_HOST_DEVICE static Code reduce_doubling(const Channel<Scope>& c, unsigned char* sum,
                                                               unsigned char* received, std::int64_t count,
                                                               const R& r) {
  const std::int64_t bytes = count * r.element();
  int power = 1;
  while (power <= c.size() / 2) power *= 2;
  const int folded = c.size() - power;  // pairs: 0 and 1, 2 and 3, ...
  const bool folds = c.rank() < 2 * folded, rests = folds && c.rank() % 2 == 0;
  Code code = Code::ok;
  if (rests) {
    code = c.send(sum, bytes, c.rank() + 1);
  } else if (folds) {
    code = c.recv(received, bytes, c.rank() - 1);
    if (code == Code::ok) r.combine(c.scope(), sum, received, sum, count);
  }
  const int place = folds ? c.rank() / 2 : c.rank() - folded;
  for (int bit = 1; !rests && bit < power && code == Code::ok; bit *= 2) {
    const int its_place = place ^ bit, other = its_place < folded ? 2 * its_place + 1 : its_place + folded;
    code = c.exchange(sum, bytes, other, received, bytes, other);
    if (code != Code::ok) break;
    const bool above = other > c.rank();
    r.combine(c.scope(), sum, above ? sum : received, above ? received : sum, count);
  }
  if (code != Code::ok || !folds) return code;
  return rests ? c.recv(sum, bytes, c.rank() + 1) : c.send(sum, bytes, c.rank() - 1);
}

// Rank r reduces part r of everybody's elements into `out`, which may be where part r is. Each rank sends each other
// one its part; what comes is first from the lower ranks, the nearest first, and then from the higher ones, the highest
// first: so each is put to the left of what it belongs to. begin(r) and length(r) are in elements.
template <class Scope, class R, class Begin, class Length>
[[gnu::noinline]] DCGN_HOST_DEVICE static Code reduce_parts(const Channel<Scope>& c, const unsigned char* in,
                                                            unsigned char* out, const Begin& begin,
                                                            const Length& length, const R& r) {
  const std::int64_t share = share_bytes(c, 2), most = share / r.element();
  unsigned char* const received = c.scratch();
  unsigned char* const higher = c.scratch() + share;
  std::int64_t longest = 0;
  for (int i = 0; i < c.size(); ++i)
    if (length(i) > longest) longest = length(i);
  for (std::int64_t at = 0; is_left(at, longest); at += most) {
    const auto left = [&](int i) {
      const std::int64_t n = length(i) - at;
      return n < 0 ? 0 : lesser(n, most);
    };
    const auto place = [&](int i) { return in + (begin(i) + at) * r.element(); };
    const std::int64_t n = left(c.rank()), bytes = n * r.element();
    unsigned char* const lower = out + at * r.element();
    c.copy(lower, place(c.rank()), bytes);
    for (int step = 1; step < c.size(); ++step) {
      const int to = c.beside(step), from = c.beside(-step);
      const bool highest = from == c.size() - 1 && from > c.rank();
      const Code code = c.exchange(place(to), left(to) * r.element(), to, highest ? higher : received, bytes, from);
      if (code != Code::ok) return code;
      unsigned char* const sum = from < c.rank() ? lower : higher;
      if (!highest) r.combine(c.scope(), sum, received, sum, n);
    }
    if (c.rank() + 1 < c.size()) r.combine(c.scope(), lower, lower, higher, n);
  }
  return Code::ok;
}

template <class Scope, class R>
[[gnu::noinline]] DCGN_HOST_DEVICE static Code all_reduce_by_messages(const Channel<Scope>& c, const unsigned char* in,
                                                                      unsigned char* out, std::int64_t count,
                                                                      const R& r) {
  const std::int64_t element = r.element();
  if (reduces_at_once(c, count, r)) return reduce_at_once(c, in, out, count, -1, r);
  const Teams teams = teams_to_reduce(c, count, r);
  if (teams.count) return reduce_in_teams(c, teams, in, out, count, -1, r);
  if (count * element < all_reduce_in_parts || c.size() <= 2) {
    const std::int64_t most = share_bytes(c, 1) / element;
    c.copy(out, in, count * element);
    for (std::int64_t at = 0; is_left(at, count); at += most) {
      const Code code = reduce_doubling(c, out + at * element, c.scratch(), lesser(most, count - at), r);
      if (code != Code::ok) return code;
    }
    return Code::ok;
  }
  const Pieces pieces(count, c.size());
  const Code code = reduce_parts(
      c, in, out + pieces.begin(c.rank()) * element, [&](int i) { return pieces.begin(i); },
      [&](int i) { return pieces.length(i); }, r);
  if (code != Code::ok) return code;
  return around_ring(
      c, out, [&](int i) { return pieces.begin(i) * element; }, [&](int i) { return pieces.length(i) * element; });
}

template <class Scope, class R>
[[gnu::noinline]] DCGN_HOST_DEVICE static Code all_reduce(const Channel<Scope>& c, const unsigned char* in,
                                                          unsigned char* out, std::int64_t count, const R& r) {
  if (goes_by_addresses(c, count * r.element(), all_reduce_by_addresses)) {
    const Pieces pieces = pieces_to_reduce(count, c.size(), r);
    bool done = false;
    const Code code =
        reduce_by_addresses(c, in, out, pieces.begin(c.rank()), pieces.length(c.rank()), count, true, r, done);
    if (done) return code;
  }
  return all_reduce_by_messages(c, in, out, count, r);
}

// What rank k gets is part k of `in`, which has `total` elements.
template <class Scope, class R>
DCGN_HOST_DEVICE Code reduce_scatter(const Channel<Scope>& c, const message::Spread<const unsigned char>& in,
                                     std::int64_t total, unsigned char* out, const R& r) {
  const auto begin = [&](int k) { return (in[k].data - in.base) / r.element(); };
  const auto length = [&](int k) { return in[k].bytes / r.element(); };
  std::int64_t longest = 0;
  for (int k = 0; k < (in.counts ? c.size() : 1); ++k)
    if (length(k) > longest) longest = length(k);
  if (goes_by_addresses(c, longest * r.element(), parts_by_addresses)) {
    bool done = false;
    const Code code = reduce_by_addresses(c, in.base, out, begin(c.rank()), length(c.rank()), total, false, r, done);
    if (done) return code;
  }
  if (c.at_once() && has_space(c, c.size(), longest, r)) return reduce_parts_at_once(c, in, out, length(c.rank()), r);
  const std::int64_t element = r.element(), share = share_bytes(c, 2), bytes = total * element;
  if (bytes >= reduce_scatter_in_parts || bytes > share) return reduce_parts(c, in.base, out, begin, length, r);
  unsigned char* const sum = c.scratch();
  c.copy(sum, in.base, bytes);
  const Code code = reduce_doubling(c, sum, sum + share, total, r);
  if (code == Code::ok) c.copy(out, sum + begin(c.rank()) * element, length(c.rank()) * element);
  return code;
}

// Recursive doubling: after a step with distance d a rank has the sum of the 2d ranks up to itself. With `exclusive`
// each gets what the rank below has at the end, and rank 0 nothing.
template <class Scope, class R>
[[gnu::noinline]] DCGN_HOST_DEVICE static Code scan(const Channel<Scope>& c, const unsigned char* in,
                                                    unsigned char* out, std::int64_t count, bool exclusive,
                                                    const R& r) {
  if (c.at_once() && goes_whole(c, count * r.element()) && has_space(c, c.size(), count, r))
    return scan_at_once(c, in, out, count, exclusive, r);
  const std::int64_t share = share_bytes(c, 2), most = share / r.element();
  unsigned char* const received = c.scratch() + share;
  for (std::int64_t at = 0; is_left(at, count); at += most) {
    const std::int64_t n = lesser(most, count - at), bytes = n * r.element();
    unsigned char* const result = out + at * r.element();
    unsigned char* const sum = exclusive ? c.scratch() : result;
    c.copy(sum, in + at * r.element(), bytes);
    const auto pass_up = [&](int distance, unsigned char* into) {
      const bool sends = c.rank() + distance < c.size(), receives = c.rank() >= distance;
      if (sends && receives) return c.exchange(sum, bytes, c.rank() + distance, into, bytes, c.rank() - distance);
      if (sends) return c.send(sum, bytes, c.rank() + distance);
      return receives ? c.recv(into, bytes, c.rank() - distance) : Code::ok;
    };
    Code code = Code::ok;
    for (int distance = 1; distance < c.size() && code == Code::ok; distance *= 2) {
      code = pass_up(distance, received);
      if (code == Code::ok && c.rank() >= distance) r.combine(c.scope(), sum, received, sum, n);
    }
    if (exclusive && code == Code::ok) code = pass_up(1, result);
    if (code != Code::ok) return code;
  }
  return Code::ok;
}

}  // namespace dcgn::collective
