// Numbers of 32 and 64 bits with a point: roundings by the sign of the error, and what is not a number, subnormal or
// saturated.
#include "interpreter_harness.hpp"

#include <string>

using dcgn::test::edges, dcgn::test::expect_all, dcgn::test::expect_binary, dcgn::test::expect_unary;

namespace {

template <class T>
std::string name_of() {
  return sizeof(T) == 4 ? ".f32" : ".f64";
}

// Numbers whose sums, products, quotients and roots neither overflow nor become subnormal.
template <class T>
std::vector<T> moderate() {
  return {T{1},   -T{1},    T{1} / 3,  -T{1} / 7, T{3},     T{1} + std::numeric_limits<T>::epsilon(),
          T{1e6}, T{1e-6F}, T{16.25F}, -T{2.5F},  T{0.1F},  T{7} / 5,
          T{10},  -T{1e3F}, T{0.75F},  T{2},      T{1e-3F}, -T{1} - std::numeric_limits<T>::epsilon()};
}

// How a result that was rounded to nearest is rounded otherwise; `error`: by how much it is too small.
template <class T>
T rounded(const std::string& mode, T nearest, T error) {
  const T infinity = std::numeric_limits<T>::infinity();
  if (mode == ".rp") return error > 0 ? std::nextafter(nearest, infinity) : nearest;
  if (mode == ".rm") return error < 0 ? std::nextafter(nearest, -infinity) : nearest;
  if (mode == ".rz") {
    const bool too_large = nearest > 0 ? error < 0 : error > 0;
    return too_large ? std::nextafter(nearest, T{0}) : nearest;
  }
  return nearest;
}
template <class T>
T error_of_sum(T a, T b) {
  const T sum = a + b, of_b = sum - a;
  return (a - (sum - of_b)) + (b - of_b);
}
// Of nothing the sign is as rounding has it: a - a is 0, or -0 downwards.
template <class T>
T sum(const std::string& mode, T a, T b) {
  if (a == -b) return mode == ".rm" ? -T{0} : T{0};
  return rounded(mode, a + b, error_of_sum(a, b));
}

template <class T>
void check_rounding(const std::string& mode) {
  const auto all = moderate<T>();
  const std::string type = mode + name_of<T>();
  expect_binary<T>("add" + type + " %d, %a, %b;", all, all, [&](T a, T b) { return sum(mode, a, b); });
  expect_binary<T>("sub" + type + " %d, %a, %b;", all, all, [&](T a, T b) { return sum(mode, a, -b); });
  expect_binary<T>("mul" + type + " %d, %a, %b;", all, all,
                   [&](T a, T b) { return rounded(mode, a * b, std::fma(a, b, -(a * b))); });
  expect_binary<T>("div" + type + " %d, %a, %b;", all, all, [&](T a, T b) {
    const T left = std::fma(-(a / b), b, a);
    return rounded(mode, a / b, b > 0 ? left : -left);
  });
  expect_unary<T>("rcp" + type + " %d, %a;", all, [&](T a) {
    const T left = std::fma(-(1 / a), a, T{1});
    return rounded(mode, 1 / a, a > 0 ? left : -left);
  });
  expect_unary<T>("sqrt" + type + " %d, %a;", all, [&](T a) {
    const T root = std::sqrt(a);
    return rounded(mode, root, std::fma(-root, root, a));
  });
  // a * b + c with its whole error: a product in two parts, and c.
  expect_all<T>("fma" + type + " %d, %a, %b, %c;", all, all, all, [&](T a, T b, T c) {
    const T product = a * b, rest = std::fma(a, b, -product), nearest = std::fma(a, b, c);
    if (product == -c && rest == 0) return mode == ".rm" ? -T{0} : T{0};
    const T first = error_of_sum(product, c), high = product + c - nearest;  // exact: they are near each other
    return rounded(mode, nearest, high + (first + rest));
  });
}

template <class T>
T without_subnormals(T value) {
  return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(T{0}, value) : value;
}
template <class T>
T saturated(T value) {
  return value > 0 ? std::min(value, T{1}) : T{0};
}

template <class T>
void check_special_values() {
  const auto all = edges<T>();
  const std::string type = name_of<T>();
  expect_binary<T>("add" + type + " %d, %a, %b;", all, all, [](T a, T b) { return a + b; });
  expect_binary<T>("sub.rn" + type + " %d, %a, %b;", all, all, [](T a, T b) { return a - b; });
  expect_binary<T>("mul" + type + " %d, %a, %b;", all, all, [](T a, T b) { return a * b; });
  expect_binary<T>("div.rn" + type + " %d, %a, %b;", all, all, [](T a, T b) { return a / b; });
  expect_all<T>("fma.rn" + type + " %d, %a, %b, %c;", all, all, all, [](T a, T b, T c) { return std::fma(a, b, c); });
  expect_unary<T>("rcp.rn" + type + " %d, %a;", all, [](T a) { return 1 / a; });
  expect_unary<T>("sqrt.rn" + type + " %d, %a;", all, [](T a) { return std::sqrt(a); });
  expect_unary<T>("abs" + type + " %d, %a;", all, [](T a) { return std::fabs(a); });
  expect_unary<T>("neg" + type + " %d, %a;", all, [](T a) { return -a; });
  expect_binary<T>("copysign" + type + " %d, %a, %b;", all, all, [](T a, T b) {
    const T size = std::fabs(b);
    return std::signbit(a) ? -size : size;
  });
}

// The number where one is none; -0 is less than 0.
template <class T>
T least(T a, T b) {
  if (std::isnan(a)) return b;
  if (std::isnan(b)) return a;
  if (a == 0 && b == 0) return std::signbit(a) || std::signbit(b) ? -T{0} : T{0};
  return a < b ? a : b;
}

template <class T>
void check_extremes() {
  const auto all = edges<T>();
  const std::string type = name_of<T>();
  expect_binary<T>("min" + type + " %d, %a, %b;", all, all, [](T a, T b) { return least(a, b); });
  expect_binary<T>("max" + type + " %d, %a, %b;", all, all, [](T a, T b) { return -least<T>(-a, -b); });
}

template <class T>
void check_properties() {
  const auto all = edges<T>();
  const auto property = [&](const std::string& name, auto oracle) {
    expect_unary<std::uint32_t>("testp." + name + name_of<T>() + " %p, %a; selp.u32 %d, 1, 0, %p;", all,
                                [&](T a) { return oracle(a) ? 1U : 0U; });
  };
  property("finite", [](T a) { return std::isfinite(a); });
  property("infinite", [](T a) { return std::isinf(a); });
  property("number", [](T a) { return !std::isnan(a); });
  property("notanumber", [](T a) { return std::isnan(a); });
  property("normal", [](T a) { return std::isnormal(a) || a == 0; });
  property("subnormal", [](T a) { return std::fpclassify(a) == FP_SUBNORMAL; });
}

}  // namespace

