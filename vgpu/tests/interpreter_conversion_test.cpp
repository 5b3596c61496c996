// cvt: between all types, by all roundings.
#include "interpreter_harness.hpp"

#include <string>

using dcgn::test::edges, dcgn::test::expect_binary, dcgn::test::expect_unary, dcgn::test::SmallFloats;

namespace {

__extension__ using Wide = __int128;

template <class T>
std::string name_of() {
  return (std::is_floating_point_v<T> ? "f" : std::is_signed_v<T> ? "s" : "u") + std::to_string(8 * sizeof(T));
}
std::string conversion(const std::string& mode, const char* to, const std::string& from) {
  return "cvt" + mode + to + from + " %d, %a;";
}
template <class T, class V>
T clamped(V value) {
  const auto low = static_cast<V>(+std::numeric_limits<T>::min()),
             high = static_cast<V>(+std::numeric_limits<T>::max());
  return value <= low    ? std::numeric_limits<T>::min()
         : value >= high ? std::numeric_limits<T>::max()
                         : static_cast<T>(value);
}

// What is narrower than its register is extended there: results are read as 64 bits.
template <class From, class To>
void whole_to_whole() {
  const std::string types = "." + name_of<To>() + "." + name_of<From>() + " %d, %a;";
  using Result = std::conditional_t<std::is_signed_v<To>, std::int64_t, std::uint64_t>;
  expect_unary<Result>("cvt" + types, edges<From>(), [](From a) { return static_cast<Result>(static_cast<To>(a)); });
  expect_unary<Result>("cvt.sat" + types, edges<From>(),
                       [](From a) { return static_cast<Result>(clamped<To>(Wide{a})); });
}
template <class From, class... To>
void whole_to_all() {
  (whole_to_whole<From, To>(), ...);
}

// Of which mode: by the four names.
template <class V>
V whole(const std::string& mode, V value) {
  if (mode == ".rzi") return std::trunc(value);
  if (mode == ".rmi") return std::floor(value);
  if (mode == ".rpi") return std::ceil(value);
  return std::nearbyint(value);
}
const std::vector<std::string> whole_modes{".rni", ".rzi", ".rmi", ".rpi"};

template <class From>
std::vector<From> points() {
  std::vector<From> all = edges<From>();
  for (const double v : {0.49999999,
                         3.5,
                         -3.5,
                         -0.5,
                         -0.75,
                         127.5,
                         128.0,
                         -128.5,
                         -129.0,
                         255.4999,
                         255.5,
                         32767.5,
                         65535.5,
                         2147483647.0,
                         2147483648.0,
                         -2147483648.0,
                         -2147483904.0,
                         4294967295.0,
                         4294967296.0,
                         9223372036854775808.0,
                         -9223372036854775808.0,
                         18446744073709551616.0,
                         1e15 + 0.5})
    all.push_back(static_cast<From>(v));
  return all;
}

template <class From, class To>
void point_to_whole() {
  using Result = std::conditional_t<std::is_signed_v<To>, std::int64_t, std::uint64_t>;
  for (const std::string& mode : whole_modes)
    expect_unary<Result>("cvt" + mode + "." + name_of<To>() + "." + name_of<From>() + " %d, %a;", points<From>(),
                         [&](From a) {
                           if (std::isnan(a)) return Result{0};
                           return static_cast<Result>(clamped<To>(static_cast<long double>(whole(mode, a))));
                         });
}
template <class From, class... To>
void point_to_all() {
  (point_to_whole<From, To>(), ...);
}

// The nearest one or its neighbour: an error's sign is exact in long double.
template <class To>
To rounded(const std::string& mode, long double value) {
  const To nearest = static_cast<To>(value), infinity = std::numeric_limits<To>::infinity();
  const long double found = nearest;
  if (mode == ".rp") return found < value ? std::nextafter(nearest, infinity) : nearest;
  if (mode == ".rm") return found > value ? std::nextafter(nearest, -infinity) : nearest;
  if (mode == ".rz") return std::fabs(found) > std::fabs(value) ? std::nextafter(nearest, To{0}) : nearest;
  return nearest;
}
const std::vector<std::string> modes{".rn", ".rz", ".rm", ".rp"};

template <class From>
void whole_to_points() {
  std::vector<From> all = edges<From>();
  for (const std::uint64_t v : {(1ULL << 24) + 1, (1ULL << 25) + 3, (1ULL << 53) + 1, (1ULL << 62) + 129, ~0ULL >> 1})
    all.push_back(static_cast<From>(v));
  for (const std::string& mode : modes) {
    expect_unary<float>("cvt" + mode + ".f32." + name_of<From>() + " %d, %a;", all,
                        [&](From a) { return rounded<float>(mode, a); });
    expect_unary<double>("cvt" + mode + ".f64." + name_of<From>() + " %d, %a;", all,
                         [&](From a) { return rounded<double>(mode, a); });
  }
}

}  // namespace

