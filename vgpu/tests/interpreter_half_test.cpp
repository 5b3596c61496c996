// Numbers of 16 bits, one or two in a register, against sums and products in double precision that are rounded by
// looking through all that there are.
#include "interpreter_harness.hpp"

#include <functional>
#include <string>

using dcgn::test::expect_all, dcgn::test::expect_binary, dcgn::test::expect_unary, dcgn::test::SmallFloats;
using H = std::uint16_t;
using U = std::uint32_t;

namespace {

// Zeros, ones, the least and the largest of each kind, ties, what is infinite and no number: of half and bfloat.
std::vector<H> values(bool bfloat) {
  if (bfloat)
    return {0x0000, 0x8000, 0x3f80, 0xbf80, 0x3f81, 0x3f7f, 0x4000, 0x4049, 0x0001, 0x8001, 0x007f, 0x0080, 0x0082,
            0x7f7f, 0xff7f, 0x7f80, 0xff80, 0x7fff, 0x3b80, 0x4380, 0x2f80, 0x1234, 0xc2c8, 0x3eab, 0x3f8b, 0x3f0c};
  return {0x0000, 0x8000, 0x3c00, 0xbc00, 0x3c01, 0x3bff, 0x4000, 0x4248, 0x0001, 0x8001, 0x03ff, 0x0400, 0x0402,
          0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7fff, 0x1000, 0x6400, 0x0bff, 0x1234, 0xd640, 0x3555, 0x3c41, 0x3a0c};
}

double least(double a, double b) {
  if (std::isnan(a)) return b;
  if (std::isnan(b)) return a;
  if (a == 0 && b == 0) return std::signbit(a) || std::signbit(b) ? -0.0 : 0.0;
  return a < b ? a : b;
}

class InterpreterHalf : public testing::TestWithParam<bool> {
 protected:
  std::string type() const { return GetParam() ? "bf16" : "f16"; }
  // One of a word's two, and both.
  double value(H bits) const { return floats_.value(bits); }
  H rounded(double exact) const { return floats_.nearest(exact); }
  H without_subnormals(H bits) const {
    const H infinity = GetParam() ? 0x7f80 : 0x7c00, least_normal = infinity & static_cast<H>(0 - infinity);
    return (bits & 0x7fff) < least_normal ? bits & 0x8000 : bits;
  }
  using Binary = std::function<double(double, double)>;
  void check(const std::string& op, const Binary& oracle) const {
    const auto all = values(GetParam());
    expect_binary<H>(op + "." + type() + " %d, %a, %b;", all, all,
                     [&](H a, H b) { return rounded(oracle(value(a), value(b))); });
    expect_binary<U>(op + "." + type() + "x2 %d, %a, %b;", pairs(), pairs(), [&](U a, U b) {
      const auto one = [&](int shift) {
        return U{rounded(oracle(value(static_cast<H>(a >> shift)), value(static_cast<H>(b >> shift))))} << shift;
      };
      return one(0) | one(16);
    });
  }
  std::vector<U> pairs() const {
    std::vector<U> all;
    const auto singles = values(GetParam());
    for (std::size_t i = 0; i < singles.size(); ++i)
      all.push_back(singles[i] | U{singles[(i * 7 + 3) % singles.size()]} << 16);
    return all;
  }
  // a * b + c with one rounding: the product is exact, and what a sum loses keeps it from being a tie.
  H fused(H a, H b, H c) const {
    const double product = value(a) * value(b), third = value(c);
    double sum = product + third;
    const double of_third = sum - product, lost = (product - (sum - of_third)) + (third - of_third);
    if (std::isfinite(sum) && lost != 0) {
      const auto bits = std::bit_cast<std::uint64_t>(sum);
      if (bits % 2 == 0) sum = std::nextafter(sum, lost > 0 ? INFINITY : -INFINITY);
    }
    return rounded(sum);
  }

  SmallFloats floats_{GetParam()};
};

}  // namespace

TEST_P(InterpreterHalf, arithmetic) {
  check("add", [](double a, double b) { return a + b; });
  check("sub", [](double a, double b) { return a - b; });
  check("mul", [](double a, double b) { return a * b; });
}

