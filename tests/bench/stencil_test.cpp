// Steps of stencils: what is checked would be found, and what is measured is right.
#include "stencil/bench/stencil.hpp"
#include "stencil/bench/jacobi.hpp"
#include "tests/expect.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

using namespace dcgn::bench;

namespace {

TEST(StencilRow, CountsTheBytesThatAStepNeeds) {
  StencilRow row{.equation = "jacobi", .size = {1000, 2000}};
  EXPECT_EQ(least_bytes(row), 16e6);
  row.equation = "cahn-hilliard";
  row.size = {10, 10, 10};
  EXPECT_EQ(least_bytes(row), 20e3);
  set_figures(row, {1.0, 2.0, 4.0}, 30);
  EXPECT_EQ(row.p50_us, 2);
  EXPECT_EQ(row.p99_us, 4);
  EXPECT_EQ(row.gb_per_s, 10);
}

TEST(StencilRow, ComesBackFromJson) {
  const StencilRow row{.whose = "a",
                       .equation = "jacobi",
                       .size = {3, 4},
                       .devices = 2,
                       .mode = "shift",
                       .note = "n",
                       .steps = 5,
                       .p50_us = 6,
                       .p99_us = 7,
                       .gb_per_s = 8,
                       .share = 0.5,
                       .efficiency = 0.75,
                       .wrong = 1};
  EXPECT_EQ(to_json(stencil_row_from(to_json(row))), to_json(row));
}

TEST(JacobiCheck, FindsEachWrongCellOfARow) {
  constexpr std::int64_t n = 9;
  constexpr int steps = 3;
  // The whole plane, in double precision: the first steps are exact.
  std::vector<double> now(n * n), next(n * n);
  for (std::int64_t i = 0; i < n * n; ++i) now[static_cast<std::size_t>(i)] = jacobi_start(i % n, i / n);
  const auto at = [&](std::int64_t x, std::int64_t y) {
    return now[static_cast<std::size_t>((y + n) % n * n + (x + n) % n)];
  };
  for (int s = 0; s < steps; ++s) {
    for (std::int64_t i = 0; i < n * n; ++i) {
      const std::int64_t x = i % n, y = i / n;
      next[static_cast<std::size_t>(i)] = (at(x - 1, y) + at(x + 1, y) + at(x, y - 1) + at(x, y + 1)) / 4;
    }
    now.swap(next);
  }
  for (const std::int64_t first : {0, 4, 7}) {
    std::vector<float> rows;
    for (std::int64_t i = first * n; i < (first + 2) * n; ++i)
      rows.push_back(static_cast<float>(now[static_cast<std::size_t>(i)]));
    EXPECT_EQ(count_wrong_jacobi(n, steps, first, 2, rows.data()), 0u) << first;
    EXPECT_GT(count_wrong_jacobi(n, steps + 1, first, 2, rows.data()), n) << first;
    rows[0] += 1e-3f;
    rows[n] += 1e-3f;
    EXPECT_EQ(count_wrong_jacobi(n, steps, first, 2, rows.data()), 2u) << first;
  }
}

TEST(Stencil, StepsOfAnyRanksAreThoseOfOne) {
  for (const StencilWork& work : {StencilWork{.equation = "jacobi", .size = {24, 40}, .devices = 3},
                                  StencilWork{.equation = "cahn-hilliard", .size = {20, 90}, .devices = 2},
                                  StencilWork{.equation = "cahn-hilliard", .size = {10, 12, 26}, .devices = 2}}) {
    StencilWork here = work;
    here.gpus = false;
    here.mode = dcgn::Mode::borders_first;
    here.steps = 20;
    const StencilRow row = measure_stencil(here);
    EXPECT_EQ(row.wrong, 0u) << work.equation;
    EXPECT_EQ(row.mode, "borders-first");
    EXPECT_EQ(row.steps, 20u);
    EXPECT_GT(row.p50_us, 0);
  }
}

TEST(Stencil, TheLargestFieldIsSoughtOnRealGpusAlone) {
  const auto error = dcgn::test::error_of([] {
    largest_size({.equation = "cahn-hilliard", .size = {1, 1}, .gpus = false}, 64);
  });
  EXPECT_EQ(error.code(), dcgn::Code::unsupported);
}

}  // namespace