TEST(InterpreterConversion, whole_numbers) {
  using namespace std;
  whole_to_all<int8_t, int8_t, uint8_t, int16_t, uint16_t, int32_t, uint32_t, int64_t, uint64_t>();
  whole_to_all<uint8_t, int8_t, uint8_t, int16_t, uint16_t, int32_t, uint32_t, int64_t, uint64_t>();
  whole_to_all<int16_t, int8_t, uint8_t, int16_t, uint16_t, int32_t, uint32_t, int64_t, uint64_t>();
  whole_to_all<uint16_t, int8_t, uint8_t, int16_t, uint16_t, int32_t, uint32_t, int64_t, uint64_t>();
  whole_to_all<int32_t, int8_t, uint8_t, int16_t, uint16_t, int32_t, uint32_t, int64_t, uint64_t>();
  whole_to_all<uint32_t, int8_t, uint8_t, int16_t, uint16_t, int32_t, uint32_t, int64_t, uint64_t>();
  whole_to_all<int64_t, int8_t, uint8_t, int16_t, uint16_t, int32_t, uint32_t, int64_t, uint64_t>();
  whole_to_all<uint64_t, int8_t, uint8_t, int16_t, uint16_t, int32_t, uint32_t, int64_t, uint64_t>();
}

TEST(InterpreterConversion, points_to_whole_numbers_that_hold_them) {
  using namespace std;
  point_to_all<float, int8_t, uint8_t, int16_t, uint16_t, int32_t, uint32_t, int64_t, uint64_t>();
  point_to_all<double, int8_t, uint8_t, int16_t, uint16_t, int32_t, uint32_t, int64_t, uint64_t>();
  expect_unary<std::int32_t>("cvt.rpi.ftz.s32.f32 %d, %a;", edges<float>(), [](float a) {
    if (std::isnan(a) || std::fpclassify(a) == FP_SUBNORMAL) return 0;
    return clamped<std::int32_t>(std::ceil(static_cast<long double>(a)));
  });
}

TEST(InterpreterConversion, whole_numbers_to_points) {
  whole_to_points<std::int8_t>();
  whole_to_points<std::uint16_t>();
  whole_to_points<std::int32_t>();
  whole_to_points<std::uint32_t>();
  whole_to_points<std::int64_t>();
  whole_to_points<std::uint64_t>();
}

TEST(InterpreterConversion, between_points) {
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<double> doubles{0.0,      -0.0,   1.0,      1.0 + 0x1p-24, 1.0 + 0x1p-25, -1.0 - 0x1.8p-24,
                                    1e-42,    -1e-42, 0.1,      -0.3,          1e20,          -1e20,
                                    0x1p-149, NAN,    infinity, -infinity};
  for (const std::string& mode : modes)
    expect_unary<float>("cvt" + mode + ".f32.f64 %d, %a;", doubles,
                        [&](double a) { return rounded<float>(mode, static_cast<long double>(a)); });
  expect_unary<double>("cvt.f64.f32 %d, %a;", edges<float>(), [](float a) { return static_cast<double>(a); });
  expect_unary<float>("cvt.rn.ftz.f32.f64 %d, %a;", doubles, [](double a) {
    const auto value = static_cast<float>(a);
    return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0F, value) : value;
  });
  expect_unary<float>("cvt.sat.f32.f32 %d, %a;", edges<float>(), [](float a) { return a > 0 ? std::min(a, 1.0F) : 0; });
  for (const std::string& mode : whole_modes) {
    expect_unary<float>("cvt" + mode + ".f32.f32 %d, %a;", points<float>(), [&](float a) { return whole(mode, a); });
    expect_unary<double>("cvt" + mode + ".f64.f64 %d, %a;", points<double>(), [&](double a) { return whole(mode, a); });
  }
}

