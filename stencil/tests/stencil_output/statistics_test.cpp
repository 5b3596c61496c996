// Integrals against sums in another order and precision, structure factors against the definition.
#include "stencil/src/output/statistics.hpp"
#include "stencil/src/output/history.hpp"
#include "support.hpp"
#include "tests/expect.hpp"

#include <cmath>
#include <complex>
#include <limits>
#include <map>
#include <numbers>

using namespace dcgn::stencil;
using dcgn::test::contains, dcgn::test::error_of, dcgn::test::random_cells;

namespace {

constexpr double pi = std::numbers::pi;

template <class T>
std::complex<long double> value_of(const T& cell) {
  if constexpr (std::is_floating_point_v<T>)
    return cell;
  else
    return {cell.real(), cell.imag()};
}

// The integrals as they are defined, cell by cell.
template <class T>
Statistics by_definition(const std::vector<T>& u, const FieldShape& shape, const Landau& e, bool periodic) {
  long double mass = 0, energy = 0, volume = 1;
  for (const double h : shape.spacing) volume *= h;
  for (std::size_t i = 0; i < u.size(); ++i) {
    const long double square = std::norm(value_of(u[i]));
    mass += std::is_floating_point_v<T> ? value_of(u[i]).real() : square;
    energy += e.quadratic / 2 * square + e.quartic / 4 * square * square;
    std::size_t stride = 1;
    for (std::size_t d = 0; d < shape.dimensions(); ++d) {
      const auto extent = static_cast<std::size_t>(shape.extents[d]), at = i / stride % extent;
      if (at + 1 < extent || periodic) {
        const std::size_t next = i - at * stride + (at + 1) % extent * stride;
        energy += e.gradient / 2 *
                  std::norm((value_of(u[next]) - value_of(u[i])) / static_cast<long double>(shape.spacing[d]));
      }
      stride *= extent;
    }
  }
  return {static_cast<double>(mass * volume), static_cast<double>(energy * volume), 0, 0};
}

template <class T>
void expect_integrals(std::vector<std::int64_t> extents, std::vector<double> spacing, unsigned seed) {
  const FieldShape shape{std::move(extents), cell_type<T>(), std::move(spacing)};
  const auto u = random_cells<T>(static_cast<std::size_t>(shape.cells()), seed);
  const FieldSource source = source_of("u", u.data(), u.size() * sizeof(T), shape);
  const Landau energy{-1.5, 0.75, 2};
  for (const bool periodic : {true, false}) {
    const Statistics got = statistics_of(source, energy, periodic),
                     expected = by_definition(u, shape, energy, periodic);
    EXPECT_NEAR(got.mass, expected.mass, 1e-14 * std::abs(expected.mass) + 1e-15) << to_string(shape);
    EXPECT_NEAR(got.free_energy, expected.free_energy, 1e-14 * std::abs(expected.free_energy)) << to_string(shape);
  }
}

TEST(Statistics, AreTheIntegralsInAllDimensions) {
  expect_integrals<double>({17}, {0.5}, 1);
  expect_integrals<float>({9, 7}, {1, 0.25}, 2);
  expect_integrals<double>({5, 6, 7}, {1, 2, 3}, 3);
  expect_integrals<double>({3, 4, 2, 5}, {1, 1, 1, 1}, 4);
  expect_integrals<dcgn::complex<double>>({8, 5}, {0.5, 0.5}, 5);
  expect_integrals<dcgn::complex<float>>({4, 3, 6}, {1, 1, 2}, 6);
  expect_integrals<double>({1, 4}, {1, 1}, 7);
}

TEST(Statistics, ExtremesAreOfTheFieldOrItsMagnitude) {
  const std::vector<double> u{0.5, -2, 1, 0};
  const Statistics real = statistics_of(source_of("u", u, {4}), {});
  EXPECT_EQ(real.least, -2);
  EXPECT_EQ(real.greatest, 1);
  const std::vector<dcgn::complex<double>> psi{{3, 4}, {0, -1}};
  const Statistics magnitude = statistics_of(source_of("psi", psi, {2}), {});
  EXPECT_EQ(magnitude.least, 1);
  EXPECT_EQ(magnitude.greatest, 5);
}

TEST(Statistics, MassIsExactWhereSumsAreNot) {
  // Each cell of the first half is far below the rounding of the whole.
  std::vector<double> u(200000, 1e-17);
  for (std::size_t i = 0; i < u.size(); i += 2) u[i] = i % 4 ? -1e3 : 1e3;
  const Statistics got = statistics_of(source_of("u", u, {1000, 200}), {});
  EXPECT_NEAR(got.mass, 1e-12, 1e-24);
}

// S(k) of each mode as it is defined, and the shells that this gives.
template <class T>
StructureFactor shells_by_definition(const std::vector<T>& u, const FieldShape& shape) {
  using Complex = std::complex<long double>;
  Complex mean = 0;
  for (const T& cell : u) mean += value_of(cell) / static_cast<long double>(u.size());
  double longest = 0, coarsest = 0;
  for (std::size_t d = 0; d < shape.dimensions(); ++d) {
    longest = std::max(longest, static_cast<double>(shape.extents[d]) * shape.spacing[d]);
    coarsest = std::max(coarsest, shape.spacing[d]);
  }
  std::map<long, StructureFactor::Shell> shells;
  for (std::int64_t m = 1; m < shape.cells(); ++m) {
    std::vector<double> wave(shape.dimensions());
    double k2 = 0;
    std::int64_t left = m;
    for (std::size_t d = 0; d < shape.dimensions(); left /= shape.extents[d++]) {
      std::int64_t n = left % shape.extents[d];
      if (2 * n > shape.extents[d]) n -= shape.extents[d];
      wave[d] = 2 * pi * static_cast<double>(n) / static_cast<double>(shape.extents[d]);
      k2 += wave[d] * wave[d] / (shape.spacing[d] * shape.spacing[d]);
    }
    Complex amplitude = 0;
    for (std::size_t i = 0; i < u.size(); ++i) {
      long double phase = 0;
      auto rest = static_cast<std::int64_t>(i);
      for (std::size_t d = 0; d < shape.dimensions(); rest /= shape.extents[d++])
        phase += static_cast<long double>(rest % shape.extents[d]) * wave[d];
      amplitude += (value_of(u[i]) - mean) * std::polar(1.0L, -phase);
    }
    const auto shell_of = [&](double k) { return std::lround(k * longest / (2 * pi) + 1e-9); };
    const long shell = shell_of(std::sqrt(k2));
    if (shell > shell_of(pi / coarsest)) continue;
    shells[shell].s += static_cast<double>(std::norm(amplitude)) / static_cast<double>(u.size());
    shells[shell].modes += 1;
  }
  StructureFactor result;
  for (auto& [n, shell] : shells)
    result.shells.push_back(
        {2 * pi * static_cast<double>(n) / longest, shell.s / static_cast<double>(shell.modes), shell.modes});
  return result;
}

template <class T>
void expect_shells(std::vector<std::int64_t> extents, std::vector<double> spacing, unsigned seed) {
  const FieldShape shape{std::move(extents), cell_type<T>(), std::move(spacing)};
  auto u = random_cells<T>(static_cast<std::size_t>(shape.cells()), seed);
  u[0] = u[0] + T(3);  // a mean, which is no structure
  const StructureFactor got = structure_factor(source_of("u", u.data(), u.size() * sizeof(T), shape));
  const StructureFactor expected = shells_by_definition(u, shape);
  ASSERT_EQ(got.shells.size(), expected.shells.size()) << to_string(shape);
  for (std::size_t n = 0; n < got.shells.size(); ++n) {
    EXPECT_EQ(got.shells[n].modes, expected.shells[n].modes) << to_string(shape) << ", shell " << n;
    EXPECT_NEAR(got.shells[n].k, expected.shells[n].k, 1e-12 * expected.shells[n].k);
    EXPECT_NEAR(got.shells[n].s, expected.shells[n].s, 1e-10 * expected.shells[n].s);
  }
  EXPECT_NEAR(got.domain_length(), expected.domain_length(), 1e-10 * expected.domain_length());
}

class Structure : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_structure_factor()) GTEST_SKIP() << "no FFTW";
  }
};

