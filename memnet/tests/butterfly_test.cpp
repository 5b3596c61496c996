// k-ary n-flies: channels of one direction, one route between any two nodes, a digit of the destination each stage.
#include "memnet/src/bisection.hpp"
#include "memnet/src/config.hpp"
#include "memnet/src/report.hpp"
#include "memnet/src/routing.hpp"
#include "memnet/src/simulation.hpp"
#include "memnet/src/topologies.hpp"

#include "tests/expect.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <string>
#include <vector>

namespace dcgn::memnet {
namespace {

using test::contains;
using test::error_of;

// The public simulator's configuration: 3 stages, 8 VCs of 8 flits.
Parameters fly_parameters(Routing routing = Routing::minimal) {
  Parameters parameters;
  parameters.stages = 3;
  parameters.message_classes = 1;
  parameters.vcs_per_class = 8;
  parameters.vc_buffer_bytes = 8 * parameters.flit_bytes;
  parameters.routing = routing;
  return parameters;
}

// Traffic that sends all of node t to to(t).
template <class To>
Traffic permutation(int nodes, To&& to) {
  Traffic traffic;
  traffic.pattern = Pattern::matrix;
  traffic.weights.assign(static_cast<std::size_t>(nodes) * nodes, 0);
  for (int t = 0; t < nodes; ++t) traffic.weights[static_cast<std::size_t>(t) * nodes + to(t)] = 1;
  return traffic;
}

TEST(Butterfly, HasStagesOfSwitchesAndChannelsForward) {
  for (const auto& [k, n, nodes] :
       {std::array{2, 3, 8}, std::array{4, 3, 64}, std::array{3, 2, 9}, std::array{5, 1, 5}}) {
    SCOPED_TRACE(std::to_string(k) + "-ary " + std::to_string(n) + "-fly");
    const Topology topology = butterfly(k, n);
    topology.validate();
    EXPECT_EQ(topology.one_way(), n > 1);
    const TopologySummary summary = summarize(topology);
    EXPECT_EQ(summary.terminals, nodes);
    EXPECT_EQ(summary.routers, n * nodes / k);
    EXPECT_EQ(summary.channels, (n - 1) * nodes);
    EXPECT_EQ(summary.largest_radix, k);
    EXPECT_EQ(summary.diameter, n - 1);
    EXPECT_DOUBLE_EQ(summary.mean_hops, n);
    for (const auto& out : topology.outputs()) EXPECT_TRUE(out.size() == static_cast<std::size_t>(k) || out.empty());
  }
  // Halves by a digit of the destination: half the channels of one stage, a quarter each way.
  EXPECT_EQ(bisection(butterfly(2, 3)).channels, 4);
  EXPECT_DOUBLE_EQ(bisection(butterfly(2, 3)).flits, 2);
}

TEST(Butterfly, EachStageSetsADigitOfTheDestination) {
  const int k = 3, n = 4, row = 27;
  const Topology topology = butterfly(k, n);
  const RouteTable routes(topology, fly_parameters());
  for (int from = 0; from < row; ++from) {
    for (int to = 0; to < row; ++to) {
      RouteState state = routes.start(-1, false);
      int router = from;
      const int target = (n - 1) * row + to;
      ASSERT_EQ(routes.distance(from, target), n - 1);
      for (int stage = 0, stride = row / k; stage + 1 < n; ++stage, stride /= k) {
        const Hop hop = routes.next(router, target, state);
        ASSERT_EQ(hop.count, 1);
        const Channel& channel = topology.channels()[hop.channels[0]];
        ASSERT_FALSE(channel.missing);
        router = channel.to;
        EXPECT_EQ(router / row, stage + 1);
        EXPECT_EQ(router % row / stride % k, to / stride % k);
      }
      EXPECT_EQ(router, target);
      if (from != to) {
        EXPECT_EQ(routes.distance(target, from), -1);
      }
    }
  }
}

TEST(Butterfly, TakesAloneWhatItsStagesTake) {
  for (const int n : {1, 2, 3, 5}) {
    Network network(butterfly(2, n, 3), fly_parameters());
    const int last = static_cast<int>(network.topology().terminals().size()) - 1;
    for (const int flits : {1, 5}) {
      network.inject({.source = 0, .destination = last, .message_class = 0, .flits = flits});
      while (!network.idle()) network.step();
      ASSERT_EQ(network.deliveries().size(), 1U);
      const Delivery& one = network.deliveries().front();
      EXPECT_EQ(one.delivered - one.created, 2 + 4 * n + 3 * (n - 1) + flits - 1);
      EXPECT_EQ(one.delivered - one.created, network.zero_load_latency(0, last, flits));
      EXPECT_EQ(one.hops, n);
      network.clear_deliveries();
    }
    network.advance(network.now() + 100);
    network.check_conservation();
  }
}

TEST(Butterfly, HasTheLatencyOfThePublicSimulator) {
  const Topology topology = butterfly(4, 3);
  const auto latency = [&](double rate) {
    return run_open_loop(topology, fly_parameters(), Traffic(), rate).latency.mean;
  };
  EXPECT_NEAR(latency(0.2), 14.39, 0.01 * 14.39);
  EXPECT_NEAR(latency(0.4), 15.60, 0.01 * 15.60);
  EXPECT_NEAR(latency(0.6), 22.14, 0.02 * 22.14);
  EXPECT_NEAR(latency(0.65), 28.80, 0.03 * 28.80);
}

// The last digit becomes the first, and no two nodes share a channel: any load is carried as if each packet were alone.
TEST(Butterfly, CarriesARotationOfDigitsAtFullLoad) {
  const Traffic shuffled = permutation(64, [](int t) { return t % 4 * 16 + t / 4; });
  const Result result = run_open_loop(butterfly(4, 3), fly_parameters(), shuffled, 1);
  EXPECT_FALSE(result.saturated);
  EXPECT_DOUBLE_EQ(result.accepted, 1);
  EXPECT_EQ(result.latency.max, 14);
}

// All k nodes of a switch send to one switch of the last stage: they share a channel.
TEST(Butterfly, CarriesAKthWhereASwitchSendsToOne) {
  for (const int k : {2, 4}) {
    Traffic traffic;
    traffic.pattern = Pattern::bit_complement;
    const Topology topology = butterfly(k, 3);
    EXPECT_FALSE(run_open_loop(topology, fly_parameters(), traffic, 0.97 / k).saturated);
    const Result over = run_open_loop(topology, fly_parameters(), traffic, 1.1 / k);
    EXPECT_TRUE(over.saturated);
    EXPECT_NEAR(over.accepted, 1.0 / k, 0.001);
  }
}

// There is no other way: the other algorithms find none, and nothing is carried or paid for backwards.
TEST(Butterfly, HasOneWayWhateverTheRouting) {
  const Topology topology = butterfly(2, 4);
  for (const Routing routing : {Routing::minimal, Routing::valiant, Routing::ugal, Routing::adaptive}) {
    const Parameters parameters = fly_parameters(routing);
    const Result result = run_open_loop(topology, parameters, Traffic(), 0.3);
    EXPECT_DOUBLE_EQ(result.hops, 4);
    for (std::size_t c = 0; c < result.channel_load.size(); ++c) {
      if (topology.channels()[c].missing) {
        EXPECT_EQ(result.channel_load[c], 0);
      }
    }
    // 48 channels, 16 in and 16 out.
    const double slots = 80 * static_cast<double>(result.measured_cycles) * 8 * parameters.flit_bytes;
    const double idle = result.energy.idle_pj / parameters.idle_pj_per_bit;
    EXPECT_NEAR(idle + result.energy.active_pj / parameters.active_pj_per_bit, slots, 1e-6 * slots);
  }
}

TEST(Butterfly, IsConfiguredByItsDigits) {
  const auto parse = [](const std::string& keys) {
    return parse_configuration("[topology]\nkind = \"butterfly\"\n" + keys, "fly.toml");
  };
  EXPECT_EQ(parse("arity = 3\nlevels = 3\n").topology.terminals().size(), 27U);
  EXPECT_EQ(parse_configuration(configuration_of("butterfly:4,2"), "fly").topology.channels().size(), 32U);
  const auto error = [&](const std::string& keys) { return std::string(error_of([&] { parse(keys); }).what()); };
  EXPECT_TRUE(contains(error("arity = 1\n"), "topology.arity = 1: expected a whole number from 2 to 64"));
  EXPECT_TRUE(contains(error("levels = 0\n"), "topology.levels = 0: expected a whole number from 1 to 16"));
  EXPECT_TRUE(contains(error("arity = 8\nlevels = 6\n"), "8-ary 6-fly has more than 10000 routers"));
  EXPECT_TRUE(contains(error("arity = 2\nlevels = 2\nfailed = [[0, 2]]\n"), "node 0 cannot be reached from node 0"));
  EXPECT_TRUE(contains(error_of([] { butterfly(1, 2); }).what(), "arity is 1, expected 2 or more"));
  EXPECT_TRUE(contains(error_of([] { butterfly(2, 0); }).what(), "levels is 0, expected 1 or more"));
  EXPECT_TRUE(contains(error_of([] { butterfly(65, 2); }).what(), "65 ports a router, expected at most 64"));
}

}  // namespace
}  // namespace dcgn::memnet
