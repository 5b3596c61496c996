// Open-loop runs against published figures and bounds.
#include "memnet/src/simulation.hpp"

#include "expect.hpp"
#include "memnet/src/topologies.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <string>
#include <vector>

namespace dcgn::memnet {
namespace {

using test::contains;
using test::error_of;

// The public simulator's example configurations: 3 stages, one class of 8 VCs.
Parameters published(int flits_per_vc) {
  Parameters parameters;
  parameters.stages = 3;
  parameters.message_classes = 1;
  parameters.vcs_per_class = 8;
  parameters.vc_buffer_bytes = flits_per_vc * parameters.flit_bytes;
  return parameters;
}

double latency(const Topology& topology, const Parameters& parameters, double rate) {
  return run_open_loop(topology, parameters, Traffic(), rate).latency.mean;
}

TEST(OpenLoop, AgreesWithThePublicSimulatorOnAMesh) {
  const Topology topology = mesh({8, 8});
  EXPECT_NEAR(latency(topology, published(8), 0.20), 27.8, 0.02 * 27.8);
  EXPECT_NEAR(latency(topology, published(8), 0.36), 32.0, 0.04 * 32.0);
  EXPECT_NEAR(latency(topology, published(8), 0.40), 38.3, 0.04 * 38.3);
}

TEST(OpenLoop, AgreesWithThePublicSimulatorOnAFlattenedButterfly) {
  const Topology topology = flattened_butterfly({4, 4}, 4, true);
  EXPECT_NEAR(latency(topology, published(4), 0.4), 17.1, 0.02 * 17.1);
  EXPECT_NEAR(latency(topology, published(4), 0.6), 24.0, 0.02 * 24.0);
}

// Near saturation the latency says little and its rate much: 57 cycles belong to 0.42 flits per node and cycle.
TEST(OpenLoop, SaturatesWhereThePublicSimulatorDoes) {
  Parameters parameters = published(8);
  parameters.measure_cycles = 6000;
  const Topology topology = mesh({8, 8});
  EXPECT_LT(latency(topology, parameters, 0.42 * 0.96), 57);
  EXPECT_GT(latency(topology, parameters, 0.42 * 1.04), 57);
}

TEST(OpenLoop, RepeatsWithItsSeedAndNotWithAnother) {
  Parameters parameters;
  parameters.measure_cycles = 500;
  const Result first = run_open_loop(mesh({4, 4}), parameters, Traffic(), 0.2);
  const Result again = run_open_loop(mesh({4, 4}), parameters, Traffic(), 0.2);
  parameters.seed = 2;
  const Result other = run_open_loop(mesh({4, 4}), parameters, Traffic(), 0.2);
  EXPECT_EQ(first.latency.mean, again.latency.mean);
  EXPECT_EQ(first.channel_load, again.channel_load);
  EXPECT_EQ(first.flit_hops, again.flit_hops);
  EXPECT_NE(first.channel_load, other.channel_load);
}

TEST(OpenLoop, MarksARunPastSaturation) {
  Parameters parameters = published(8);
  parameters.measure_cycles = 1500;
  const Result result = run_open_loop(mesh({8, 8}), parameters, Traffic(), 0.7);
  EXPECT_TRUE(result.saturated);
  EXPECT_LT(result.accepted, 0.5);
  EXPECT_NEAR(result.offered, 0.7, 0.02);
}

// Half of uniform traffic crosses the middle, over as many channels each way as the middle has.
TEST(OpenLoop, AcceptsNoMoreThanTheBisectionCarries) {
  Parameters parameters;
  parameters.measure_cycles = 1500;
  struct Case {
    Topology topology;
    double channels;  // over the middle, one way
  };
  for (const Case& c : {Case{mesh({4, 4}), 4}, Case{torus({4, 4}), 8}, Case{mesh({6, 2}), 2}}) {
    const double nodes = static_cast<double>(c.topology.terminals().size());
    const double bound = c.channels / (nodes / 4);
    const Result result = run_open_loop(c.topology, parameters, Traffic(), std::min(1.0, bound * 1.3));
    EXPECT_LE(result.accepted, bound * 1.02) << c.topology.name();
    for (const double load : result.channel_load) EXPECT_LE(load, 1.0);
    for (const double load : result.ejection_load) EXPECT_LE(load, 1.0);
  }
}

TEST(OpenLoop, SpendsTheEnergyOfItsChannels) {
  Parameters parameters;
  parameters.measure_cycles = 1000;
  for (const Topology& topology : {mesh({4, 4}), memory_network({})}) {
    const Result result = run_open_loop(topology, parameters, Traffic(), 0.1);
    double carried = 0;
    double channels = 0;
    for (const double load : result.channel_load) {
      carried += load;
      channels += 1;
    }
    std::size_t port = 0;
    for (const Terminal& terminal : topology.terminals()) {
      for (std::size_t p = 0; p < terminal.ports.size(); ++p, ++port) {
        if (terminal.kind == TerminalKind::hmc) continue;
        carried += result.injection_load[port] + result.ejection_load[port];
        channels += 2;
      }
    }
    const double bits = 1000.0 * 128;
    EXPECT_NEAR(result.energy.active_pj, carried * bits * 2.0, 1e-6 * result.energy.active_pj);
    EXPECT_NEAR(result.energy.idle_pj, (channels - carried) * bits * 1.5, 1e-6 * result.energy.idle_pj);
    EXPECT_NEAR(result.energy.active_pj + result.energy.idle_pj, result.energy.capacity_pj,
                1e-9 * result.energy.capacity_pj);
  }
}

TEST(OpenLoop, LoadsTheChannelsThatAPatternUses) {
  Parameters parameters;
  parameters.measure_cycles = 4000;
  Traffic traffic;
  traffic.pattern = Pattern::neighbour;
  const Topology topology = torus({4, 4});
  const Result result = run_open_loop(topology, parameters, traffic, 0.3);
  EXPECT_NEAR(result.hops, 3, 1e-9);
  for (std::size_t c = 0; c < topology.channels().size(); ++c) {
    const auto& from = topology.routers()[topology.channels()[c].from].coordinates;
    const auto& to = topology.routers()[topology.channels()[c].to].coordinates;
    const bool up = (from[0] + 1) % 4 == to[0] || (from[1] + 1) % 4 == to[1];
    EXPECT_NEAR(result.channel_load[c], up ? 0.3 : 0, 0.05);
  }
}

TEST(OpenLoop, SeesBothRequestsAndTheirSizes) {
  Parameters parameters;
  parameters.measure_cycles = 3000;
  Traffic traffic;
  traffic.flits = 5;
  traffic.message_class = 1;
  const Result result = run_open_loop(mesh({4, 4}), parameters, traffic, 0.1);
  EXPECT_NEAR(result.accepted, 0.1, 0.01);
  ASSERT_EQ(result.by_class.size(), 2U);
  EXPECT_EQ(result.by_class[0].packets, 0);
  EXPECT_EQ(result.by_class[1].packets, result.latency.packets);
  EXPECT_GT(result.latency.mean, 2 + 5 * 3.5 + 4);
  EXPECT_LE(result.latency.p50, result.latency.p99);
  EXPECT_LE(result.latency.p99, result.latency.max);
}

TEST(FindSaturation, IsBetweenTheLoadsThatWorkAndThoseThatDoNot) {
  Parameters parameters = published(8);
  parameters.measure_cycles = 1500;
  const Saturation saturation = find_saturation(mesh({4, 4}), parameters, Traffic(), 0.02);
  EXPECT_GT(saturation.rate, 0.5);
  EXPECT_LT(saturation.rate, 0.95);
  EXPECT_NEAR(saturation.latency_at_zero, 2 + 4 * 3.5, 1.5);
}

// Flows that all want one channel: minimal routes share it, others go round.
TEST(OpenLoop, GoesRoundAFullChannelByUgal) {
  Parameters parameters;
  parameters.message_classes = 1;
  parameters.vcs_per_class = 8;
  parameters.measure_cycles = 2000;
  const Topology topology = flattened_butterfly({6}, 4);
  Traffic traffic;
  traffic.pattern = Pattern::matrix;
  traffic.weights.assign(24 * 24, 0);
  for (int node = 0; node < 24; ++node) traffic.weights[node * 24 + (node + 4) % 24] = 1;
  // Four nodes share the one channel to the next router: a quarter flit each.
  const Result minimal = run_open_loop(topology, parameters, traffic, 0.4);
  EXPECT_TRUE(minimal.saturated);
  EXPECT_NEAR(minimal.accepted, 0.25, 0.01);
  parameters.routing = Routing::ugal;
  const Result balanced = run_open_loop(topology, parameters, traffic, 0.4);
  EXPECT_FALSE(balanced.saturated);
  EXPECT_NEAR(balanced.accepted, 0.4, 0.01);
}

// One GPU to one remote HMC: a minimal route has the one channel of the HMC's slice, others come over the other HMCs of
// either cluster.
TEST(OpenLoop, SpreadsOverLocalHmcsWhereRoutingIsAdaptive) {
  MemoryNetwork shape;
  shape.kind = MemoryTopology::flattened_butterfly;
  const Topology topology = memory_network(shape);
  const std::size_t count = topology.terminals().size();
  Traffic traffic;
  traffic.pattern = Pattern::matrix;
  traffic.sources = {0};
  traffic.weights.assign(count * count, 0);
  traffic.weights[4 + 9] = 1;
  Parameters parameters;
  parameters.measure_cycles = 2000;
  const Result minimal = run_open_loop(topology, parameters, traffic, 1.5);
  EXPECT_TRUE(minimal.saturated);
  EXPECT_NEAR(minimal.accepted, 1.0, 0.02);
  for (const Routing routing : {Routing::adaptive, Routing::ugal}) {
    parameters.routing = routing;
    const Result spread = run_open_loop(topology, parameters, traffic, 1.5);
    EXPECT_FALSE(spread.saturated) << to_string(routing);
    EXPECT_NEAR(spread.accepted, 1.5, 0.05) << to_string(routing);
  }
}

TEST(OpenLoop, UsesBothOfTwoParallelChannels) {
  MemoryNetwork shape;
  shape.kind = MemoryTopology::sliced_mesh_2x;
  const Topology topology = memory_network(shape);
  Parameters parameters;
  parameters.measure_cycles = 3000;
  const Result result = run_open_loop(topology, parameters, Traffic(), 1.0);
  for (std::size_t c = 0; c + 2 < topology.channels().size(); c += 4) {
    ASSERT_EQ(topology.channels()[c].to, topology.channels()[c + 2].to);
    EXPECT_GT(result.channel_load[c], 0.1);
    EXPECT_NEAR(result.channel_load[c], result.channel_load[c + 2], 0.25 * result.channel_load[c]);
  }
}

TEST(Destinations, DrawWhatAPatternSays) {
  const Topology topology = mesh({4, 4});
  const auto draw = [&](Pattern pattern, int source) {
    Traffic traffic;
    traffic.pattern = pattern;
    Random random(1);
    return Destinations(topology, traffic).draw(source, random);
  };
  EXPECT_EQ(draw(Pattern::transpose, 1), 4);
  EXPECT_EQ(draw(Pattern::bit_complement, 3), 12);
  EXPECT_EQ(draw(Pattern::tornado, 0), 1 + 4);
  EXPECT_EQ(draw(Pattern::neighbour, 15), 0);
  Traffic traffic;
  traffic.pattern = Pattern::matrix;
  traffic.weights.assign(256, 0);
  traffic.weights[2 * 16 + 5] = 1;
  traffic.weights[2 * 16 + 9] = 3;
  const Destinations matrix(topology, traffic);
  EXPECT_DOUBLE_EQ(matrix.share(2, 9), 0.75);
  Random random(5);
  int nines = 0;
  for (int i = 0; i < 4000; ++i) nines += matrix.draw(2, random) == 9 ? 1 : 0;
  EXPECT_NEAR(nines, 3000, 150);
  EXPECT_EQ(matrix.draw(3, random), -1);
  traffic.pattern = Pattern::hotspot;
  EXPECT_TRUE(contains(error_of([&] { Destinations(topology, traffic); }).what(), "hotspots is empty"));
  traffic.hotspots = {7};
  traffic.hotspot_fraction = 0.5;
  EXPECT_DOUBLE_EQ(Destinations(topology, traffic).share(0, 7), 0.5 + 0.5 / 16);
}

TEST(Summary, HasNearestRanks) {
  std::vector<std::int64_t> samples(100);
  std::iota(samples.rbegin(), samples.rend(), 1);
  const LatencySummary summary = summarize(samples);
  EXPECT_EQ(summary.packets, 100);
  EXPECT_DOUBLE_EQ(summary.mean, 50.5);
  EXPECT_DOUBLE_EQ(summary.p50, 50);
  EXPECT_DOUBLE_EQ(summary.p99, 99);
  EXPECT_DOUBLE_EQ(summary.max, 100);
}

}  // namespace
}  // namespace dcgn::memnet
