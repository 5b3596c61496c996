// All of the figures' assumed inputs, one at a time: minutes. figure_inputs_test.cpp has some of them.
#include "memnet/tests/figure_inputs.hpp"

#include <gtest/gtest.h>

namespace dcgn::memnet {
namespace {

TEST(FigureInputs, AllLeaveTheOrderingsAsTheyAre) {
  ChangedFigures figures;
  for (const InputChange& change : input_changes()) figures.expect_orderings(change);
}

// Otherwise what the list has could be misspelt.
TEST(FigureInputs, KnownPairsAreOrderingsAndInputs) {
  std::set<std::string> inputs;
  for (const InputChange& change : input_changes()) EXPECT_TRUE(inputs.insert(change.input).second) << change.input;
  for (const auto& known : orderings_known_to_turn()) EXPECT_TRUE(inputs.contains(known.second)) << known.second;
}

}  // namespace
}  // namespace dcgn::memnet
