// Numbers of 32 and 64 bits with a point.
#include "vgpu/src/interpreter/operations.hpp"

#include <bit>
#include <cfenv>
#include <cmath>
#include <limits>
#include <type_traits>

namespace dcgn::virtual_gpu::interpreter {

namespace {

template <class T>
struct Add {
  static T of(T a, T b) { return one_nan<T>(a + b); }
};
template <class T>
struct Sub {
  static T of(T a, T b) { return one_nan<T>(a - b); }
};
template <class T>
struct Mul {
  static T of(T a, T b) { return one_nan<T>(a * b); }
};
template <class T>
struct Div {
  static T of(T a, T b) { return one_nan<T>(a / b); }
};
template <class T>
struct Fma {
  static T of(T a, T b, T c) { return one_nan<T>(std::fma(a, b, c)); }
};
template <class T>
struct Reciprocal {
  static T of(T a) { return one_nan<T>(T{1} / a); }
};
template <class T>
struct SquareRoot {
  static T of(T a) { return one_nan<T>(std::sqrt(a)); }
};
// What a GPU approximates is computed with more bits and rounded.
template <class T>
struct ReciprocalRoot {
  static T of(T a) { return one_nan(static_cast<T>(1 / std::sqrt(static_cast<long double>(a)))); }
};
// rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64 know one that is no number, too.
template <class F>
struct OfUpperBits {
  static double of(double a) {
    const double result = F::of(a);
    return result != result ? std::bit_cast<double>(Word{0x7fffffff} << 32) : result;
  }
};
struct Sine {
  static float of(float a) { return one_nan(static_cast<float>(std::sin(static_cast<double>(a)))); }
};
struct Cosine {
  static float of(float a) { return one_nan(static_cast<float>(std::cos(static_cast<double>(a)))); }
};
struct Logarithm {
  static float of(float a) { return one_nan(static_cast<float>(std::log2(static_cast<double>(a)))); }
};
struct Power {
  static float of(float a) { return one_nan(static_cast<float>(std::exp2(static_cast<double>(a)))); }
};
struct Tangent {
  static float of(float a) { return one_nan(static_cast<float>(std::tanh(static_cast<double>(a)))); }
};
template <class T>
struct Abs {
  static T of(T a) { return std::fabs(a); }
};
template <class T>
struct Neg {
  static T of(T a) { return -a; }
};
template <class T>
struct CopySign {
  static T of(T a, T b) { return std::copysign(b, a); }
};
// The number where one is none; of zeros the one with the sign.
template <class T, bool KeepsNan>
struct Min {
  static T of(T a, T b) {
    if (std::isnan(a) || std::isnan(b)) {
      if (KeepsNan) return one_nan(std::numeric_limits<T>::quiet_NaN());
      return one_nan(std::isnan(a) ? b : a);
    }
    if (a == b) return std::signbit(a) ? a : b;
    return a < b ? a : b;
  }
};
template <class T, bool KeepsNan>
struct Max {
  static T of(T a, T b) {
    if (std::isnan(a) || std::isnan(b)) {
      if (KeepsNan) return one_nan(std::numeric_limits<T>::quiet_NaN());
      return one_nan(std::isnan(a) ? b : a);
    }
    if (a == b) return std::signbit(a) ? b : a;
    return a > b ? a : b;
  }
};

// Op::offset: how <cfenv> rounds, and these.
constexpr std::int64_t flushes = 1 << 16, saturates = 1 << 17, rounding_bits = flushes - 1;

template <class T>
T flushed(T value) {
  return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(T{0}, value) : value;
}

// `compute` as the operation's flags have it. Volatile, so that it stays where the rounding is what it should be.
template <class T, class Compute>
T flagged(std::int64_t flags, const Compute& compute) {
  const int rounding = static_cast<int>(flags & rounding_bits);
  if (rounding != FE_TONEAREST) std::fesetround(rounding);
  volatile T result = compute();
  if (rounding != FE_TONEAREST) std::fesetround(FE_TONEAREST);
  T value = result;
  if ((flags & flushes) != 0) value = flushed(value);
  if ((flags & saturates) != 0) value = std::isnan(value) ? T{0} : value <= 0 ? T{0} : value >= 1 ? T{1} : value;
  return value;
}
template <class T>
T input(std::int64_t flags, Word word) {
  volatile T value = get<T>(word);
  return (flags & flushes) != 0 ? flushed(static_cast<T>(value)) : static_cast<T>(value);
}

template <class T, class F>
void flagged_unary(Warp& warp, const Op& op, Mask mask) {
  Word* const d = warp.row(op.d);
  const Word* const a = warp.row(op.a);
  for_lanes(mask, [&](int lane) {
    volatile T x = input<T>(op.offset, a[lane]);
    d[lane] = put(flagged<T>(op.offset, [&] { return F::of(x); }));
  });
}
template <class T, class F>
void flagged_binary(Warp& warp, const Op& op, Mask mask) {
  Word* const d = warp.row(op.d);
  const Word *const a = warp.row(op.a), *const b = warp.row(op.b);
  for_lanes(mask, [&](int lane) {
    volatile T x = input<T>(op.offset, a[lane]), y = input<T>(op.offset, b[lane]);
    d[lane] = put(flagged<T>(op.offset, [&] { return F::of(x, y); }));
  });
}
template <class T, class F>
void flagged_ternary(Warp& warp, const Op& op, Mask mask) {
  Word* const d = warp.row(op.d);
  const Word *const a = warp.row(op.a), *const b = warp.row(op.b), *const c = warp.row(op.c);
  for_lanes(mask, [&](int lane) {
    volatile T x = input<T>(op.offset, a[lane]), y = input<T>(op.offset, b[lane]), z = input<T>(op.offset, c[lane]);
    d[lane] = put(flagged<T>(op.offset, [&] { return F::of(x, y, z); }));
  });
}

template <class T, class F>
Op::Run unary_of(const Op& op) {
  return op.offset == 0 ? &unary<T, F> : &flagged_unary<T, F>;
}
template <class T, class F>
Op::Run binary_of(const Op& op) {
  return op.offset == 0 ? &binary<T, F> : &flagged_binary<T, F>;
}
template <class T, class F>
Op::Run ternary_of(const Op& op) {
  return op.offset == 0 ? &ternary<T, F> : &flagged_ternary<T, F>;
}

void test_property(Warp& warp, const Op& op, Mask mask) {
  Word* const d = warp.row(op.d);
  const Word* const a = warp.row(op.a);
  for_lanes(mask, [&](int lane) {
    const int kind = op.count == 4 ? std::fpclassify(get<float>(a[lane])) : std::fpclassify(get<double>(a[lane]));
    bool result = false;
    switch (op.offset) {
      case 0: result = kind != FP_INFINITE && kind != FP_NAN; break;  // finite
      case 1: result = kind == FP_INFINITE; break;
      case 2: result = kind != FP_NAN; break;  // number
      case 3: result = kind == FP_NAN; break;
      case 4: result = kind == FP_NORMAL || kind == FP_ZERO; break;
      default: result = kind == FP_SUBNORMAL; break;
    }
    d[lane] = result;
  });
}

Op::Run find_test(const Qualified& q, Op& op) {
  constexpr std::string_view properties[] = {".finite", ".infinite", ".number", ".notanumber", ".normal", ".subnormal"};
  for (std::int64_t i = 0; i < 6; ++i)
    if (q.has(properties[i])) op.offset = i;
  op.count = static_cast<std::uint8_t>(bytes_of(q.type()));
  return &test_property;
}

Op::Run find_transcendental(const Qualified& q, const Op& op) {
  if (q.type() != Type::f32) return nullptr;
  if (q.is("sin")) return unary_of<float, Sine>(op);
  if (q.is("cos")) return unary_of<float, Cosine>(op);
  if (q.is("lg2")) return unary_of<float, Logarithm>(op);
  if (q.is("ex2")) return unary_of<float, Power>(op);
  if (q.is("tanh")) return unary_of<float, Tangent>(op);
  return nullptr;
}

}  // namespace

Op::Run find_float(const Qualified& q, Op& op) {
  if (!is_float(q.type())) return nullptr;
  if (q.is("testp")) return find_test(q, op);
  if (q.has(".xorsign") || q.has(".abs") || q.types.size() > 1) return nullptr;
  if ((q.is("min") || q.is("max")) && q.instruction.operands.size() != 3) return nullptr;
  op.offset = rounding_of(q) | (q.has(".ftz") ? flushes : 0) | (q.has(".sat") ? saturates : 0);
  if (const Op::Run found = find_transcendental(q, op)) return found;
  return with_float(q.type(), [&](auto type) -> Op::Run {
    using T = decltype(type);
    if (q.is("add")) return binary_of<T, Add<T>>(op);
    if (q.is("sub")) return binary_of<T, Sub<T>>(op);
    if (q.is("mul")) return binary_of<T, Mul<T>>(op);
    if (q.is("div")) return binary_of<T, Div<T>>(op);
    if (q.is("fma") || q.is("mad")) return ternary_of<T, Fma<T>>(op);
    if constexpr (std::is_same_v<T, double>) {
      const bool of_upper_bits = q.has(".approx") && q.has(".ftz");
      if (of_upper_bits && q.is("rcp")) return unary_of<T, OfUpperBits<Reciprocal<T>>>(op);
      if (of_upper_bits && q.is("rsqrt")) return unary_of<T, OfUpperBits<ReciprocalRoot<T>>>(op);
    }
    if (q.is("rcp")) return unary_of<T, Reciprocal<T>>(op);
    if (q.is("sqrt")) return unary_of<T, SquareRoot<T>>(op);
    if (q.is("rsqrt")) return unary_of<T, ReciprocalRoot<T>>(op);
    if (q.is("abs")) return unary_of<T, Abs<T>>(op);
    if (q.is("neg")) return unary_of<T, Neg<T>>(op);
    if (q.is("copysign")) return binary_of<T, CopySign<T>>(op);
    if (q.is("min")) return q.has(".NaN") ? binary_of<T, Min<T, true>>(op) : binary_of<T, Min<T, false>>(op);
    if (q.is("max")) return q.has(".NaN") ? binary_of<T, Max<T, true>>(op) : binary_of<T, Max<T, false>>(op);
    return nullptr;
  });
}

}  // namespace dcgn::virtual_gpu::interpreter
