// Whole numbers: each instruction against arithmetic with 128 bits.
#include "interpreter_harness.hpp"

#include <algorithm>
#include <string>

using dcgn::test::edges, dcgn::test::expect_all, dcgn::test::expect_binary, dcgn::test::expect_unary;

namespace {

__extension__ using Wide = __int128;
__extension__ using UnsignedWide = unsigned __int128;

// "s32" and the like.
template <class T>
std::string name_of() {
  return (std::is_signed_v<T> ? "s" : "u") + std::to_string(8 * sizeof(T));
}
template <class T>
T cut(Wide value) {
  return static_cast<T>(static_cast<std::make_unsigned_t<T>>(value));
}
template <class T>
T clamped(Wide value) {
  return static_cast<T>(std::clamp(value, Wide{std::numeric_limits<T>::min()}, Wide{std::numeric_limits<T>::max()}));
}
// The product of unsigned numbers of 64 bits needs all 128.
template <class T>
Wide product(T a, T b) {
  if constexpr (std::is_signed_v<T>)
    return Wide{a} * b;
  else
    return static_cast<Wide>(static_cast<UnsignedWide>(a) * b);
}
template <class T>
T high(T a, T b) {
  if constexpr (std::is_signed_v<T>)
    return static_cast<T>(product(a, b) >> (8 * sizeof(T)));
  else
    return static_cast<T>(static_cast<UnsignedWide>(product(a, b)) >> (8 * sizeof(T)));
}

template <class T>
void check_arithmetic() {
  const std::string type = "." + name_of<T>();
  const std::vector<T> all = edges<T>();
  const auto binary = [&](const std::string& op, auto oracle) {
    expect_binary<T>(op + type + " %d, %a, %b;", all, all, oracle);
  };
  binary("add", [](T a, T b) { return cut<T>(Wide{a} + b); });
  binary("sub", [](T a, T b) { return cut<T>(Wide{a} - b); });
  binary("mul.lo", [](T a, T b) { return cut<T>(product(a, b)); });
  binary("mul.hi", [](T a, T b) { return high(a, b); });
  binary("min", [](T a, T b) { return a < b ? a : b; });
  binary("max", [](T a, T b) { return a < b ? b : a; });
  std::vector<T> divisors = all;
  divisors.erase(std::remove(divisors.begin(), divisors.end(), T{0}), divisors.end());  // by 0: any
  expect_binary<T>("div" + type + " %d, %a, %b;", all, divisors, [](T a, T b) { return cut<T>(Wide{a} / b); });
  expect_binary<T>("rem" + type + " %d, %a, %b;", all, divisors, [](T a, T b) { return cut<T>(Wide{a} % b); });
  expect_all<T>("mad.lo" + type + " %d, %a, %b, %c;", all, all, all,
                [](T a, T b, T c) { return cut<T>(Wide{cut<T>(product(a, b))} + c); });
  expect_all<T>("mad.hi" + type + " %d, %a, %b, %c;", all, all, all,
                [](T a, T b, T c) { return cut<T>(Wide{high(a, b)} + c); });
  expect_all<T>("sad" + type + " %d, %a, %b, %c;", all, all, all,
                [](T a, T b, T c) { return cut<T>(Wide{c} + (a < b ? Wide{b} - a : Wide{a} - b)); });
  if constexpr (std::is_signed_v<T>) {
    expect_unary<T>("abs" + type + " %d, %a;", all, [](T a) { return cut<T>(a < 0 ? -Wide{a} : Wide{a}); });
    expect_unary<T>("neg" + type + " %d, %a;", all, [](T a) { return cut<T>(-Wide{a}); });
  }
}

template <class T, class W>
void check_wide() {
  const std::string type = "." + name_of<T>();
  const std::vector<T> all = edges<T>();
  expect_binary<W>("mul.wide" + type + " %d, %a, %b;", all, all, [](T a, T b) { return cut<W>(Wide{a} * b); });
  expect_all<W>("mad.wide" + type + " %d, %a, %b, %c;", all, all, edges<W>(),
                [](T a, T b, W c) { return cut<W>(Wide{a} * b + c); });
}

}  // namespace

TEST(InterpreterInteger, arithmetic_of_all_sizes) {
  check_arithmetic<std::int16_t>();
  check_arithmetic<std::uint16_t>();
  check_arithmetic<std::int32_t>();
  check_arithmetic<std::uint32_t>();
  check_arithmetic<std::int64_t>();
  check_arithmetic<std::uint64_t>();
}

TEST(InterpreterInteger, wide_products_have_twice_the_bits) {
  check_wide<std::int16_t, std::int32_t>();
  check_wide<std::uint16_t, std::uint32_t>();
  check_wide<std::int32_t, std::int64_t>();
  check_wide<std::uint32_t, std::uint64_t>();
}

TEST(InterpreterInteger, sums_saturate) {
  using T = std::int32_t;
  const auto all = edges<T>();
  expect_binary<T>("add.sat.s32 %d, %a, %b;", all, all, [](T a, T b) { return clamped<T>(Wide{a} + b); });
  expect_binary<T>("sub.sat.s32 %d, %a, %b;", all, all, [](T a, T b) { return clamped<T>(Wide{a} - b); });
  expect_all<T>("mad.hi.sat.s32 %d, %a, %b, %c;", all, all, all,
                [](T a, T b, T c) { return clamped<T>(Wide{high(a, b)} + c); });
}