TEST_F(Structure, FactorIsThatOfTheDefinition) {
  expect_shells<double>({15}, {0.5}, 1);
  expect_shells<double>({12, 9}, {1, 1}, 2);
  expect_shells<float>({9, 12}, {1, 1}, 3);
  expect_shells<double>({8, 8}, {0.5, 1}, 4);
  expect_shells<dcgn::complex<double>>({8, 7}, {1, 1}, 5);
  expect_shells<double>({6, 5, 4}, {1, 1, 1}, 6);
  expect_shells<dcgn::complex<float>>({3, 4, 5}, {1, 1, 1}, 7);
}

TEST_F(Structure, AWaveHasItsLengthAndAMixtureTheMomentsOne) {
  constexpr int n = 64;
  constexpr double spacing = 0.5;
  const auto length_of = [&](auto&& value) {
    std::vector<double> u;
    for (int y = 0; y < n; ++y)
      for (int x = 0; x < n; ++x) u.push_back(value(2 * pi * x / n, 2 * pi * y / n));
    return structure_factor(source_of("u", u, {n, n}, spacing)).domain_length();
  };
  EXPECT_NEAR(length_of([](double x, double) { return std::cos(4 * x) + 0.2; }), n * spacing / 4, 1e-9);
  EXPECT_NEAR(length_of([](double, double y) { return std::sin(8 * y); }), n * spacing / 8, 1e-9);
  // Each of the two shells counts by the average over its modes.
  std::map<long, double> modes;
  for (int x = -n / 2; x < n / 2; ++x)
    for (int y = -n / 2; y < n / 2; ++y) modes[std::lround(std::hypot(x, y))] += 1;
  const double s3 = 1 / modes[3], s8 = 1 / modes[8];
  EXPECT_NEAR(length_of([](double x, double y) { return std::cos(3 * x) + std::cos(8 * y); }),
              n * spacing * (s3 + s8) / (3 * s3 + 8 * s8), 1e-9);
}

