// Products against their definition, whatever the grid; and that the check finds what is wrong.
#include "apps/cannon/cannon.hpp"

#include "apps/cannon/matrix.hpp"
#include "tests/expect.hpp"
#include "tests/gpus.hpp"

#include <gtest/gtest.h>

#include <string>

using namespace dcgn;
using namespace dcgn::cannon;
using dcgn::test::contains, dcgn::test::error_of;

namespace {

Options small(int size, NodeShape nodes) { return {.size = size, .repeats = 2, .nodes = nodes}; }

std::vector<float> by_definition(int n) {
  std::vector<float> c;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      int sum = 0;
      for (int k = 0; k < n; ++k)
        sum += static_cast<int>(element(Which::a, n, i, k)) * static_cast<int>(element(Which::b, n, k, j));
      c.push_back(static_cast<float>(sum));
    }
  return c;
}

class Cannon : public testing::TestWithParam<NodeShape> {};

TEST_P(Cannon, IsTheProduct) {
  const NodeShape& nodes = GetParam();
  DCGN_SKIP_WITHOUT_GPUS(nodes);
  for (const int size : {5, 70}) {
    const Outcome outcome = run(small(size, nodes));
    EXPECT_EQ(outcome.c, by_definition(size)) << size;
    EXPECT_EQ(outcome.product_s.size(), 2u);
    EXPECT_GT(outcome.flop_per_s(size), 0);
  }
}

std::string case_name(const testing::TestParamInfo<NodeShape>& info) {
  const NodeShape& n = info.param;
  return "cpus" + std::to_string(n.cpus) + "_gpus" + std::to_string(n.gpus) + "_slots" + std::to_string(n.slots) +
         "_nodes" + std::to_string(n.count);
}

INSTANTIATE_TEST_SUITE_P(Grids, Cannon,
                         testing::Values(NodeShape{.cpus = 1}, NodeShape{.cpus = 9},
                                         NodeShape{.cpus = 0, .gpus = 1, .slots = 4},
                                         NodeShape{.cpus = 2, .gpus = 1, .slots = 3},
                                         NodeShape{.cpus = 1, .gpus = 1, .slots = 1, .count = 2}),
                         case_name);

TEST(CannonTiles, OfEveryWidthAreRight) {
  // One slot: the wider tiles where one block has enough of them, the narrower ones where four have not.
  for (const auto& [size, blocks] : {std::pair{130, 1}, std::pair{70, 2}, std::pair{33, 4}, std::pair{65, 9}}) {
    Options o = small(size, {.cpus = 0, .gpus = 1, .slots = 1});
    o.blocks = blocks;
    o.repeats = 1;
    EXPECT_EQ(run(o).c, by_definition(size)) << size << ", " << blocks << " blocks";
  }
}

TEST(CannonCheck, FindsAWrongElement) {
  std::vector<float> c = by_definition(40);
  EXPECT_EQ(count_wrong(40, c), 0);
  c[40 * 7 + 3] += 1;
  EXPECT_EQ(count_wrong(40, c), 1);
  c[40 * 9 + 1] = 0.5f;
  EXPECT_EQ(count_wrong(40, c), 2);
}

TEST(CannonOptions, MistakesAreNamed) {
  EXPECT_EQ(grid_of({.cpus = 8}), 2);
  EXPECT_EQ(grid_of({.cpus = 0, .gpus = 3, .slots = 3}), 3);
  EXPECT_TRUE(contains(error_of([] { validate(small(0, {.cpus = 1})); }).what(), "the size is 0, expected 1.."));
  EXPECT_TRUE(contains(error_of([] { validate(small(2, {.cpus = 9})); }).what(), "size 2 for a grid of 3 x 3 ranks"));
}

}  // namespace
