#include "vgpu/src/interpreter/half.hpp"

#include "vgpu/src/interpreter/operations.hpp"

#include <algorithm>
#include <bit>
#include <cfenv>
#include <cmath>
#include <limits>

namespace dcgn::virtual_gpu::interpreter {

namespace {

struct Format {
  int fraction_bits, smallest_exponent, largest_exponent;
};
Format format_of(Small kind) { return kind == Small::half ? Format{10, -14, 15} : Format{7, -126, 127}; }

constexpr std::uint16_t not_a_number = 0x7fff;

// Whole numbers to one, as `rounding` has it.
double round_whole(double value, int rounding) {
  if (rounding == FE_TOWARDZERO) return std::trunc(value);
  if (rounding == FE_DOWNWARD) return std::floor(value);
  if (rounding == FE_UPWARD) return std::ceil(value);
  return std::nearbyint(value);
}

}  // namespace

double from_small(Small kind, std::uint16_t bits) {
  const auto [fraction_bits, smallest, largest] = format_of(kind);
  const int exponent = (bits & 0x7fff) >> fraction_bits, fraction = bits & ((1 << fraction_bits) - 1);
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == largest - smallest + 2)
    return fraction != 0 ? std::numeric_limits<double>::quiet_NaN() : sign * std::numeric_limits<double>::infinity();
  if (exponent == 0) return sign * std::ldexp(fraction, smallest - fraction_bits);
  return sign * std::ldexp((1 << fraction_bits) + fraction, exponent - 1 + smallest - fraction_bits);
}

double without_subnormals(Small kind, double value) {
  return std::fabs(value) < std::ldexp(1.0, format_of(kind).smallest_exponent) ? std::copysign(0.0, value) : value;
}

std::uint16_t to_small(Small kind, double value, int rounding) {
  const auto [fraction_bits, smallest, largest] = format_of(kind);
  if (std::isnan(value)) return not_a_number;
  const auto sign = static_cast<std::uint16_t>(std::signbit(value) ? 0x8000 : 0);
  const auto infinity = static_cast<std::uint16_t>((largest - smallest + 2) << fraction_bits);
  if (std::isinf(value)) return sign | infinity;
  if (value == 0) return sign;
  const int exponent = std::max(std::ilogb(value), smallest);
  // In units of the last place: the sign, which downwards and upwards look at, is kept.
  const auto units =
      static_cast<std::int64_t>(std::fabs(round_whole(std::ldexp(value, fraction_bits - exponent), rounding)));
  std::int64_t bits = units;
  if (units >> fraction_bits != 0)
    bits = (static_cast<std::int64_t>(exponent - smallest) << fraction_bits) + units;  // carries go into the exponent
  if (bits >= infinity) {
    const bool to_infinity =
        rounding == FE_TONEAREST || (rounding == FE_UPWARD && sign == 0) || (rounding == FE_DOWNWARD && sign != 0);
    bits = to_infinity ? infinity : infinity - 1;
  }
  return static_cast<std::uint16_t>(sign | bits);
}

