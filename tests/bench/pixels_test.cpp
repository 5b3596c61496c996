// Rows of `dcgn bench pixels`: what is worked out of the figures.
#include "pixels/bench/pixels_row.hpp"

#include <gtest/gtest.h>

using namespace dcgn::bench;

namespace {

TEST(PixelsFit, FindsLatencyAndBandwidth) {
  std::vector<std::pair<double, double>> points;
  for (double bytes = 64; bytes < 1e8; bytes *= 4) points.emplace_back(bytes, 7 + bytes / 2e3);  // us at 2 GB/s
  const LatencyFit fit = fit_latency(points);
  EXPECT_NEAR(fit.latency_us, 7, 1e-6);
  EXPECT_NEAR(fit.gb_per_s, 2, 1e-6);
}

TEST(PixelsFit, NeedsTwoSizes) {
  EXPECT_EQ(fit_latency({}).gb_per_s, 0);
  EXPECT_EQ(fit_latency({{4, 1}}).gb_per_s, 0);
  EXPECT_EQ(fit_latency({{4, 1}, {4, 2}}).gb_per_s, 0);
}

TEST(PixelsRow, FiguresOfARow) {
  PixelsRow row{.bytes = 4'000'000};
  set_figures(row, {1000, 2000, 500});
  EXPECT_EQ(row.p50_us, 1000);
  EXPECT_EQ(row.p99_us, 2000);
  EXPECT_EQ(gb_per_s(row), 4);
  EXPECT_EQ(gpixels_per_s(row), 1);
  EXPECT_EQ(break_even_gb_per_s(row), 0);
  row.ratio = 0.5;
  row.compress_ns = 3;
  row.decompress_ns = 2;
  // 5 ns of work save half a byte, which takes as long at 0.1 GB/s.
  EXPECT_DOUBLE_EQ(break_even_gb_per_s(row), 0.1);
  EXPECT_DOUBLE_EQ(to_json(row).at("break_even_GBps").get<double>(), 0.1);
}

}  // namespace
