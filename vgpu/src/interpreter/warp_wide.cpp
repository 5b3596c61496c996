// What the threads of a warp do together: all that an instruction names are there.
#include "vgpu/src/interpreter/operations.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace dcgn::virtual_gpu::interpreter {

namespace {

enum : std::int64_t { up, down, butterfly, index };

// c has the last lane of a segment in bits 0 to 4, and what makes segments in 8 to 12.
void shuffle(Warp& warp, const Op& op, Mask mask) {
  Word *const d = warp.row(op.d), *const p = warp.row(op.p);
  const Word *const b = warp.row(op.b), *const c = warp.row(op.c);
  std::array<Word, lanes> given{};
  std::memcpy(given.data(), warp.row(op.a), sizeof given);
  for_lanes(mask, [&](int lane) {
    const auto by = static_cast<int>(b[lane] & 31), clamp = static_cast<int>(c[lane] & 31),
               segments = static_cast<int>(c[lane] >> 8 & 31);
    const int last = (lane & segments) | (clamp & ~segments), first = lane & segments;
    int from = lane;
    bool within = false;
    switch (op.offset) {
      case up: from = lane - by, within = from >= last; break;
      case down: from = lane + by, within = from <= last; break;
      case butterfly: from = lane ^ by, within = from <= last; break;
      default: from = first | (by & ~segments), within = from <= last; break;
    }
    if (!within) from = lane;
    d[lane] = static_cast<std::uint32_t>(given[static_cast<std::size_t>(from)]);
    p[lane] = within;
  });
}

Mask true_ones(Warp& warp, const Op& op, Mask mask) {
  const Word* const a = warp.row(op.a);
  Mask result = 0;
  for_lanes(mask, [&](int lane) { result |= static_cast<Mask>(((a[lane] & 1) != 0) != op.negated_predicate) << lane; });
  return result;
}

enum : std::int64_t { all, any, uniform, ballot };
void vote(Warp& warp, const Op& op, Mask mask) {
  Word* const d = warp.row(op.d);
  const Mask trues = true_ones(warp, op, mask);
  Word result = trues;
  if (op.offset == all) result = trues == mask;
  if (op.offset == any) result = trues != 0;
  if (op.offset == uniform) result = trues == mask || trues == 0;
  for_lanes(mask, [&](int lane) { d[lane] = result; });
}

template <class T, bool AllAlike>
void match(Warp& warp, const Op& op, Mask mask) {
  Word *const d = warp.row(op.d), *const p = warp.row(op.p);
  std::array<Word, lanes> given{};
  std::memcpy(given.data(), warp.row(op.a), sizeof given);
  for_lanes(mask, [&](int lane) {
    Mask same = 0;
    for_lanes(mask, [&](int other) {
      same |= static_cast<Mask>(get<T>(given[static_cast<std::size_t>(other)]) ==
                                get<T>(given[static_cast<std::size_t>(lane)]))
              << other;
    });
    d[lane] = AllAlike && same != mask ? 0 : same;
    if (AllAlike) p[lane] = same == mask;
  });
}

enum : std::int64_t { add, least, most, conjunction, disjunction, exclusion };
template <class T>
void reduce(Warp& warp, const Op& op, Mask mask) {
  Word* const d = warp.row(op.d);
  const Word* const a = warp.row(op.a);
  T result = get<T>(a[__builtin_ctz(mask)]);
  for_lanes(mask & (mask - 1), [&](int lane) {
    const T value = get<T>(a[lane]);
    switch (op.offset) {
      case add: result = static_cast<T>(static_cast<std::uint32_t>(result) + static_cast<std::uint32_t>(value)); break;
      case least: result = std::min(result, value); break;
      case most: result = std::max(result, value); break;
      case conjunction: result = static_cast<T>(result & value); break;
      case disjunction: result = static_cast<T>(result | value); break;
      default: result = static_cast<T>(result ^ value); break;
    }
  });
  for_lanes(mask, [&](int lane) { d[lane] = put(result); });
}

void elect(Warp& warp, const Op& op, Mask mask) {
  Word *const d = warp.row(op.d), *const p = warp.row(op.p);
  const int leader = __builtin_ctz(mask);
  for_lanes(mask, [&](int lane) {
    d[lane] = static_cast<Word>(leader);
    p[lane] = lane == leader;
  });
}

void active(Warp& warp, const Op& op, Mask mask) {
  Word* const d = warp.row(op.d);
  for_lanes(mask, [&](int lane) { d[lane] = mask; });
}

// The number of the one of `names` that the instruction has, -1 for none.
template <std::size_t N>
std::int64_t which(const Qualified& q, const std::array<std::string_view, N>& names) {
  for (std::size_t i = 0; i < N; ++i)
    if (q.has(names[i])) return static_cast<std::int64_t>(i);
  return -1;
}

}  // namespace

Op::Run find_warp_wide(const Qualified& q, Op& op) {
  if (q.is("activemask")) return &active;
  if (q.is("elect")) return &elect;
  if (q.is("shfl")) {
    op.offset = which(q, std::array<std::string_view, 4>{".up", ".down", ".bfly", ".idx"});
    return op.offset < 0 ? nullptr : &shuffle;
  }
  if (q.is("vote")) {
    op.offset = which(q, std::array<std::string_view, 4>{".all", ".any", ".uni", ".ballot"});
    return op.offset < 0 ? nullptr : &vote;
  }
  if (q.is("match")) {
    if (q.has(".any")) return bytes_of(q.type()) == 8 ? &match<std::uint64_t, false> : &match<std::uint32_t, false>;
    return bytes_of(q.type()) == 8 ? &match<std::uint64_t, true> : &match<std::uint32_t, true>;
  }
  if (q.is("redux")) {
    op.offset = which(q, std::array<std::string_view, 6>{".add", ".min", ".max", ".and", ".or", ".xor"});
    if (op.offset < 0 || bytes_of(q.type()) != 4 || q.type() == Type::f32) return nullptr;
    return q.type() == Type::s32 ? &reduce<std::int32_t> : &reduce<std::uint32_t>;
  }
  return nullptr;
}

}  // namespace dcgn::virtual_gpu::interpreter