TEST(InterpreterInteger, two_of_16_bits_in_one_of_32) {
  using U = std::uint32_t;
  const auto all = edges<U>();
  const auto check = [&](const std::string& op, auto example, auto oracle) {
    using T = decltype(example);
    expect_binary<U>(op + " %d, %a, %b;", all, all, [&](U a, U b) {
      const auto half = [&](int shift) {
        return U{static_cast<std::uint16_t>(oracle(static_cast<T>(a >> shift), static_cast<T>(b >> shift)))} << shift;
      };
      return half(0) | half(16);
    });
  };
  const std::uint16_t u = 0;
  const std::int16_t s = 0;
  check("add.u16x2", u, [](int a, int b) { return a + b; });
  check("add.s16x2", s, [](int a, int b) { return a + b; });
  check("min.u16x2", u, [](int a, int b) { return std::min(a, b); });
  check("max.u16x2", u, [](int a, int b) { return std::max(a, b); });
  check("min.s16x2", s, [](int a, int b) { return std::min(a, b); });
  check("max.relu.s16x2", s, [](int a, int b) { return std::max({a, b, 0}); });
  expect_binary<std::int32_t>("min.relu.s32 %d, %a, %b;", edges<std::int32_t>(), edges<std::int32_t>(),
                              [](int a, int b) { return std::max(std::min(a, b), 0); });
}

TEST(InterpreterInteger, products_of_24_bits) {
  const auto all = edges<std::uint32_t>();
  const auto signed_part = [](std::uint32_t v) { return Wide{static_cast<std::int32_t>(v << 8) >> 8}; };
  const auto part = [](std::uint32_t v) { return Wide{v & 0xffffff}; };
  using U = std::uint32_t;
  expect_binary<U>("mul24.lo.s32 %d, %a, %b;", all, all,
                   [&](U a, U b) { return cut<U>(signed_part(a) * signed_part(b)); });
  expect_binary<U>("mul24.hi.s32 %d, %a, %b;", all, all,
                   [&](U a, U b) { return cut<U>((signed_part(a) * signed_part(b)) >> 16); });
  expect_binary<U>("mul24.lo.u32 %d, %a, %b;", all, all, [&](U a, U b) { return cut<U>(part(a) * part(b)); });
  expect_binary<U>("mul24.hi.u32 %d, %a, %b;", all, all, [&](U a, U b) { return cut<U>((part(a) * part(b)) >> 16); });
  expect_all<U>("mad24.lo.u32 %d, %a, %b, %c;", all, all, all,
                [&](U a, U b, U c) { return cut<U>(part(a) * part(b) + c); });
  expect_all<U>("mad24.hi.s32 %d, %a, %b, %c;", all, all, all,
                [&](U a, U b, U c) { return cut<U>(((signed_part(a) * signed_part(b)) >> 16) + c); });
}

// Numbers of 64 bits in halves of 32, and of 128 in halves of 64.
TEST(InterpreterInteger, carries_go_from_one_instruction_to_the_next) {
  using U = std::uint64_t;
  const auto all = edges<U>();
  const std::string split = "mov.b64 {%r0, %r1}, %a; mov.b64 {%r2, %r3}, %b; ";
  const std::string join = " mov.b64 %d, {%r0, %r1};";
  expect_binary<U>(split + "add.cc.u32 %r0, %r0, %r2; addc.u32 %r1, %r1, %r3;" + join, all, all,
                   [](U a, U b) { return a + b; });
  expect_binary<U>(split + "sub.cc.u32 %r0, %r0, %r2; subc.u32 %r1, %r1, %r3;" + join, all, all,
                   [](U a, U b) { return a - b; });
  const auto carry_of = [](U a, U b) { return static_cast<U>((static_cast<UnsignedWide>(a) + b) >> 64); };
  expect_binary<U>("add.cc.u64 %x0, %a, %b; addc.u64 %d, 0, 0;", all, all, carry_of);
  expect_binary<U>(split + "add.cc.s32 %r0, %r0, %r2; addc.cc.s32 %r1, %r1, %r3; addc.u64 %d, 0, 0;", all, all,
                   carry_of);
  expect_binary<U>("sub.cc.u64 %x0, %a, %b; subc.u64 %d, 0, 0;", all, all,
                   [](U a, U b) { return a < b ? ~U{0} : U{0}; });
  // As a carry, a borrow is what there is where there is none.
  expect_binary<U>("sub.cc.u64 %x0, %a, %b; addc.u64 %d, 0, 0;", all, all, [](U a, U b) { return U{a >= b}; });
  // (a_low * b_low + c) of 64 bits.
  expect_all<U>(
      "mov.b64 {%r0, %r1}, %a; mov.b64 {%r2, %r3}, %b; mov.b64 {%r1, %r3}, %c;"
      "mad.lo.cc.u32 %r1, %r0, %r2, %r1; madc.hi.u32 %r3, %r0, %r2, %r3; mov.b64 %d, {%r1, %r3};",
      all, all, all, [](U a, U b, U c) { return (a & 0xffffffff) * (b & 0xffffffff) + c; });
}

TEST(InterpreterInteger, signed_high_products_carry) {
  using U = std::uint32_t;
  const auto all = edges<U>();
  expect_all<U>("mad.hi.cc.s32 %r0, %a, %b, %c; addc.u32 %d, 0, 0;", all, all, all, [](U a, U b, U c) {
    const auto x = static_cast<std::int32_t>(a), y = static_cast<std::int32_t>(b);
    return static_cast<U>((std::uint64_t{static_cast<U>(high(x, y))} + c) >> 32);
  });
  expect_all<U>("add.cc.u32 %r0, %a, %a; madc.hi.s32 %d, %a, %b, %c;", all, all, all, [](U a, U b, U c) {
    const auto x = static_cast<std::int32_t>(a), y = static_cast<std::int32_t>(b);
    return static_cast<U>(high(x, y)) + c + (a >> 31);
  });
}
