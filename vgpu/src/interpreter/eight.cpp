// cvt between pairs of numbers of 8 bits and pairs of f32 or f16.
#include "vgpu/src/interpreter/half.hpp"
#include "vgpu/src/interpreter/operations.hpp"

#include <algorithm>
#include <cfenv>
#include <cmath>
#include <limits>

namespace dcgn::virtual_gpu::interpreter {

namespace {

struct Format {
  int fraction_bits, smallest_exponent;
  int largest;  // its bits: what is larger becomes that
  bool has_infinity;
};
constexpr Format formats[] = {{3, -6, 0x7e, false}, {2, -14, 0x7b, true}};  // Op::target: e4m3, e5m2
constexpr std::uint8_t not_a_number = 0x7f;

// Op::offset: .relu
std::uint8_t to_eight(const Format& format, double value, std::int64_t no_negatives) {
  if (std::isnan(value)) return not_a_number;
  if (no_negatives != 0 && value <= 0) value = 0;
  const auto sign = static_cast<std::uint8_t>(std::signbit(value) ? 0x80 : 0);
  if (value == 0) return sign;
  if (std::isinf(value)) return static_cast<std::uint8_t>(sign | format.largest);
  const int exponent = std::max(std::ilogb(value), format.smallest_exponent);
  const double units = std::nearbyint(std::ldexp(std::fabs(value), format.fraction_bits - exponent));
  auto bits = static_cast<std::int64_t>(units);
  if (bits >> format.fraction_bits != 0)
    bits += static_cast<std::int64_t>(exponent - format.smallest_exponent) << format.fraction_bits;
  return static_cast<std::uint8_t>(sign | std::min<std::int64_t>(bits, format.largest));
}

double from_eight(const Format& format, std::uint8_t bits) {
  const int size = bits & 0x7f, exponent = size >> format.fraction_bits;
  const int fraction = size & ((1 << format.fraction_bits) - 1);
  const double sign = (bits & 0x80) != 0 ? -1 : 1;
  if (size > format.largest)
    return format.has_infinity && fraction == 0 ? sign * std::numeric_limits<double>::infinity()
                                                : std::numeric_limits<double>::quiet_NaN();
  const int scale = format.smallest_exponent - format.fraction_bits;
  return sign * (exponent == 0 ? std::ldexp(fraction, scale)
                               : std::ldexp((1 << format.fraction_bits) + fraction, exponent - 1 + scale));
}

// cvt.rn.satfinite.e4m3x2.f32 d, a, b: a is the upper one.
void two_floats_to_eight(Warp& warp, const Op& op, Mask mask) {
  Word* const d = warp.row(op.d);
  const Word *const a = warp.row(op.a), *const b = warp.row(op.b);
  const auto to = [&](Word word) {
    return Word{to_eight(formats[op.target], static_cast<double>(get<float>(word)), op.offset)};
  };
  for_lanes(mask, [&](int lane) { d[lane] = to(a[lane]) << 8 | to(b[lane]); });
}

void halves_to_eight(Warp& warp, const Op& op, Mask mask) {
  Word* const d = warp.row(op.d);
  const Word* const a = warp.row(op.a);
  const auto to = [&](Word word) {
    return Word{to_eight(formats[op.target], from_small(Small::half, static_cast<std::uint16_t>(word)), op.offset)};
  };
  for_lanes(mask, [&](int lane) { d[lane] = to(a[lane] >> 16) << 8 | to(a[lane]); });
}

void eight_to_halves(Warp& warp, const Op& op, Mask mask) {
  Word* const d = warp.row(op.d);
  const Word* const a = warp.row(op.a);
  const auto to = [&](Word word) {
    double value = from_eight(formats[op.target], static_cast<std::uint8_t>(word));
    if (op.offset != 0 && value <= 0) value = 0;
    return Word{to_small(Small::half, value, FE_TONEAREST)};
  };
  for_lanes(mask, [&](int lane) { d[lane] = to(a[lane] >> 8) << 16 | to(a[lane]); });
}

}  // namespace

Op::Run find_eight(const Qualified& q, Op& op) {
  const auto& words = q.instruction.qualifiers;
  if (!q.is("cvt") || q.types.size() != 1 || words.empty()) return nullptr;
  const auto is_eight = [](std::string_view word) { return word == ".e4m3x2" || word == ".e5m2x2"; };
  const auto found = std::find_if(words.begin(), words.end(), is_eight);
  if (found == words.end()) return nullptr;
  op.target = *found == ".e5m2x2" ? 1 : 0;
  op.offset = q.has(".relu") ? 1 : 0;
  const std::size_t operands = q.instruction.operands.size();
  if (is_eight(words.back())) return q.type() == Type::f16x2 && operands == 2 ? &eight_to_halves : nullptr;
  if (!q.has(".satfinite")) return nullptr;
  if (q.type() == Type::f32 && operands == 3) return &two_floats_to_eight;
  return q.type() == Type::f16x2 && operands == 2 ? &halves_to_eight : nullptr;
}

}  // namespace dcgn::virtual_gpu::interpreter
