// Algorithms that compute: all of them keep the order of the ranks, the left operand of an operation being of lower
// ranks, and none depends on timing. What does not fit the scratch is done piece by piece.
//
// `Reducer` is an operation on elements: a Reducer<T, Op> of a kernel's call or a HostReducer of a CPU rank's.
#pragma once

#include <dcgn/collective/buffers.hpp>
#include <dcgn/collective/channel.hpp>
#include <dcgn/collective/moving.hpp>
#include <dcgn/collective/thresholds.hpp>

#include <cstdint>

namespace dcgn::collective {

// An operation on elements, which the threads of a scope share.
template <Reducible T, Operation<T> Op>
struct Reducer {
  Op op;

  DCGN_HOST_DEVICE static std::int64_t element() { return static_cast<std::int64_t>(sizeof(T)); }
  // into[i] = op(left[i], right[i]), where `into` may be one of the others; all threads of the scope see it.
  template <class Scope>
  [[gnu::noinline]] DCGN_HOST_DEVICE void combine(const Scope& scope, void* into, const void* left, const void* right,
                                                  std::int64_t count) const {
    T* const to = static_cast<T*>(into);
    const T* const a = static_cast<const T*>(left);
    const T* const b = static_cast<const T*>(right);
    for (std::int64_t i = scope.rank(); i < count; i += scope.size()) to[i] = op(a[i], b[i]);
    scope.sync();
  }
};

// How many elements fit one of so many equal shares of the scratch; a multiple of 64 bytes each.
template <class Scope>
DCGN_HOST_DEVICE std::int64_t share_bytes(const Channel<Scope>& c, int shares) {
  return c.scratch_bytes() / shares / 64 * 64;
}

// Up a tree whose ranks are in order, to rank 0, which passes the result on to the root.
template <class Scope, class R>
[[gnu::noinline]] DCGN_HOST_DEVICE Code reduce(const Channel<Scope>& c, const unsigned char* in, unsigned char* out,
                                               std::int64_t count, int root, const R& r) {
  const std::int64_t share = share_bytes(c, 2), most = share / r.element();
  unsigned char* const received = c.scratch() + share;
  const bool ends_here = root == 0 && c.rank() == 0;
  for (std::int64_t at = 0; at < count; at += most) {
    const std::int64_t n = lesser(most, count - at), bytes = n * r.element();
    unsigned char* const result = out + at * r.element();
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
[[gnu::noinline]] DCGN_HOST_DEVICE Code reduce_doubling(const Channel<Scope>& c, unsigned char* sum,
                                                        unsigned char* received, std::int64_t count, const R& r) {
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
[[gnu::noinline]] DCGN_HOST_DEVICE Code reduce_parts(const Channel<Scope>& c, const unsigned char* in,
                                                     unsigned char* out, const Begin& begin, const Length& length,
                                                     const R& r) {
  const std::int64_t share = share_bytes(c, 2), most = share / r.element();
  unsigned char* const received = c.scratch();
  unsigned char* const higher = c.scratch() + share;
  std::int64_t longest = 0;
  for (int i = 0; i < c.size(); ++i)
    if (length(i) > longest) longest = length(i);
  for (std::int64_t at = 0; at < longest; at += most) {
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
[[gnu::noinline]] DCGN_HOST_DEVICE Code all_reduce(const Channel<Scope>& c, const unsigned char* in, unsigned char* out,
                                                   std::int64_t count, const R& r) {
  const std::int64_t element = r.element();
  if (count * element < all_reduce_in_parts || c.size() <= 2) {
    const std::int64_t most = share_bytes(c, 1) / element;
    c.copy(out, in, count * element);
    for (std::int64_t at = 0; at < count; at += most) {
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

// Part i is `length(i)` elements from `begin(i)` on, of `total` in all.
template <class Scope, class R, class Begin, class Length>
DCGN_HOST_DEVICE Code reduce_scatter(const Channel<Scope>& c, const unsigned char* in, std::int64_t total,
                                     unsigned char* out, const Begin& begin, const Length& length, const R& r) {
  const std::int64_t element = r.element(), share = share_bytes(c, 2), bytes = total * element;
  if (bytes >= reduce_scatter_in_parts || bytes > share) return reduce_parts(c, in, out, begin, length, r);
  if (!total) return Code::ok;
  unsigned char* const sum = c.scratch();
  c.copy(sum, in, bytes);
  const Code code = reduce_doubling(c, sum, sum + share, total, r);
  if (code == Code::ok) c.copy(out, sum + begin(c.rank()) * element, length(c.rank()) * element);
  return code;
}

// Recursive doubling: after a step with distance d a rank has the sum of the 2d ranks up to itself. With `exclusive`
// each gets what the rank below has at the end, and rank 0 nothing.
template <class Scope, class R>
[[gnu::noinline]] DCGN_HOST_DEVICE Code scan(const Channel<Scope>& c, const unsigned char* in, unsigned char* out,
                                             std::int64_t count, bool exclusive, const R& r) {
  const std::int64_t share = share_bytes(c, 2), most = share / r.element();
  unsigned char* const received = c.scratch() + share;
  for (std::int64_t at = 0; at < count; at += most) {
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