TEST(InterpreterConversion, all_numbers_of_16_bits) {
  std::vector<std::uint16_t> all;
  for (std::uint32_t bits = 0; bits < 65536; bits += 3) all.push_back(static_cast<std::uint16_t>(bits));
  for (const bool bfloat : {false, true}) {
    const SmallFloats floats(bfloat);
    const std::string type = bfloat ? ".bf16" : ".f16";
    expect_unary<float>("cvt.f32" + type + " %d, %a;", all,
                        [&](std::uint16_t a) { return static_cast<float>(floats.value(a)); });
    expect_unary<double>("cvt.f64" + type + " %d, %a;", all, [&](std::uint16_t a) { return floats.value(a); });
    for (const std::string& mode : whole_modes) {
      expect_unary<std::int32_t>(conversion(mode, ".s32", type), all, [&](std::uint16_t a) {
        const double value = floats.value(a);
        return std::isnan(value) ? 0 : clamped<std::int32_t>(whole(mode, value));
      });
      expect_unary<std::uint16_t>(conversion(mode, ".sat.u16", type), all, [&](std::uint16_t a) {
        const double value = floats.value(a);
        return std::isnan(value) ? std::uint16_t{0} : clamped<std::uint16_t>(whole(mode, value));
      });
    }
  }
}

TEST(InterpreterConversion, to_16_bits) {
  std::vector<float> all = points<float>();
  for (const double v : {65504.0, 65519.9, 65520.0, 1.0 + 0x1p-11, 1.0 + 0x1.8p-10, 1.0 + 0x1p-8, 1.0 + 0x1.8p-7, 6e-8,
                         3e-8, 2.9e-8, 1e-39, 4.6e-41, 4.5e-41, 3.39e38, 3.4e38, -3.4e38, -65520.0, 1.0 + 0x1.01p-8})
    all.push_back(static_cast<float>(v));
  for (const bool bfloat : {false, true}) {
    const SmallFloats floats(bfloat);
    const std::string type = bfloat ? ".bf16" : ".f16";
    expect_unary<std::uint16_t>("cvt.rn" + type + ".f32 %d, %a;", all,
                                [&](float a) { return floats.nearest(static_cast<double>(a)); });
    expect_unary<std::uint16_t>("cvt.rz" + type + ".f32 %d, %a;", all,
                                [&](float a) { return floats.directed(static_cast<double>(a), 0); });
    expect_unary<std::uint16_t>("cvt.rn.relu" + type + ".f32 %d, %a;", all,
                                [&](float a) { return floats.nearest(a <= 0 ? 0.0 : static_cast<double>(a)); });
    expect_binary<std::uint32_t>("cvt.rn" + type + "x2.f32 %d, %a, %b;", all, all, [&](float a, float b) {
      return std::uint32_t{floats.nearest(static_cast<double>(a))} << 16 | floats.nearest(static_cast<double>(b));
    });
    expect_unary<std::uint16_t>("cvt.rn" + type + ".s32 %d, %a;", edges<std::int32_t>(),
                                [&](std::int32_t a) { return floats.nearest(a); });
    // 2^63 + 2^55 + 1 is more than a tie of bfloat, which a double does not tell.
    std::vector<std::uint64_t> large = edges<std::uint64_t>();
    large.push_back((1ULL << 63) + (1ULL << 55) + 1);
    expect_unary<std::uint16_t>("cvt.rn" + type + ".u64 %d, %a;", large, [&](std::uint64_t a) {
      const auto value =
          static_cast<double>(a >> 32 << 32 | (a << 32 != 0 ? 1ULL << 32 : 0));  // what is lost is kept as a bit
      return a >> 52 != 0 ? floats.nearest(value) : floats.nearest(static_cast<double>(a));
    });
  }
  const SmallFloats half(false);
  expect_unary<std::uint16_t>("cvt.rn.f16.f64 %d, %a;",
                              std::vector<double>{1 + 0x1p-11, 1 + 0x1p-11 + 0x1p-50, 1e-8, 7e4},
                              [&](double a) { return half.nearest(a); });
  expect_unary<std::uint16_t>("cvt.sat.f16.f16 %d, %a;",
                              std::vector<std::uint16_t>{0, 0x8000, 0x3c01, 0xbc00, 0x3800, 0x7fff},
                              [](std::uint16_t a) { return a == 0x3c01   ? 0x3c00
                                                           : a == 0x3800 ? a
                                                                         : 0; });
  expect_unary<std::uint16_t>("cvt.rni.f16.f16 %d, %a;",
                              std::vector<std::uint16_t>{0x3800, 0x3e00, 0x4100, 0xbe00, 0xb800},
                              [&](std::uint16_t a) { return half.nearest(std::nearbyint(half.value(a))); });
}

