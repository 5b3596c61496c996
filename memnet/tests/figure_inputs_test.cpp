// No constant is fitted to a figure: what the paper does not give may be a fifth more or less, and its orderings hold.
// Some of the inputs, drawn; long_figure_inputs_test.cpp has all.
#include "memnet/tests/figure_inputs.hpp"

#include "memnet/src/traffic.hpp"

#include "tests/sanitized.hpp"

#include <gtest/gtest.h>

namespace dcgn::memnet {
namespace {

TEST(FigureInputs, AFifthMoreOrLessLeavesTheOrderingsAsTheyAre) {
  if (dcgn::test::sanitized) GTEST_SKIP() << "whole figures, under a sanitizer";
  constexpr int seed = 2014;
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  std::vector<InputChange> of_system, of_workloads;
  for (InputChange& change : input_changes()) (change.system ? of_system : of_workloads).push_back(std::move(change));
  ChangedFigures figures;
  figures.expect_orderings(of_system[random.below(static_cast<int>(of_system.size()))]);
  for (int i = 0; i < 20; ++i) {
    const int drawn = random.below(static_cast<int>(of_workloads.size()));
    figures.expect_orderings(of_workloads[drawn]);
    of_workloads.erase(of_workloads.begin() + drawn);
  }
}

// What is remembered is what would be simulated again, and a change reaches the figures.
TEST(FigureInputs, RememberedKernelsAreThoseSimulated) {
  if (dcgn::test::sanitized) GTEST_SKIP() << "whole figures, under a sanitizer";
  InputChange change;
  change.workload = "CG.S";
  change.change = [](Workload& w) { w.read *= 1.2; };
  ChangedFigures figures;
  const std::vector<Figure> before = figures.figures({});
  const std::vector<Figure> once = figures.figures(change), again = figures.figures(change, false);
  ASSERT_EQ(once.size(), again.size());
  for (std::size_t f = 0; f < once.size(); ++f) {
    bool differs = false;
    ASSERT_EQ(once[f].rows.size(), again[f].rows.size());
    for (std::size_t r = 0; r < once[f].rows.size(); ++r) {
      EXPECT_EQ(once[f].rows[r].ours, again[f].rows[r].ours) << once[f].number << ' ' << once[f].rows[r].label;
      differs = differs || once[f].rows[r].ours != before[f].rows[r].ours;
    }
    EXPECT_EQ(differs, once[f].number >= 14 && once[f].number <= 17) << once[f].number;
  }
}

}  // namespace
}  // namespace dcgn::memnet