TEST(InterpreterFloat, four_roundings) {
  for (const std::string mode : {".rn", ".rz", ".rm", ".rp"}) {
    check_rounding<float>(mode);
    check_rounding<double>(mode);
  }
}

TEST(InterpreterFloat, what_is_too_large_is_rounded_as_the_mode_has_it) {
  const float most = std::numeric_limits<float>::max(), infinity = std::numeric_limits<float>::infinity();
  struct Case {
    std::string mode;
    float positive, negative;
  };
  for (const auto& [mode, positive, negative] : {Case{".rn", infinity, -infinity}, Case{".rz", most, -most},
                                                 Case{".rm", most, -infinity}, Case{".rp", infinity, -most}})
    expect_unary<float>("mul" + mode + ".f32 %d, %a, 0f40000000;", std::vector<float>{most, -most},
                        [above = positive, below = negative](float a) { return a > 0 ? above : below; });
}

TEST(InterpreterFloat, special_values) {
  check_special_values<float>();
  check_special_values<double>();
}

TEST(InterpreterFloat, extremes_of_what_may_be_no_number) {
  check_extremes<float>();
  check_extremes<double>();
  const auto all = edges<float>();
  expect_binary<float>("min.NaN.f32 %d, %a, %b;", all, all,
                       [](float a, float b) { return std::isnan(a) || std::isnan(b) ? NAN : least(a, b); });
  expect_binary<float>("max.NaN.f32 %d, %a, %b;", all, all,
                       [](float a, float b) { return std::isnan(a) || std::isnan(b) ? NAN : -least(-a, -b); });
}

