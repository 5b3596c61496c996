// The whole job against a direct reference, whatever the ranks and the exchange; the pieces against their definitions.
#include "apps/nbody/nbody.hpp"

#include "apps/nbody/initial.hpp"
#include "apps/nbody/picture.hpp"
#include "tests/expect.hpp"
#include "tests/gpus.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>

using namespace dcgn;
using namespace dcgn::nbody;
using dcgn::test::contains, dcgn::test::error_of;

namespace {

Options small(NodeShape nodes, Exchange exchange = Exchange::all_gather) {
  Options o;
  o.bodies = 149;  // a prime: parts differ
  o.steps = 5;
  o.every = 2;
  o.start = Start::plummer;
  o.dt = 0.02f;
  o.softening = 0.05f;
  o.exchange = exchange;
  o.nodes = nodes;
  o.threads = 32;
  return o;
}

class Nbody : public testing::TestWithParam<std::tuple<Exchange, NodeShape>> {};

TEST_P(Nbody, MovesAllBodiesAsTheReferenceDoes) {
  const auto [exchange, nodes] = GetParam();
  DCGN_SKIP_WITHOUT_GPUS(nodes);
  const Options o = small(nodes, exchange);
  const Outcome outcome = run(o);
  EXPECT_EQ(count_wrong(outcome.film.back(), reference(o), 1e-5), 0);
  EXPECT_EQ(outcome.film_steps, (std::vector{0, 2, 4, 5}));
  EXPECT_EQ(outcome.film.size(), 4u);
  EXPECT_EQ(outcome.energies.size(), 4u);
  EXPECT_EQ(outcome.step_s.size(), 5u);
  EXPECT_GT(count_wrong(outcome.film.front(), outcome.film.back(), 1e-3), 100) << "nothing moved";
  EXPECT_EQ(outcome.stale, 0);
  EXPECT_LT(outcome.drift(), 5e-4);
  int bodies = 0;
  for (const RankWork& w : outcome.ranks) {
    bodies += w.bodies;
    EXPECT_GT(w.compute_s, 0);
  }
  EXPECT_EQ(bodies, o.bodies);
}

std::string case_name(const testing::TestParamInfo<std::tuple<Exchange, NodeShape>>& info) {
  const auto& [exchange, n] = info.param;
  std::string name = name_of(exchange);
  std::erase(name, '-');
  return name + "_cpus" + std::to_string(n.cpus) + "_gpus" + std::to_string(n.gpus) + "_slots" +
         std::to_string(n.slots) + "_nodes" + std::to_string(n.count);
}

INSTANTIATE_TEST_SUITE_P(Shapes, Nbody,
                         testing::Combine(testing::Values(Exchange::broadcast, Exchange::all_gather),
                                          testing::Values(NodeShape{.cpus = 1}, NodeShape{.cpus = 3},
                                                          NodeShape{.cpus = 0, .gpus = 1, .slots = 3},
                                                          NodeShape{.cpus = 2, .gpus = 1, .slots = 2},
                                                          NodeShape{.cpus = 1, .gpus = 1, .slots = 3, .count = 2})),
                         case_name);

TEST(NbodyRanks, ChangeNothingButRounding) {
  DCGN_SKIP_WITHOUT_GPUS(NodeShape{.gpus = 2});
  const std::vector<Body> alone = run(small({.cpus = 1})).film.back();
  for (const NodeShape& nodes : {NodeShape{.cpus = 4}, NodeShape{.cpus = 0, .gpus = 2, .slots = 4}})
    EXPECT_EQ(count_wrong(run(small(nodes)).film.back(), alone, 2e-6), 0);
}

TEST(NbodyRanks, SlotsOfSeveralBlocksAndPartsThatAreAlike) {
  Options o = small({.cpus = 1, .gpus = 1, .slots = 2}, Exchange::all_gather);
  o.bodies = 150;
  o.blocks = 2;
  EXPECT_EQ(count_wrong(run(o).film.back(), reference(o), 1e-5), 0);
}

TEST(NbodyRanks, PartsFollowWhatRanksCanDo) {
  Options o = small({.cpus = 1, .gpus = 1, .slots = 2});
  o.balance = Balance::measured;
  EXPECT_EQ(count_wrong(run(o).film.back(), reference(o), 1e-5), 0);
  const Partition partition(100, {1, 2, 0, 1});
  EXPECT_EQ(partition.numbers(), (std::vector<std::int64_t>{25, 50, 0, 25, 0, 25, 75, 75}));
  EXPECT_FALSE(partition.parts().alike);
  EXPECT_TRUE(Partition(90, {1, 1, 1}).parts().alike);
}

TEST(NbodyStart, IsAtRestAsAWholeAndOfMassOne) {
  for (const System& s : {plummer(1000), discs(1001)}) {
    double mass = 0, x = 0, vy = 0;
    for (std::size_t i = 0; i < s.bodies.size(); ++i) {
      mass += s.bodies[i].mass;
      x += s.bodies[i].mass * s.bodies[i].x;
      vy += s.bodies[i].mass * s.velocities[i].y;
    }
    EXPECT_NEAR(mass, 1, 1e-5);
    EXPECT_NEAR(x, 0, 1e-5);
    EXPECT_NEAR(vy, 0, 1e-5);
  }
  EXPECT_EQ(plummer(10).bodies[7].x, plummer(10).bodies[7].x);
}

// In equilibrium twice the kinetic energy is the potential one with the other sign.
TEST(NbodyStart, PlummersSphereIsInEquilibrium) {
  Options o = small({.cpus = 1});
  o.bodies = 2000;
  o.steps = 1;
  o.every = 1;
  o.softening = 1e-3f;
  const Energy e = run(o).energies.front();
  EXPECT_NEAR(-2 * e.kinetic / e.potential, 1, 0.1);
  EXPECT_NEAR(e.potential, -3 * 3.14159 / 32, 0.03);
}

TEST(NbodyOptions, MistakesAreNamed) {
  const auto refused = [](auto change) {
    Options o = small({.cpus = 2});
    change(o);
    return std::string(error_of([&] { validate(o); }).what());
  };
  EXPECT_TRUE(contains(refused([](Options& o) { o.bodies = 0; }), "the number of bodies is 0, expected 1.."));
  EXPECT_TRUE(contains(refused([](Options& o) { o.bodies = 1; }), "1 bodies for 2 ranks"));
  EXPECT_TRUE(contains(refused([](Options& o) { o.softening = 0; }), "the softening is 0"));
  EXPECT_TRUE(contains(refused([](Options& o) { o.dt = -1; }), "the time step is -1"));
  EXPECT_TRUE(contains(refused([](Options& o) { o.threads = 48; }), "48 threads"));
  EXPECT_TRUE(contains(refused([](Options& o) { o.blocks = -2; }), "the number of blocks of a slot is -2"));
  EXPECT_TRUE(contains(refused([](Options& o) { o.every = 1, o.bodies = o.steps = 1 << 20; }), "more than 4 GiB"));
}

TEST(NbodyPicture, ShowsBodiesWhereTheyAre) {
  const image::Image picture = nbody::picture({{-1, 0.5f, 9, 0.5f}, {1, -0.5f, 0, 0.5f}}, 40, 20, 1.0);
  EXPECT_EQ(picture.width(), 40);
  const image::Colour blue = picture.at(10, 5), amber = picture.at(30, 15), dark = picture.at(20, 2);
  EXPECT_GT(blue.b, blue.r);
  EXPECT_GT(amber.r, amber.b);
  EXPECT_LT(dark.r, 40);
}

}  // namespace
