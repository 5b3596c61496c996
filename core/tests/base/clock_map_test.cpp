#include "base/clock_map.hpp"

#include <gtest/gtest.h>

namespace dcgn::base {
namespace {

TEST(ClockMap, TakesOutOffsetAndDrift) {
  // A clock that began elsewhere and loses a thousandth: 999 of its ns are 1000.
  const ClockMap map({5'000'000, 1'000, 30}, {5'000'000 + 999'000'000, 1'000 + 1'000'000'000, 40});
  EXPECT_EQ(map(5'000'000), 1'000u);
  EXPECT_NEAR(static_cast<double>(map(5'000'000 + 499'500'000)), 1'000 + 500'000'000, 2);
  EXPECT_EQ(map.error(), 40u);
}

TEST(ClockMap, WithOneReadingTakesOutTheOffset) {
  const ClockMap map({5'000, 1'000, 7});
  EXPECT_EQ(map(6'000), 2'000u);
  EXPECT_EQ(map(4'500), 500u);
  EXPECT_EQ(map.error(), 7u);
}

TEST(ClockMap, OfTheSameClockChangesNothing) {
  EXPECT_EQ(ClockMap()(12'345), 12'345u);
  EXPECT_EQ(ClockMap().error(), 0u);
}

}  // namespace
}  // namespace dcgn::base