namespace {

// a op b, and with c; of two values in one word where the type has two.
using Compute = double (*)(double, double, double);
template <Small Kind, Compute Compute, bool Two>
void calculate(Warp& warp, const Op& op, Mask mask) {
  Word* const d = warp.row(op.d);
  const Word *const a = warp.row(op.a), *const b = warp.row(op.b), *const c = warp.row(op.c);
  for_lanes(mask, [&](int lane) {
    Word result = 0;
    for (int shift = 0; shift <= (Two ? 16 : 0); shift += 16) {
      const bool flushes = (op.offset & 4) != 0;
      const auto part = [&](Word word) {
        const double value = from_small(Kind, static_cast<std::uint16_t>(word >> shift));
        return flushes ? without_subnormals(Kind, value) : value;
      };
      double value = Compute(part(a[lane]), part(b[lane]), part(c[lane]));
      if ((op.offset & 1) != 0) value = value > 0 ? std::min(value, 1.0) : 0;  // .sat
      if ((op.offset & 2) != 0 && value <= 0) value = 0;                       // .relu
      std::uint16_t bits = to_small(Kind, value, FE_TONEAREST);
      if (flushes) bits = to_small(Kind, without_subnormals(Kind, from_small(Kind, bits)), FE_TONEAREST);
      result |= Word{bits} << shift;
    }
    d[lane] = result;
  });
}

double sum_of(double a, double b, double) { return a + b; }
double difference_of(double a, double b, double) { return a - b; }
double product_of(double a, double b, double) { return a * b; }
// The product is exact. What the sum loses is kept as its last bit, so that it is rounded once.
double fma_of(double a, double b, double c) {
  const double product = a * b, sum = product + c, of_c = sum - product;
  const double lost = (product - (sum - of_c)) + (c - of_c);
  if (!std::isfinite(sum) || lost == 0 || std::bit_cast<std::uint64_t>(sum) % 2 != 0) return sum;
  return std::nextafter(sum, std::copysign(std::numeric_limits<double>::infinity(), lost));
}
double negative_of(double a, double, double) { return -a; }
double size_of(double a, double, double) { return std::fabs(a); }
double power_of(double a, double, double) { return std::exp2(a); }
double tangent_of(double a, double, double) { return std::tanh(a); }
double min_of(double a, double b, double) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) ? b : a;
  return a == b ? (std::signbit(a) ? a : b) : std::min(a, b);
}
double max_of(double a, double b, double) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) ? b : a;
  return a == b ? (std::signbit(a) ? b : a) : std::max(a, b);
}
double min_or_nan(double a, double b, double c) { return std::isnan(a) || std::isnan(b) ? a + b : min_of(a, b, c); }
double max_or_nan(double a, double b, double c) { return std::isnan(a) || std::isnan(b) ? a + b : max_of(a, b, c); }

template <Small Kind, bool Two>
Op::Run find_of(const Qualified& q) {
  if (q.is("add")) return &calculate<Kind, sum_of, Two>;
  if (q.is("sub")) return &calculate<Kind, difference_of, Two>;
  if (q.is("mul")) return &calculate<Kind, product_of, Two>;
  if (q.is("fma")) return &calculate<Kind, fma_of, Two>;
  if (q.is("neg")) return &calculate<Kind, negative_of, Two>;
  if (q.is("abs")) return &calculate<Kind, size_of, Two>;
  if (q.is("min")) return q.has(".NaN") ? &calculate<Kind, min_or_nan, Two> : &calculate<Kind, min_of, Two>;
  if (q.is("max")) return q.has(".NaN") ? &calculate<Kind, max_or_nan, Two> : &calculate<Kind, max_of, Two>;
  if (q.is("ex2")) return &calculate<Kind, power_of, Two>;
  if (q.is("tanh")) return &calculate<Kind, tangent_of, Two>;
  return nullptr;
}

}  // namespace

Op::Run find_half(const Qualified& q, Op& op) {
  const Type type = q.type();
  if (type != Type::f16 && type != Type::f16x2 && type != Type::bf16 && type != Type::bf16x2) return nullptr;
  if (q.has(".xorsign") || q.has(".abs") || q.has(".oob")) return nullptr;
  if ((q.is("min") || q.is("max")) && q.instruction.operands.size() != 3) return nullptr;
  op.offset = (q.has(".sat") ? 1 : 0) | (q.has(".relu") ? 2 : 0) | (q.has(".ftz") ? 4 : 0);
  if (type == Type::f16) return find_of<Small::half, false>(q);
  if (type == Type::f16x2) return find_of<Small::half, true>(q);
  if (type == Type::bf16) return find_of<Small::bfloat, false>(q);
  return find_of<Small::bfloat, true>(q);
}

}  // namespace dcgn::virtual_gpu::interpreter