TEST_F(Structure, OfAUniformFieldHasNoLength) {
  const std::vector<double> u(16, 0.25);
  EXPECT_TRUE(std::isnan(structure_factor(source_of("u", u, {4, 4})).domain_length()));
}

TEST(History, ComesBackFromCsvToTheLastBit) {
  const std::vector<Record> records{{0, 0, -0.1, 1.0 / 3, 3.5}, {100, 0.1 + 0.2, -1e300, 5e-324, 1e9 + 1.0 / 7}};
  const std::string text = to_csv(records);
  EXPECT_EQ(text.substr(0, text.find('\n')), "step,time,free_energy,mass,domain_length");
  EXPECT_EQ(records_from_csv(text, "a.csv"), records);
  const auto unknown = records_from_csv(to_csv({{1, 2, 3, 4, std::numeric_limits<double>::quiet_NaN()}}), "a.csv");
  ASSERT_EQ(unknown.size(), 1u);
  EXPECT_TRUE(std::isnan(unknown[0].domain_length));
}

TEST(History, NamesTheLineThatIsSomethingElse) {
  const std::string good = to_csv({{1, 2, 3, 4, 5}});
  const auto error = [](const std::string& text) {
    return std::string(error_of([&] { records_from_csv(text, "a.csv"); }).what());
  };
  EXPECT_TRUE(contains(error("x,y\n1,2\n"), "a.csv:1: 'x,y', expected step,time"));
  EXPECT_TRUE(contains(error(good + "1,2,x,4,5\n"), "a.csv:3: '1,2,x,4,5', expected numbers for step,time"));
  EXPECT_TRUE(contains(error(good + "1,2,3\n"), "a.csv:3: "));
}

}  // namespace
