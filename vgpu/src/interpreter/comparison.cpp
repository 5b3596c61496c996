// setp, set, selp and slct.
#include "vgpu/src/interpreter/half.hpp"
#include "vgpu/src/interpreter/operations.hpp"

#include <array>
#include <cfenv>
#include <cmath>
#include <string_view>
#include <type_traits>

namespace dcgn::virtual_gpu::interpreter {

namespace {

enum class Relation : std::uint8_t { eq, ne, lt, le, gt, ge, equ, neu, ltu, leu, gtu, geu, num, nan };
constexpr std::array<std::string_view, 14> relation_names = {".eq",  ".ne",  ".lt",  ".le",  ".gt",  ".ge",  ".equ",
                                                             ".neu", ".ltu", ".leu", ".gtu", ".geu", ".num", ".nan"};

// Of a and b, either of which may be no number.
template <class T>
bool holds(Relation relation, T a, T b) {
  bool unordered = false;
  if constexpr (std::is_floating_point_v<T>) unordered = std::isnan(a) || std::isnan(b);
  switch (relation) {
    case Relation::eq: return a == b;
    case Relation::ne: return !unordered && a != b;
    case Relation::lt: return a < b;
    case Relation::le: return a <= b;
    case Relation::gt: return a > b;
    case Relation::ge: return a >= b;
    case Relation::equ: return unordered || a == b;
    case Relation::neu: return unordered || a != b;
    case Relation::ltu: return unordered || a < b;
    case Relation::leu: return unordered || a <= b;
    case Relation::gtu: return unordered || a > b;
    case Relation::geu: return unordered || a >= b;
    case Relation::num: return !unordered;
    case Relation::nan: return unordered;
  }
  return false;
}

enum class Combination : std::uint8_t { none, conjunction, disjunction, exclusion };

bool combined(const Op& op, bool value, bool with) {
  switch (static_cast<Combination>(op.count)) {
    case Combination::none: break;
    case Combination::conjunction: return value && with;
    case Combination::disjunction: return value || with;
    case Combination::exclusion: return value != with;
  }
  return value;
}

// setp p|q, a, b, c: p is (a op b) with c, q is !(a op b) with c.
template <class T, Relation Relation>
void set_predicate(Warp& warp, const Op& op, Mask mask) {
  Word *const d = warp.row(op.d), *const p = warp.row(op.p);
  const Word *const a = warp.row(op.a), *const b = warp.row(op.b), *const c = warp.row(op.c);
  if (op.count == 0 && op.p.number == 0)
    return for_lanes(mask, [&](int lane) { d[lane] = holds(Relation, get<T>(a[lane]), get<T>(b[lane])); });
  for_lanes(mask, [&](int lane) {
    const bool value = holds(Relation, get<T>(a[lane]), get<T>(b[lane]));
    const bool with = ((c[lane] & 1) != 0) != op.negated_predicate;
    d[lane] = combined(op, value, with);
    p[lane] = combined(op, !value, with);
  });
}

// set.CmpOp.dtype.stype: all ones or 1.0.
template <class T, Relation Relation>
void set_value(Warp& warp, const Op& op, Mask mask) {
  Word* const d = warp.row(op.d);
  const Word *const a = warp.row(op.a), *const b = warp.row(op.b), *const c = warp.row(op.c);
  for_lanes(mask, [&](int lane) {
    const bool with = ((c[lane] & 1) != 0) != op.negated_predicate;
    const bool value = combined(op, holds(Relation, get<T>(a[lane]), get<T>(b[lane])), with);
    d[lane] = !value ? 0 : op.offset != 0 ? put(1.0F) : Word{~std::uint32_t{0}};
  });
}

// .ftz; Op::target is the relation.
float flushed(Word word) {
  const auto value = get<float>(word);
  return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0F, value) : value;
}
template <bool Predicate>
void compare_flushed(Warp& warp, const Op& op, Mask mask) {
  Word *const d = warp.row(op.d), *const p = warp.row(op.p);
  const Word *const a = warp.row(op.a), *const b = warp.row(op.b), *const c = warp.row(op.c);
  const auto relation = static_cast<Relation>(op.target);
  for_lanes(mask, [&](int lane) {
    const bool value = holds(relation, flushed(a[lane]), flushed(b[lane]));
    const bool with = ((c[lane] & 1) != 0) != op.negated_predicate, result = combined(op, value, with);
    if (Predicate) {
      d[lane] = result;
      p[lane] = combined(op, !value, with);
    } else {
      d[lane] = !result ? 0 : op.offset != 0 ? put(1.0F) : Word{~std::uint32_t{0}};
    }
  });
}

template <class T, Relation Relation>
Op::Run with_relation(bool predicate) {
  return predicate ? &set_predicate<T, Relation> : &set_value<T, Relation>;
}

template <class T>
Op::Run find_relation(Relation relation, bool predicate) {
  using R = Relation;
  if constexpr (std::is_floating_point_v<T>) {
    switch (relation) {
      case R::equ: return with_relation<T, R::equ>(predicate);
      case R::neu: return with_relation<T, R::neu>(predicate);
      case R::ltu: return with_relation<T, R::ltu>(predicate);
      case R::leu: return with_relation<T, R::leu>(predicate);
      case R::gtu: return with_relation<T, R::gtu>(predicate);
      case R::geu: return with_relation<T, R::geu>(predicate);
      case R::num: return with_relation<T, R::num>(predicate);
      case R::nan: return with_relation<T, R::nan>(predicate);
      case R::eq:
      case R::ne:
      case R::lt:
      case R::le:
      case R::gt:
      case R::ge: break;
    }
  }
  switch (relation) {
    case R::eq: return with_relation<T, R::eq>(predicate);
    case R::ne: return with_relation<T, R::ne>(predicate);
    case R::lt: return with_relation<T, R::lt>(predicate);
    case R::le: return with_relation<T, R::le>(predicate);
    case R::gt: return with_relation<T, R::gt>(predicate);
    case R::ge: return with_relation<T, R::ge>(predicate);
    case R::equ:
    case R::neu:
    case R::ltu:
    case R::leu:
    case R::gtu:
    case R::geu:
    case R::num:
    case R::nan: break;
  }
  return nullptr;
}

// Of 16 bits, one or two at a time; two give p and q.
template <Small Kind>
void compare_small(Warp& warp, const Op& op, Mask mask) {
  Word *const d = warp.row(op.d), *const p = warp.row(op.p);
  const Word *const a = warp.row(op.a), *const b = warp.row(op.b), *const c = warp.row(op.c);
  const auto relation = static_cast<Relation>(op.offset & 0xff);
  const bool two = (op.offset & 0x100) != 0, flushes = (op.offset & 0x200) != 0;
  for_lanes(mask, [&](int lane) {
    const auto part = [&](Word word, int shift) {
      const double value = from_small(Kind, static_cast<std::uint16_t>(word >> shift));
      return flushes ? without_subnormals(Kind, value) : value;
    };
    const bool with = ((c[lane] & 1) != 0) != op.negated_predicate;
    const bool first = holds(relation, part(a[lane], 0), part(b[lane], 0));
    const bool second = two ? holds(relation, part(a[lane], 16), part(b[lane], 16)) : !first;
    d[lane] = combined(op, first, with);
    p[lane] = combined(op, second, with);
  });
}

// set of them: 1.0 of 16 bits or all ones, for each.
template <Small Kind>
void set_small(Warp& warp, const Op& op, Mask mask) {
  Word* const d = warp.row(op.d);
  const Word *const a = warp.row(op.a), *const b = warp.row(op.b), *const c = warp.row(op.c);
  const auto relation = static_cast<Relation>(op.offset & 0xff);
  const bool two = (op.offset & 0x100) != 0, flushes = (op.offset & 0x200) != 0;
  for_lanes(mask, [&](int lane) {
    const bool with = ((c[lane] & 1) != 0) != op.negated_predicate;
    Word result = 0;
    for (int shift = 0; shift <= (two ? 16 : 0); shift += 16) {
      const auto part = [&](Word word) {
        const double value = from_small(Kind, static_cast<std::uint16_t>(word >> shift));
        return flushes ? without_subnormals(Kind, value) : value;
      };
      if (combined(op, holds(relation, part(a[lane]), part(b[lane])), with)) result |= Word{op.target} << shift;
    }
    d[lane] = result;
  });
}

void select(Warp& warp, const Op& op, Mask mask) {
  Word* const d = warp.row(op.d);
  const Word *const a = warp.row(op.a), *const b = warp.row(op.b), *const c = warp.row(op.c);
  for_lanes(mask, [&](int lane) { d[lane] = ((c[lane] & 1) != 0) != op.negated_predicate ? a[lane] : b[lane]; });
}
void select_by_flushed_sign(Warp& warp, const Op& op, Mask mask) {
  Word* const d = warp.row(op.d);
  const Word *const a = warp.row(op.a), *const b = warp.row(op.b), *const c = warp.row(op.c);
  for_lanes(mask, [&](int lane) { d[lane] = flushed(c[lane]) >= 0 ? a[lane] : b[lane]; });
}
template <class T>
void select_by_sign(Warp& warp, const Op& op, Mask mask) {
  Word* const d = warp.row(op.d);
  const Word *const a = warp.row(op.a), *const b = warp.row(op.b), *const c = warp.row(op.c);
  for_lanes(mask, [&](int lane) { d[lane] = get<T>(c[lane]) >= 0 ? a[lane] : b[lane]; });
}

}  // namespace