TEST_P(InterpreterHalf, fused_products) {
  const auto all = values(GetParam());
  expect_all<H>("fma.rn." + type() + " %d, %a, %b, %c;", all, all, all, [&](H a, H b, H c) { return fused(a, b, c); });
  expect_all<U>("fma.rn." + type() + "x2 %d, %a, %b, %c;", pairs(), pairs(), pairs(), [&](U a, U b, U c) {
    const H low = fused(static_cast<H>(a), static_cast<H>(b), static_cast<H>(c));
    return low | U{fused(static_cast<H>(a >> 16), static_cast<H>(b >> 16), static_cast<H>(c >> 16))} << 16;
  });
  expect_all<H>("fma.rn.relu." + type() + " %d, %a, %b, %c;", all, all, all, [&](H a, H b, H c) {
    const H result = fused(a, b, c);
    return (result & 0x8000) != 0 ? H{0} : result;
  });
}

TEST_P(InterpreterHalf, extremes) {
  check("min", least);
  check("max", [](double a, double b) { return -least(-a, -b); });
  check("min.NaN", [](double a, double b) { return std::isnan(a) || std::isnan(b) ? NAN : least(a, b); });
  check("max.NaN", [](double a, double b) { return std::isnan(a) || std::isnan(b) ? NAN : -least(-a, -b); });
}

TEST_P(InterpreterHalf, signs) {
  auto all = values(GetParam());
  all.erase(std::find(all.begin(), all.end(), H{0x7fff}));
  expect_unary<H>("neg." + type() + " %d, %a;", all, [](H a) { return static_cast<H>(a ^ 0x8000); });
  expect_unary<H>("abs." + type() + " %d, %a;", all, [](H a) { return static_cast<H>(a & 0x7fff); });
}

TEST_P(InterpreterHalf, comparisons_of_one_and_of_two) {
  const auto all = values(GetParam());
  expect_binary<U>("setp.lt." + type() +
                       " %p|%q, %a, %b; selp.u32 %d, 1, 0, %p; selp.u32 %r0, 2, 0, %q;"
                       "or.b32 %d, %d, %r0;",
                   all, all, [&](H a, H b) { return value(a) < value(b) ? 1U : 2U; });
  expect_binary<U>("setp.geu." + type() +
                       "x2 %p|%q, %a, %b; selp.u32 %d, 1, 0, %p; selp.u32 %r0, 2, 0, %q;"
                       "or.b32 %d, %d, %r0;",
                   pairs(), pairs(), [&](U a, U b) {
                     const auto holds = [&](int shift) {
                       return !(value(static_cast<H>(a >> shift)) < value(static_cast<H>(b >> shift)));
                     };
                     return U{holds(0)} + 2 * U{holds(16)};
                   });
}

TEST_P(InterpreterHalf, comparisons_give_ones) {
  const auto all = values(GetParam());
  const U one = GetParam() ? 0x3f80 : 0x3c00;
  expect_binary<U>("set.lt." + type() + "." + type() + " %d, %a, %b;", all, all,
                   [&](H a, H b) { return value(a) < value(b) ? one : 0; });
  expect_binary<U>("set.nan.u32." + type() + " %d, %a, %b;", all, all,
                   [&](H a, H b) { return std::isnan(value(a)) || std::isnan(value(b)) ? ~U{0} : 0; });
  expect_binary<U>("set.ge." + type() + "x2." + type() + "x2 %d, %a, %b;", pairs(), pairs(), [&](U a, U b) {
    const auto holds = [&](int shift) {
      return value(static_cast<H>(a >> shift)) >= value(static_cast<H>(b >> shift)) ? one << shift : 0;
    };
    return holds(0) | holds(16);
  });
}

INSTANTIATE_TEST_SUITE_P(, InterpreterHalf, testing::Bool(),
                         [](const auto& kind) { return kind.param ? "bfloat" : "half"; });

TEST(InterpreterHalfModes, subnormals_are_flushed_where_asked) {
  const SmallFloats floats(false);
  const auto all = values(false);
  const auto flush = [](H bits) { return (bits & 0x7c00) == 0 ? static_cast<H>(bits & 0x8000) : bits; };
  expect_binary<H>("add.ftz.f16 %d, %a, %b;", all, all,
                   [&](H a, H b) { return flush(floats.nearest(floats.value(flush(a)) + floats.value(flush(b)))); });
  expect_binary<H>("mul.ftz.f16 %d, %a, %b;", all, all,
                   [&](H a, H b) { return flush(floats.nearest(floats.value(flush(a)) * floats.value(flush(b)))); });
}

TEST(InterpreterHalfModes, saturation_is_from_0_to_1) {
  const SmallFloats floats(false);
  const auto all = values(false);
  expect_binary<H>("add.sat.f16 %d, %a, %b;", all, all, [&](H a, H b) {
    const double sum = floats.value(a) + floats.value(b);
    return floats.nearest(sum > 0 ? std::min(sum, 1.0) : 0.0);
  });
}