// Of 32 bits there is one result that is no number; of 64 an operand's bits are kept.
TEST(InterpreterFloat, what_is_no_number_is_always_the_same) {
  const std::vector<std::uint32_t> none{0x7fc00000, 0x7fabcdef, 0xffc12345, 0x7fffffff};
  const auto one = [](std::uint32_t, std::uint32_t) { return 0x7fffffffU; };
  for (const char* op : {"add.f32", "sub.rn.f32", "mul.rz.f32", "div.rn.f32", "div.full.f32", "min.f32", "max.f32",
                         "min.NaN.f32", "add.ftz.f32"})
    expect_binary<std::uint32_t>(std::string(op) + " %d, %a, %b;", none, none, one);
  expect_binary<std::uint32_t>("fma.rn.f32 %d, %a, %b, %a;", none, none, one);
  for (const char* op : {"rcp.rn.f32", "rcp.approx.ftz.f32", "sqrt.rn.f32", "rsqrt.approx.f32", "sin.approx.f32",
                         "lg2.approx.f32", "ex2.approx.f32", "tanh.approx.f32", "cvt.rni.f32.f32"})
    expect_unary<std::uint32_t>(std::string(op) + " %d, %a;", none, [](std::uint32_t) { return 0x7fffffffU; });
  const std::vector<std::uint32_t> infinite{0x7f800000};
  expect_binary<std::uint32_t>("sub.f32 %d, %a, %b;", infinite, infinite, one);
  const std::vector<std::uint64_t> wide{0x7ff8000000abcdef, 0xfff8000000000001};
  expect_unary<std::uint32_t>("cvt.rn.f32.f64 %d, %a;", wide, [](std::uint64_t) { return 0x7fffffffU; });
  expect_unary<std::uint64_t>("add.f64 %d, %a, 0d3FF0000000000000;", wide, [](std::uint64_t a) { return a; });
  for (const char* op : {"rcp.approx.ftz.f64", "rsqrt.approx.ftz.f64"})
    expect_unary<std::uint64_t>(std::string(op) + " %d, %a;", wide,
                                [](std::uint64_t) { return std::uint64_t{0x7fffffff} << 32; });
}

TEST(InterpreterFloat, properties) {
  check_properties<float>();
  check_properties<double>();
}

TEST(InterpreterFloat, subnormals_are_flushed_where_asked) {
  const auto all = edges<float>();
  const auto flush = [](float value) { return without_subnormals(value); };
  expect_binary<float>("add.ftz.f32 %d, %a, %b;", all, all,
                       [&](float a, float b) { return flush(flush(a) + flush(b)); });
  expect_binary<float>("mul.rn.ftz.f32 %d, %a, %b;", all, all,
                       [&](float a, float b) { return flush(flush(a) * flush(b)); });
  expect_binary<float>("div.rn.ftz.f32 %d, %a, %b;", all, all,
                       [&](float a, float b) { return flush(flush(a) / flush(b)); });
  expect_all<float>("fma.rn.ftz.f32 %d, %a, %b, %c;", all, all, all,
                    [&](float a, float b, float c) { return flush(std::fma(flush(a), flush(b), flush(c))); });
  expect_binary<float>("min.ftz.f32 %d, %a, %b;", all, all,
                       [&](float a, float b) { return least(flush(a), flush(b)); });
  expect_unary<float>("abs.ftz.f32 %d, %a;", all, [&](float a) { return flush(std::fabs(a)); });
  expect_unary<float>("neg.ftz.f32 %d, %a;", all, [&](float a) { return flush(-a); });
}

TEST(InterpreterFloat, saturation_is_from_0_to_1) {
  const auto all = edges<float>();
  expect_binary<float>("add.sat.f32 %d, %a, %b;", all, all, [](float a, float b) { return saturated(a + b); });
  expect_binary<float>("mul.ftz.sat.f32 %d, %a, %b;", all, all, [](float a, float b) {
    return without_subnormals(saturated(without_subnormals(a) * without_subnormals(b)));
  });
  expect_all<float>("fma.rn.sat.f32 %d, %a, %b, %c;", all, all, all,
                    [](float a, float b, float c) { return saturated(std::fma(a, b, c)); });
}

TEST(InterpreterFloat, approximations_are_rounded_correctly) {
  const auto all = edges<float>();
  using Long = long double;
  const auto check = [&](const std::string& op, auto function) {
    expect_unary<float>(op + " %d, %a;", all, [&](float a) { return static_cast<float>(function(Long{a})); });
  };
  check("ex2.approx.f32", [](Long a) { return std::exp2(a); });
  check("lg2.approx.f32", [](Long a) { return std::log2(a); });
  check("sin.approx.f32", [](Long a) { return std::sin(a); });
  check("cos.approx.f32", [](Long a) { return std::cos(a); });
  check("tanh.approx.f32", [](Long a) { return std::tanh(a); });
  check("rcp.approx.f32", [](Long a) { return 1 / a; });
  check("sqrt.approx.f32", [](Long a) { return std::sqrt(a); });
  check("rsqrt.approx.f32", [](Long a) { return 1 / std::sqrt(a); });
  expect_binary<float>("div.full.f32 %d, %a, %b;", all, all, [](float a, float b) { return a / b; });
  expect_unary<float>("ex2.approx.ftz.f32 %d, %a;", std::vector<float>{-130, -126, -150, 3.5F},
                      [](float a) { return without_subnormals(static_cast<float>(std::exp2(Long{a}))); });
}
