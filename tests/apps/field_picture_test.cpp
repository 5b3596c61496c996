// Pictures of fields: which cell is which pixel, and how much of a box a sphere covers.
#include "apps/image/field.hpp"
#include "apps/image/surface.hpp"
#include "tests/expect.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

using namespace dcgn::image;
using dcgn::stencil::source_of;

namespace {

bool same(Colour a, Colour b) { return a.r == b.r && a.g == b.g && a.b == b.b; }

// What the eye sees as lightness: L* of CIELAB, from the luminance of sRGB.
double lightness(Colour c) {
  const auto linear = [](double v) { return v <= 0.04045 ? v / 12.92 : std::pow((v + 0.055) / 1.055, 2.4); };
  const double y = 0.2126 * linear(c.r / 255.0) + 0.7152 * linear(c.g / 255.0) + 0.0722 * linear(c.b / 255.0);
  return y > 0.008856 ? 116 * std::cbrt(y) - 16 : 903.3 * y;
}

TEST(Palette, StepsOfAValueAreStepsOfLightness) {
  for (int i = 0; i < 10; ++i) {
    const double v = i / 10.0;
    for (const double sign : {-1.0, 1.0}) {
      const double step = lightness(diverging(sign * v)) - lightness(diverging(sign * (v + 0.1)));
      EXPECT_GT(step, 3.5) << sign * v;
      EXPECT_LT(step, 9) << sign * v;
    }
    EXPECT_GT(lightness(heat(v + 0.1)) - lightness(heat(v)), 2) << v;
  }
  EXPECT_GT(diverging(1).r, 2 * diverging(1).b);
  EXPECT_GT(diverging(-1).b, 2 * diverging(-1).r);
  EXPECT_TRUE(same(diverging(7), diverging(1)));
}

TEST(Palette, NotANumberIsGrey) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const Colour c : {diverging(nan), heat(nan), phase(nan, 0)}) EXPECT_TRUE(same(c, {128, 128, 128}));
}

TEST(Palette, PhaseIsHueAndMagnitudeLightness) {
  EXPECT_LT(lightness(phase(0, 0)), 5);
  double least = 100, greatest = 0;
  for (int i = 0; i < 12; ++i) {
    const double angle = 2 * std::numbers::pi * i / 12;
    const double l = lightness(phase(std::cos(angle), std::sin(angle)));
    least = std::min(least, l);
    greatest = std::max(greatest, l);
    EXPECT_FALSE(same(phase(std::cos(angle), std::sin(angle)), phase(std::cos(angle + 0.6), std::sin(angle + 0.6))));
  }
  EXPECT_LT(greatest - least, 12);
}

TEST(FieldPicture, CellsAreSquaresOfPixelsFromTheBottomUp) {
  const std::vector<double> u{-1, 0, 1, 1, -1, 0};
  const Image image = picture(source_of("u", u, {3, 2}), Palette::diverging, {}, 8);
  ASSERT_EQ(image.width(), 6);
  ASSERT_EQ(image.height(), 4);
  for (int y = 0; y < 4; ++y)
    for (int x = 0; x < 6; ++x) {
      const double value = u[static_cast<std::size_t>((3 - y) / 2 * 3 + x / 2)];
      EXPECT_TRUE(same(image.at(x, y), diverging(value))) << x << ", " << y;
    }
}

TEST(FieldPicture, LargeFieldsAreAveragedOverBlocks) {
  // 5 x 4 cells on at most 2 pixels: blocks of 3, those at the borders with fewer cells.
  std::vector<float> u(20);
  for (std::size_t i = 0; i < u.size(); ++i) u[i] = static_cast<float>(i);
  const Image image = picture(source_of("u", u, {5, 4}), Palette::heat, {0, 20}, 2);
  ASSERT_EQ(image.width(), 2);
  ASSERT_EQ(image.height(), 2);
  EXPECT_TRUE(same(image.at(0, 1), heat(6.0 / 20)));              // columns 0..2 of rows 0..2
  EXPECT_TRUE(same(image.at(1, 1), heat(8.5 / 20)));              // columns 3, 4
  EXPECT_TRUE(same(image.at(1, 0), heat((18 + 19) / 2.0 / 20)));  // of row 3
}

