// half, bfloat16 and complex, and the operations on them, against arithmetic in double.
#include <dcgn/element.hpp>
#include <dcgn/operation.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <type_traits>

namespace dcgn::test {
namespace {

// What the bits of a 16-bit float mean, by definition.
double meaning(std::uint16_t bits, int exponent_bits) {
  const int fraction_bits = 15 - exponent_bits, bias = (1 << (exponent_bits - 1)) - 1;
  const double sign = bits & 0x8000 ? -1 : 1;
  const int exponent = (bits & 0x7fff) >> fraction_bits, fraction = bits & ((1 << fraction_bits) - 1);
  if (exponent == (1 << exponent_bits) - 1)
    return fraction ? std::numeric_limits<double>::quiet_NaN() : sign * std::numeric_limits<double>::infinity();
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias - fraction_bits);
  return sign * std::ldexp((1 << fraction_bits) + fraction, exponent - bias - fraction_bits);
}

// The finite 16-bit float that is nearest, to even: found by going through the neighbours.
template <class Stored>
std::uint16_t nearest(float value, int exponent_bits) {
  const auto infinity = static_cast<std::uint16_t>(((1 << exponent_bits) - 1) << (15 - exponent_bits));
  const double magnitude = std::fabs(static_cast<double>(value));
  std::uint16_t low = 0;  // the largest that is not above
  for (int bit = 14; bit >= 0; --bit) {
    const auto with = static_cast<std::uint16_t>(low | 1 << bit);
    if (with < infinity && meaning(with, exponent_bits) <= magnitude) low = with;
  }
  const auto high = static_cast<std::uint16_t>(low + 1);
  // Beyond the largest comes what would be the next one if there were more exponents.
  const double below = meaning(low, exponent_bits);
  const double above = high == infinity ? 2 * below - meaning(static_cast<std::uint16_t>(low - 1), exponent_bits)
                                        : meaning(high, exponent_bits);
  const double down = magnitude - below, up = above - magnitude;
  const std::uint16_t chosen = down < up || (down == up && !(low & 1)) ? low : high;
  return static_cast<std::uint16_t>(chosen | (std::signbit(value) ? 0x8000 : 0));
}

template <class Stored>
void expect_exact_conversions(int exponent_bits) {
  for (std::uint32_t i = 0; i < 65536; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    const auto value = static_cast<float>(Stored::from(bits));
    const double expected = meaning(bits, exponent_bits);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(value)) << i;
      ASSERT_TRUE(std::isnan(static_cast<float>(Stored(value)))) << i;
      continue;
    }
    ASSERT_EQ(static_cast<double>(value), expected) << i;
    ASSERT_EQ(Stored(value).bits(), bits) << i;
  }
}

template <class Stored>
void expect_nearest(int exponent_bits) {
  std::mt19937 random(5);
  const auto check = [&](float value) {
    ASSERT_EQ(Stored(value).bits(), nearest<Stored>(value, exponent_bits)) << std::hexfloat << value;
  };
  for (int i = 0; i < 100000; ++i) {
    const auto bits = static_cast<std::uint32_t>(random());
    float any;
    std::memcpy(&any, &bits, sizeof any);
    if (std::isfinite(any)) check(any);
    // Half way between two, and beside that.
    const auto low = static_cast<std::uint16_t>(random() & 0x7fff);
    const double a = meaning(low, exponent_bits), b = meaning(static_cast<std::uint16_t>(low + 1), exponent_bits);
    if (!std::isfinite(a) || !std::isfinite(b)) continue;
    const auto middle = static_cast<float>((a + b) / 2);
    for (const float near : {middle, std::nextafter(middle, 0.0f), std::nextafter(middle, 1e38f), -middle}) check(near);
  }
  for (const float value : {65504.0f, 65519.99f, 65520.0f, 65536.0f, 0x1p-24f, 0x1p-25f, 0x1.8p-25f, 0x1p-26f, -0.0f,
                            std::numeric_limits<float>::max(), std::numeric_limits<float>::denorm_min()})
    check(value);
}

TEST(Element, HalfIsExactAndRoundsToNearest) {
  expect_exact_conversions<half>(5);
  expect_nearest<half>(5);
  EXPECT_EQ(half(std::numeric_limits<float>::infinity()).bits(), 0x7c00);
  EXPECT_EQ(half(-std::numeric_limits<float>::infinity()).bits(), 0xfc00);
}

TEST(Element, Bfloat16IsExactAndRoundsToNearest) {
  expect_exact_conversions<bfloat16>(8);
  expect_nearest<bfloat16>(8);
}

TEST(Element, StoredFloatsAreComputedWithAsFloats) {
  EXPECT_EQ(half(1.5f) + half(0.25f), half(1.75f));
  EXPECT_EQ(half(3.0f) * half(-0.5f), half(-1.5f));
  EXPECT_EQ(bfloat16(256.0f) + bfloat16(1.0f), bfloat16(256.0f));  // 257 needs nine bits: to even
  EXPECT_LT(half(-2.0f), half(1.0f));
  EXPECT_EQ(half(0.0f), half(-0.0f));
}

TEST(Element, ComplexIsLaidOutAsTheStandardsAndMultipliesAlike) {
  static_assert(sizeof(complex<float>) == sizeof(std::complex<float>));
  static_assert(std::is_trivially_copyable_v<complex<double>> && std::is_trivially_copyable_v<half>);
  const std::complex<double> a(1.5, -2), b(0.25, 4);
  const complex<double> ours = complex<double>(a) * complex<double>(b);
  EXPECT_EQ(__builtin_bit_cast(std::complex<double>, ours), a * b);
}

TEST(Operation, IntegersWrapAround) {
  EXPECT_EQ(Product{}(std::uint16_t{65535}, std::uint16_t{65535}), 1);
  EXPECT_EQ(Sum{}(std::numeric_limits<std::int64_t>::max(), std::int64_t{1}), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(Sum{}(std::int8_t{127}, std::int8_t{1}), -128);
}

TEST(Operation, OfEachKind) {
  EXPECT_EQ(Min{}(3, -4), -4);
  EXPECT_EQ(Max{}(half(3), half(-4)), half(3));
  EXPECT_EQ(LogicalAnd{}(5, 0), 0);
  EXPECT_EQ(LogicalAnd{}(complex<float>(0, 1), complex<float>(2)), complex<float>(1));
  EXPECT_EQ(LogicalOr{}(0.0, -0.5), 1.0);
  EXPECT_EQ(LogicalXor{}(7u, 9u), 0u);
  EXPECT_EQ(LogicalXor{}(bfloat16(), bfloat16(9)), bfloat16(1));
  EXPECT_EQ(BitAnd{}(0xf0, 0x3c), 0x30);
  EXPECT_EQ(BitOr{}(std::uint8_t{0xf0}, std::uint8_t{0x0c}), 0xfc);
  EXPECT_EQ(BitXor{}(0xff00ull, 0x0ff0ull), 0xf0f0ull);
}

}  // namespace
}  // namespace dcgn::test
