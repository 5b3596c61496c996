// What ideas are worth, told by measurements that say what they are told to.
#include "core/bench/ablation.hpp"

#include <gtest/gtest.h>

#include <iterator>
#include <optional>
#include <vector>

using namespace dcgn::bench;

namespace {

// What was left out of each measurement, in order; and how slow the machine has become.
std::vector<std::optional<Idea>> asked;
double slower = 0;

Row measure_as_told(const Workload& work) {
  Row row = row_for(work, "latency", 0);
  asked.push_back(work.without);
  row.p50_us = (1 + slower * static_cast<double>(asked.size())) * (work.without == Idea::quick ? 1.5 : 1.0);
  row.wrong = work.without == Idea::quick;
  return row;
}

std::vector<Effect> ablate_with(double drift, const std::vector<Idea>& ideas, int repetitions) {
  asked.clear();
  slower = drift;
  return ablate(measure_as_told, {.path = Path::cpu_cpu}, ideas, repetitions);
}

TEST(Ablation, ComparesWithAllOnBeforeAndAfter) {
  const std::vector<Effect> effects = ablate_with(0, {Idea::quick, Idea::checks}, 3);
  ASSERT_EQ(effects.size(), 2u);
  EXPECT_EQ(effects[0].with.without, "");
  EXPECT_EQ(effects[0].without.without, "quick");
  EXPECT_EQ(effects[0].without.wrong, 3u) << "of all repetitions";
  EXPECT_DOUBLE_EQ(effects[0].factor, 1.5);
  EXPECT_DOUBLE_EQ(effects[1].factor, 1);
  EXPECT_DOUBLE_EQ(effects[1].most, 1);
  const std::vector<std::optional<Idea>> first = {std::nullopt, Idea::quick, Idea::checks, std::nullopt};
  EXPECT_EQ(std::vector(asked.begin(), asked.begin() + 4), first);
  EXPECT_EQ(asked[5], Idea::checks) << "the other way round";
}

TEST(Ablation, AMachineThatGrowsSlowerIsNoIdea) {
  for (const Effect& effect : ablate_with(0.1, {Idea::checks, Idea::bells, Idea::batches}, 2)) {
    EXPECT_NEAR(effect.least, 1, 1e-9);
    EXPECT_NEAR(effect.most, 1, 1e-9);
  }
}

TEST(Ablation, EveryIdeaCanBeLeftOut) {
  for (const Effect& effect : ablate(
           measure_latency, {.path = path_here(Path::slot_slot), .scope = {.kind = ScopeKind::thread}, .seconds = 1e-3},
           {std::begin(all_ideas), std::end(all_ideas)}, 1)) {
    EXPECT_EQ(effect.with.wrong + effect.without.wrong, 0u);
    EXPECT_GT(effect.factor, 0);
  }
}

}  // namespace