Op::Run find_comparison(const Qualified& q, Op& op) {
  if (q.is("selp")) return &select;
  if (q.is("slct"))
    return q.type(1) == Type::f32   ? q.has(".ftz") ? &select_by_flushed_sign : &select_by_sign<float>
             : q.type(1) == Type::s32 ? &select_by_sign<std::int32_t>
                                    : nullptr;
  if (!q.is("setp") && !q.is("set")) return nullptr;
  const bool predicate = q.is("setp");
  int relation = -1;
  for (std::size_t i = 0; i < relation_names.size(); ++i)
    if (q.has(relation_names[i])) relation = static_cast<int>(i);
  constexpr std::array<std::string_view, 4> unsigned_names = {".lo", ".ls", ".hi", ".hs"};
  for (std::size_t i = 0; i < unsigned_names.size(); ++i)
    if (q.has(unsigned_names[i])) relation = static_cast<int>(Relation::lt) + static_cast<int>(i);
  if (relation < 0) return nullptr;
  op.count = static_cast<std::uint8_t>(q.has(".and")   ? Combination::conjunction
                                       : q.has(".or")  ? Combination::disjunction
                                       : q.has(".xor") ? Combination::exclusion
                                                       : Combination::none);
  const auto which = static_cast<Relation>(relation);
  const Type type = q.type(predicate ? 0 : 1);
  const bool of_half = type == Type::f16 || type == Type::f16x2;
  const bool small = of_half || type == Type::bf16 || type == Type::bf16x2;
  if (!predicate && small) {
    const Type to = q.type(0);
    const bool two = type == Type::f16x2 || type == Type::bf16x2;
    const bool as_point = to == Type::f16 || to == Type::f16x2 || to == Type::bf16 || to == Type::bf16x2;
    if (!as_point && bytes_of(to) != 2 && to != Type::u32 && to != Type::s32) return nullptr;
    op.offset = relation | (two ? 0x100 : 0) | (q.has(".ftz") ? 0x200 : 0);
    op.target = as_point                   ? to_small(of_half ? Small::half : Small::bfloat, 1, FE_TONEAREST)
                : two || bytes_of(to) == 2 ? 0xffffu
                                           : ~std::uint32_t{0};
    return of_half ? &set_small<Small::half> : &set_small<Small::bfloat>;
  }
  if (!predicate) {
    if (q.type(0) != Type::u32 && q.type(0) != Type::s32 && q.type(0) != Type::f32) return nullptr;
    op.offset = q.type(0) == Type::f32;
  }
  if (small) {
    const bool two = type == Type::f16x2 || type == Type::bf16x2;
    op.offset = relation | (two ? 0x100 : 0) | (q.has(".ftz") ? 0x200 : 0);
    return of_half ? &compare_small<Small::half> : &compare_small<Small::bfloat>;
  }
  if (type == Type::f32 && q.has(".ftz")) {
    op.target = static_cast<std::uint32_t>(relation);
    return predicate ? &compare_flushed<true> : &compare_flushed<false>;
  }
  if (const Op::Run found = with_float(type, [&](auto t) { return find_relation<decltype(t)>(which, predicate); }))
    return found;
  return with_integer(type, [&](auto t) { return find_relation<decltype(t)>(which, predicate); });
}

}  // namespace dcgn::virtual_gpu::interpreter
