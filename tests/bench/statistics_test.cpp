// Medians and 99th percentiles, and what a row makes of samples.
#include "bench/statistics.hpp"

#include "bench/row.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

using namespace dcgn::bench;

namespace {

TEST(Percentile, IsTheNearestRank) {
  EXPECT_EQ(percentile({7}, 50), 7);
  EXPECT_EQ(percentile({7}, 99), 7);
  EXPECT_EQ(percentile({3, 1, 2}, 50), 2);
  EXPECT_EQ(percentile({4, 1, 3, 2}, 50), 2);
  EXPECT_EQ(percentile({4, 1, 3, 2}, 100), 4);
  EXPECT_EQ(percentile({4, 1, 3, 2}, 0), 1);
}

TEST(Percentile, DoesNotDependOnTheOrder) {
  std::vector<double> samples(200);
  std::iota(samples.begin(), samples.end(), 1.0);
  std::shuffle(samples.begin(), samples.end(), std::mt19937(5));
  EXPECT_EQ(percentile(samples, 50), 100);
  EXPECT_EQ(percentile(samples, 99), 198);
}

TEST(Row, IsHalfARoundTripOverBlocks) {
  Samples s{};
  s.blocks = 3;
  s.rounds = 10;
  s.ns[0] = 20'000;  // 1 us half a round
  s.ns[1] = 40'000;
  s.ns[2] = 60'000;
  s.wrong = 4;
  Row row{.bytes = 4000};
  set_figures(row, s);
  EXPECT_DOUBLE_EQ(row.p50_us, 2);
  EXPECT_DOUBLE_EQ(row.p99_us, 3);
  EXPECT_DOUBLE_EQ(row.gb_per_s, 2);
  EXPECT_EQ(row.rounds, 30u);
  EXPECT_EQ(row.wrong, 4u);
}

TEST(Row, OfCopiesIsWhatEachTook) {
  Row row{.bytes = 4000};
  set_figures(row, {1, 2, 3}, 10);
  EXPECT_DOUBLE_EQ(row.p50_us, 2);
  EXPECT_DOUBLE_EQ(row.p99_us, 3);
  EXPECT_DOUBLE_EQ(row.gb_per_s, 2);
  EXPECT_EQ(row.rounds, 30u);
}

}  // namespace
