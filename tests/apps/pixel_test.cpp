// The pixel function against the definition of the set.
#include "apps/mandelbrot/pixel.hpp"

#include <gtest/gtest.h>

#include <complex>
#include <random>
#include <vector>

using namespace dcgn::mandelbrot;

namespace {

std::uint32_t reference(std::complex<double> c, std::uint32_t limit) {
  std::complex<double> z = 0;
  std::uint32_t n = 0;
  while (n < limit && std::norm(z) <= 65536.0) {
    z = {z.real() * z.real() - z.imag() * z.imag() + c.real(), 2 * z.real() * z.imag() + c.imag()};
    ++n;
  }
  return n;
}

TEST(Pixel, CountsIterationsAsTheDefinitionDoes) {
  const unsigned seed = 20090501;
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> part(-2, 2);
  for (int i = 0; i < 2000; ++i) {
    const std::complex<double> c(part(random), part(random));
    EXPECT_EQ(iterate(c.real(), c.imag(), 300).iterations, reference(c, 300)) << c << ", seed " << seed;
  }
}

TEST(Pixel, InsideOfTheSetItReachesTheLimitAndHasNoNorm) {
  for (const std::complex<double> c : {std::complex(0.0, 0.0), std::complex(-1.0, 0.0), std::complex(-0.1, 0.7)})
    EXPECT_EQ(iterate(c.real(), c.imag(), 1234), (Pixel{1234, 0.0f})) << c;
}

TEST(Pixel, OutsideTheNormIsBeyondTheCircle) {
  EXPECT_EQ(iterate(300, 0, 10), (Pixel{1, 90000.0f}));
  EXPECT_GT(iterate(0.5, 0.5, 100).norm, 65536.0f);
}

TEST(Pixel, TheFirstOneIsAtTheTopLeft) {
  const Task task{{-1, 3, -2, 2}, 4, 2, 50};
  EXPECT_EQ(pixel_at(task, 0, 0), iterate(-0.5, 1, 50));
  EXPECT_EQ(pixel_at(task, 1, 3), iterate(2.5, -1, 50));
}

TEST(Pixel, ThreadsShareAStripWithoutGapOrOverlap) {
  const Task task{{-2, 1, -1, 1}, 13, 9, 40};
  const Strip strip{2 * 13 + 4, 5 * 13};
  std::vector<Pixel> shared(5 * 13, Pixel{999, 0}), alone(5 * 13);
  for (unsigned t = 0; t < 7; ++t) compute(task, strip, shared.data(), t, 7);
  compute(task, strip, alone.data(), 0, 1);
  EXPECT_EQ(shared, alone);
  EXPECT_EQ(alone[0], pixel_at(task, 2, 4));
  EXPECT_EQ(alone.back(), pixel_at(task, 7, 3));
}

}  // namespace