// Numbers of 8 bits, in pairs. All that there are, and the nearest of them.
namespace {

struct Eight {
  const char* name;
  int fraction_bits, bias, largest;
  double value(int code) const {
    const int exponent = code >> fraction_bits & ((1 << (7 - fraction_bits)) - 1);
    const double fraction = (code & ((1 << fraction_bits) - 1)) / std::exp2(fraction_bits);
    const double size = exponent == 0 ? std::exp2(1 - bias) * fraction : std::exp2(exponent - bias) * (1 + fraction);
    const bool infinite = largest == 0x7b && (code & 0x7f) == 0x7c;
    if ((code & 0x7f) > largest && !infinite) return NAN;
    return (code < 0x80 ? 1 : -1) * (infinite ? INFINITY : size);
  }
  std::uint32_t nearest(float a) const {
    if (std::isnan(a)) return 0x7f;
    const double size = std::fabs(static_cast<double>(a));
    int best = 0;
    for (int code = 1; code <= largest; ++code) {
      const double now = std::fabs(value(code) - size), least = std::fabs(value(best) - size);
      if (now < least || (now == least && code % 2 == 0) || size >= value(largest)) best = code;
    }
    return static_cast<std::uint32_t>(best) | (std::signbit(a) ? 0x80U : 0U);
  }
};

}  // namespace

TEST(InterpreterConversion, pairs_of_8_bits) {
  std::vector<std::uint16_t> pairs;
  for (unsigned code = 0; code < 256; ++code) pairs.push_back(static_cast<std::uint16_t>(code << 8 | (255 - code)));
  for (const Eight& eight : {Eight{"e4m3x2", 3, 7, 0x7e}, Eight{"e5m2x2", 2, 15, 0x7b}}) {
    const std::string type = std::string(".") + eight.name;
    const SmallFloats halves(false);
    expect_unary<std::uint32_t>("cvt.rn.f16x2" + type + " %d, %a;", pairs, [&](std::uint16_t a) {
      const auto half = [&](int code) { return std::uint32_t{halves.nearest(eight.value(code))}; };
      return half(a >> 8) << 16 | half(a & 255);
    });
    std::vector<float> all = edges<float>();
    for (int code = 0; code <= eight.largest; ++code)
      for (const double between : {0.0, 0.25, 0.5, 0.75}) {
        const double next = code < eight.largest ? eight.value(code + 1) : 2 * eight.value(code);
        all.push_back(static_cast<float>(eight.value(code) * (1 - between) + next * between));
        all.push_back(-all.back());
      }
    expect_binary<std::uint16_t>(
        "cvt.rn.satfinite" + type + ".f32 %d, %a, %b;", all, std::vector<float>{1, -INFINITY},
        [&](float a, float b) { return static_cast<std::uint16_t>(eight.nearest(a) << 8 | eight.nearest(b)); });
    expect_unary<std::uint16_t>("cvt.rn.satfinite.relu" + type + ".f32 %d, %a, %a;", all, [&](float a) {
      const std::uint32_t code = eight.nearest(a <= 0 ? 0 : a);
      return static_cast<std::uint16_t>(code << 8 | code);
    });
    expect_unary<std::uint16_t>(
        "cvt.rn.satfinite" + type + ".f16x2 %d, %a;",
        std::vector<std::uint32_t>{0x3c00bc00, 0x7c00fc00, 0x00018001, 0x4e005bff, 0x7e003555}, [&](std::uint32_t a) {
          const auto code = [&](std::uint32_t half) {
            return eight.nearest(static_cast<float>(halves.value(static_cast<std::uint16_t>(half))));
          };
          return static_cast<std::uint16_t>(code(a >> 16) << 8 | code(a));
        });
  }
}
