// The applications measured: ours, by jobs on emulated GPUs, and peers that are one line of a shell.
#include "bench/apps.hpp"
#include "tests/expect.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

using namespace dcgn::bench;
using dcgn::test::contains, dcgn::test::error_of;

namespace {

TEST(Apps, AreMeasuredAndChecked) {
  AppBench bench;
  for (const AppWork& work : {AppWork{.app = "nbody", .size = 64, .gpus = 2, .steps = 3},
                              AppWork{.app = "nbody", .size = 64, .gpus = 1, .steps = 2, .exchange = "all-gather"},
                              AppWork{.app = "cannon", .size = 20, .gpus = 1, .steps = 2},
                              AppWork{.app = "mandelbrot", .size = 30, .gpus = 2, .steps = 1, .iterations = 50}}) {
    SCOPED_TRACE(work.app);
    const AppRow row = bench.measure(work);
    EXPECT_EQ(row.app, work.app);
    EXPECT_EQ(row.size, work.size);
    EXPECT_EQ(row.gpus, work.gpus);
    EXPECT_EQ(row.steps, static_cast<unsigned>(work.steps));
    EXPECT_GT(row.p50_us, 0);
    EXPECT_GE(row.p99_us, row.p50_us);
    EXPECT_GT(row.figure, 0);
    EXPECT_EQ(row.wrong, 0u);
    EXPECT_GT(row.lines, 0);
  }
}

TEST(Apps, FiguresAreWhatIsDoneInASecond) {
  AppRow row;
  set_figures(row, {2e6, 1e6, 4e6}, interactions(100'000), interactions_unit);
  EXPECT_EQ(row.p50_us, 2e6);
  EXPECT_DOUBLE_EQ(row.figure, 5);
  EXPECT_DOUBLE_EQ(flop(1000), 2);
  EXPECT_DOUBLE_EQ(pixels(1000, 3000), 3);
}

TEST(Apps, NumbersOfGpusSuitTheApplication) {
  EXPECT_EQ(gpu_counts("nbody", 8), (std::vector{1, 2, 4, 8}));
  EXPECT_EQ(gpu_counts("mandelbrot", 3), (std::vector{1, 2}));
  EXPECT_EQ(gpu_counts("cannon", 9), (std::vector{1, 4, 9}));
}

TEST(Apps, RowsSurviveTheirJson) {
  const AppRow row{.whose = "a peer",
                   .app = "nbody",
                   .size = 7,
                   .gpus = 3,
                   .steps = 5,
                   .p50_us = 1.5,
                   .p99_us = 2.5,
                   .figure = 9,
                   .unit = "G interactions/s",
                   .efficiency = 0.5,
                   .wrong = 1,
                   .lines = 4};
  EXPECT_EQ(to_json(app_row_from(to_json(row))), to_json(row));
}

TEST(Apps, PeersThatAreNotThereAreNamed) {
  EXPECT_TRUE(contains(error_of([] { find_app_peer("ucx", "nbody"); }).what(), "--peers ucx: expected mpi or nccl"));
  EXPECT_FALSE(app_has_peer("nccl", "mandelbrot"));
  find_app_peer("nccl", "mandelbrot");  // there is none to be missed
}

}  // namespace