TEST(FieldPicture, OfAVolumeIsItsMiddlePlane) {
  std::vector<dcgn::complex<float>> psi(2 * 2 * 5);
  psi[2 * 4 + 3] = {0, 1};  // x = 1, y = 1, z = 2
  const Image image = picture(source_of("psi", psi, {2, 2, 5}), Palette::phase, {0, 1}, 2);
  EXPECT_TRUE(same(image.at(1, 0), phase(0, 1)));
  EXPECT_TRUE(same(image.at(0, 1), phase(0, 0)));
}

TEST(FieldPicture, RefusesOtherDimensions) {
  const std::vector<float> u(16);
  const auto error = [&](std::vector<std::int64_t> extents) {
    const auto source = source_of("u", u, std::move(extents));
    return dcgn::test::error_of([&] { picture(source, Palette::heat, {}, 8); });
  };
  EXPECT_TRUE(dcgn::test::contains(error({16}).what(), "field 'u' is 16 float32: expected 2 or 3 dimensions"));
  EXPECT_EQ(error({2, 2, 2, 2}).code(), dcgn::Code::configuration);
  EXPECT_EQ(dcgn::test::error_of([&] { surface(source_of("u", u, {4, 4}), {}); }).code(), dcgn::Code::configuration);
}

// Pixels that show matter: those that differ from a picture without any.
int covered(const std::vector<float>& u, std::vector<std::int64_t> extents, const View& view) {
  const Image image = surface(source_of("u", u, extents), view);
  const std::vector<float> none(u.size(), static_cast<float>(view.value) + (view.below ? 1.0f : -1.0f));
  const Image nothing = surface(source_of("u", none, extents), view);
  int count = 0;
  for (int y = 0; y < image.height(); ++y)
    for (int x = 0; x < image.width(); ++x) count += !same(image.at(x, y), nothing.at(x, y));
  return count;
}

TEST(Surface, OfASphereCoversWhatItsShadowDoes) {
  constexpr int n = 41;
  constexpr double radius = 15;
  const View view{.width = 300, .height = 300};
  std::vector<float> sphere, full(n * n * n, 1.0f);
  for (int z = 0; z < n; ++z)
    for (int y = 0; y < n; ++y)
      for (int x = 0; x < n; ++x) sphere.push_back(static_cast<float>(radius - std::hypot(x - 20, y - 20, z - 20)));
  // The box's shadow has the sum of its sides' areas, by how much each is turned towards the eye.
  const double turn = view.turn * std::numbers::pi / 180, above = view.above * std::numbers::pi / 180;
  const double towards = std::cos(above) * (std::cos(turn) + std::sin(turn)) + std::sin(above);
  const double expected = std::numbers::pi * radius * radius / ((n - 1) * (n - 1) * towards);
  const double got = static_cast<double>(covered(sphere, {n, n, n}, view)) / covered(full, {n, n, n}, view);
  EXPECT_NEAR(got, expected, 0.02 * expected);
  for (float& cell : sphere) cell = 2 - cell;
  EXPECT_EQ(covered(sphere, {n, n, n}, {.width = 300, .height = 300, .value = 2, .below = true}),
            std::lround(got * covered(full, {n, n, n}, view)))
      << "a hole's inside is matter where what is below counts";
}

TEST(Surface, IsLitFromAboveAndCutsAreOfAnotherColour) {
  constexpr int n = 33;
  const View view{.width = 200, .height = 200};
  std::vector<float> sphere;
  for (int z = 0; z < n; ++z)
    for (int y = 0; y < n; ++y)
      for (int x = 0; x < n; ++x) sphere.push_back(static_cast<float>(12 - std::hypot(x - 16, y - 16, z - 16)));
  const Image round = surface(source_of("u", sphere, {n, n, n}), view);
  EXPECT_GT(lightness(round.at(100, 75)), lightness(round.at(100, 130)) + 5);
  EXPECT_GT(round.at(100, 100).r, round.at(100, 100).b);
  const Image cut = surface(source_of("u", std::vector<float>(n * n * n, 1.0f), {n, n, n}), view);
  EXPECT_LT(cut.at(100, 130).r, cut.at(100, 130).b);
}

TEST(Surface, LargeFieldsAreAveragedAndLongOnesFit) {
  const std::vector<float> u(8 * 4 * 30, 1.0f);
  EXPECT_GT(covered(u, {8, 4, 30}, {.width = 60, .height = 90, .most_cells = 10}), 60 * 90 / 10);
  EXPECT_EQ(covered(u, {8 * 4 * 30, 1, 1}, {.width = 60, .height = 60}), 0) << "a line has no thickness";
}

}  // namespace
