// cvt.
#include "vgpu/src/interpreter/half.hpp"
#include "vgpu/src/interpreter/operations.hpp"

#include <algorithm>
#include <cfenv>
#include <cmath>
#include <limits>
#include <type_traits>

namespace dcgn::virtual_gpu::interpreter {

namespace {

// Op::offset: how <cfenv> rounds, and these.
constexpr std::int64_t flushes = 1 << 16, saturates = 1 << 17, to_whole = 1 << 18, clips = 1 << 19,
                       rounding_bits = flushes - 1;

template <class Use>
Op::Run with_any_integer(Type type, const Use& use) {
  if (type == Type::u8 || type == Type::b8) return use(std::uint8_t{});
  if (type == Type::s8) return use(std::int8_t{});
  return with_integer(type, use);
}

template <class S, class D>
void cut(Warp& warp, const Op& op, Mask mask) {
  Word* const d = warp.row(op.d);
  const Word* const a = warp.row(op.a);
  for_lanes(mask, [&](int lane) { d[lane] = extended(static_cast<D>(get<S>(a[lane]))); });
}

template <class T>
using Longest = std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>;

template <class S, class D>
void clamp_whole(Warp& warp, const Op& op, Mask mask) {
  Word* const d = warp.row(op.d);
  const Word* const a = warp.row(op.a);
  for_lanes(mask, [&](int lane) {
    const auto value = Int128{Longest<S>{get<S>(a[lane])}};
    const auto least = Int128{Longest<D>{std::numeric_limits<D>::min()}};
    const auto most = Int128{Longest<D>{std::numeric_limits<D>::max()}};
    d[lane] = extended(static_cast<D>(std::clamp(value, least, most)));
  });
}

template <class T>
T flushed(T value, std::int64_t flags) {
  return (flags & flushes) != 0 && std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(T{0}, value) : value;
}
template <class T>
T limited(T value, std::int64_t flags) {
  value = flushed(value, flags);
  if ((flags & saturates) == 0) return value;
  return std::isnan(value) || value <= 0 ? T{0} : value >= 1 ? T{1} : value;
}

double round_whole(double value, std::int64_t flags) {
  const auto rounding = static_cast<int>(flags & rounding_bits);
  if (rounding == FE_TOWARDZERO) return std::trunc(value);
  if (rounding == FE_DOWNWARD) return std::floor(value);
  if (rounding == FE_UPWARD) return std::ceil(value);
  return std::nearbyint(value);
}

template <class To, class From>
To rounded(From value, std::int64_t flags) {
  const auto rounding = static_cast<int>(flags & rounding_bits);
  if (rounding == FE_TONEAREST) return static_cast<To>(value);
  if constexpr (std::is_integral_v<From>)
    if (value == 0) return 0;  // of 64 bits, some compilers make it by a difference, which is -0 downwards
  std::fesetround(rounding);
  volatile From from = value;
  volatile To to = static_cast<To>(from);
  std::fesetround(FE_TONEAREST);
  return to;
}

template <class S, class D>
void whole_to_float(Warp& warp, const Op& op, Mask mask) {
  Word* const d = warp.row(op.d);
  const Word* const a = warp.row(op.a);
  for_lanes(mask, [&](int lane) { d[lane] = put(limited(rounded<D>(get<S>(a[lane]), op.offset), op.offset)); });
}

// What does not fit becomes the nearest that does, and what is no number, 0.
template <class D>
D to_integer(double value, std::int64_t flags) {
  if (std::isnan(value)) return 0;
  value = round_whole(value, flags);
  const double end = std::ldexp(1.0, std::numeric_limits<D>::digits);  // the first that is too large
  if (value >= end) return std::numeric_limits<D>::max();
  if (value < static_cast<double>(std::numeric_limits<D>::min())) return std::numeric_limits<D>::min();
  return static_cast<D>(value);
}
template <class S, class D>
void float_to_whole(Warp& warp, const Op& op, Mask mask) {
  Word* const d = warp.row(op.d);
  const Word* const a = warp.row(op.a);
  for_lanes(mask, [&](int lane) {
    d[lane] = extended(to_integer<D>(static_cast<double>(flushed(get<S>(a[lane]), op.offset)), op.offset));
  });
}

template <class S, class D>
void float_to_float(Warp& warp, const Op& op, Mask mask) {
  Word* const d = warp.row(op.d);
  const Word* const a = warp.row(op.a);
  for_lanes(mask, [&](int lane) {
    const S value = flushed(get<S>(a[lane]), op.offset);
    const D result = (op.offset & to_whole) != 0 ? static_cast<D>(round_whole(static_cast<double>(value), op.offset))
                                                 : rounded<D>(value, op.offset);
    d[lane] = put(one_nan(limited(result, op.offset)));
  });
}

// In as many bits as a double has, the last one set if others are lost: it rounds to fewer as the whole number does.
double to_odd(Word value) {
  const int lost = value >> 53 == 0 ? 0 : 11 - __builtin_clzll(value);
  const Word rest = value & ((Word{1} << lost) - 1);
  return static_cast<double>((value - rest) | (rest != 0 ? Word{1} << lost : 0));
}

// All else, with 16 bits on one side: slowly. Op::count and Op::target: the types.
double any_value(Type type, Word word, std::int64_t flags) {
  switch (type) {
    case Type::f16: return from_small(Small::half, static_cast<std::uint16_t>(word));
    case Type::bf16: return from_small(Small::bfloat, static_cast<std::uint16_t>(word));
    case Type::f32: return static_cast<double>(flushed(get<float>(word), flags));
    case Type::f64: return get<double>(word);
    case Type::b8:
    case Type::u8: return get<std::uint8_t>(word);
    case Type::s8: return get<std::int8_t>(word);
    case Type::b16:
    case Type::u16: return get<std::uint16_t>(word);
    case Type::s16: return get<std::int16_t>(word);
    case Type::b32:
    case Type::u32: return get<std::uint32_t>(word);
    case Type::s32: return get<std::int32_t>(word);
    case Type::b64:
    case Type::u64: return to_odd(word);
    case Type::s64: return word >> 63 != 0 ? -to_odd(Word{0} - word) : to_odd(word);
    case Type::none:
    case Type::pred:
    case Type::f16x2:
    case Type::bf16x2: break;
  }
  return 0;
}
Word any_word(Type type, double value, std::int64_t flags) {
  const auto rounding = static_cast<int>(flags & rounding_bits);
  const bool is_whole = type != Type::f16 && type != Type::bf16 && !is_float(type);  // to_integer() saturates always
  if ((flags & saturates) != 0 && !is_whole) value = value > 0 ? std::min(value, 1.0) : 0;
  if ((flags & clips) != 0 && value <= 0) value = 0;
  switch (type) {
    case Type::f16:
    case Type::f16x2: return to_small(Small::half, value, rounding);
    case Type::bf16:
    case Type::bf16x2: return to_small(Small::bfloat, value, rounding);
    case Type::f32: return put(one_nan(flushed(static_cast<float>(value), flags)));
    case Type::f64: return put(value);
    case Type::b8:
    case Type::u8: return extended(to_integer<std::uint8_t>(value, flags));
    case Type::s8: return extended(to_integer<std::int8_t>(value, flags));
    case Type::b16:
    case Type::u16: return extended(to_integer<std::uint16_t>(value, flags));
    case Type::s16: return extended(to_integer<std::int16_t>(value, flags));
    case Type::b32:
    case Type::u32: return extended(to_integer<std::uint32_t>(value, flags));
    case Type::s32: return extended(to_integer<std::int32_t>(value, flags));
    case Type::b64:
    case Type::u64: return extended(to_integer<std::uint64_t>(value, flags));
    case Type::s64: return extended(to_integer<std::int64_t>(value, flags));
    case Type::none:
    case Type::pred: break;
  }
  return 0;
}
void any_to_any(Warp& warp, const Op& op, Mask mask) {
  Word* const d = warp.row(op.d);
  const Word* const a = warp.row(op.a);
  for_lanes(mask, [&](int lane) {
    double value = any_value(static_cast<Type>(op.count), a[lane], op.offset);
    if ((op.offset & to_whole) != 0) value = round_whole(value, op.offset);
    d[lane] = any_word(static_cast<Type>(op.target), value, op.offset);
  });
}
// cvt.rn.f16x2.f32 d, a, b: a is the upper one.
void two_to_two(Warp& warp, const Op& op, Mask mask) {
  Word* const d = warp.row(op.d);
  const Word *const a = warp.row(op.a), *const b = warp.row(op.b);
  const auto type = static_cast<Type>(op.target);
  for_lanes(mask, [&](int lane) {
    d[lane] = any_word(type, static_cast<double>(get<float>(a[lane])), op.offset) << 16 |
              any_word(type, static_cast<double>(get<float>(b[lane])), op.offset);
  });
}

template <class S>
Op::Run from_whole(Type to, const Op& op) {
  if (to == Type::f32) return &whole_to_float<S, float>;
  if (to == Type::f64) return &whole_to_float<S, double>;
  if ((op.offset & saturates) == 0)
    return with_any_integer(to, [](auto type) -> Op::Run { return &cut<S, decltype(type)>; });
  return with_any_integer(to, [](auto type) -> Op::Run { return &clamp_whole<S, decltype(type)>; });
}
template <class S>
Op::Run from_float(Type to) {
  if (to == Type::f32) return &float_to_float<S, float>;
  if (to == Type::f64) return &float_to_float<S, double>;
  return with_any_integer(to, [](auto type) -> Op::Run { return &float_to_whole<S, decltype(type)>; });
}

}  // namespace

Op::Run find_conversion(const Qualified& q, Op& op) {
  if (!q.is("cvt")) return nullptr;
  const Type to = q.type(0), from = q.type(1);
  if (to == Type::none || from == Type::none || q.has(".satfinite") || q.has(".rs") || q.has(".rna") || q.has(".pack"))
    return nullptr;
  const bool whole = q.has(".rni") || q.has(".rzi") || q.has(".rmi") || q.has(".rpi");
  op.offset = rounding_of(q) | (q.has(".ftz") ? flushes : 0) | (q.has(".sat") ? saturates : 0) |
              (whole ? to_whole : 0) | (q.has(".relu") ? clips : 0);
  op.target = static_cast<std::uint32_t>(to);
  if (to == Type::f16x2 || to == Type::bf16x2)
    return from == Type::f32 && q.instruction.operands.size() == 3 ? &two_to_two : nullptr;
  const auto is_small = [](Type type) { return type == Type::f16 || type == Type::bf16; };
  if (is_small(to) || is_small(from)) {
    op.count = static_cast<std::uint8_t>(from);
    if (from == Type::f16x2 || from == Type::bf16x2) return nullptr;
    return &any_to_any;
  }
  if (from == Type::f32) return from_float<float>(to);
  if (from == Type::f64) return from_float<double>(to);
  return with_any_integer(from, [&](auto type) { return from_whole<decltype(type)>(to, op); });
}

}  // namespace dcgn::virtual_gpu::interpreter
