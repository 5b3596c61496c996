// UGAL against the two that it chooses between.
#include "memnet/src/simulation.hpp"
#include "memnet/src/topologies.hpp"
#include "sanitized.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace dcgn::memnet {
namespace {

Parameters short_ugal_run(Routing routing) {
  Parameters parameters;
  parameters.stages = 3;
  parameters.message_classes = 1;
  parameters.vcs_per_class = 8;
  parameters.vc_buffer_bytes = 8 * parameters.flit_bytes;
  parameters.warmup_cycles = 1000;
  parameters.measure_cycles = 1000;
  parameters.routing = routing;
  return parameters;
}

// `share` of what the better of minimal and Valiant routes carries.
void expect_carries(const Topology& topology, Pattern pattern, double share) {
  Traffic traffic;
  traffic.pattern = pattern;
  constexpr double resolution = 0.03;
  double best = 0;
  for (const Routing routing : {Routing::minimal, Routing::valiant}) {
    best = std::max(best, find_saturation(topology, short_ugal_run(routing), traffic, resolution).rate);
  }
  const Result result = run_open_loop(topology, short_ugal_run(Routing::ugal), traffic, share * best);
  EXPECT_FALSE(result.saturated) << topology.name() << ", " << to_string(pattern) << " at " << share * best;
  EXPECT_LT(result.latency.mean, 3 * result.zero_load_latency) << topology.name() << ", " << to_string(pattern);
}

TEST(Ugal, CarriesWhatTheBetterOfMinimalAndValiantRoutesDoes) {
  const std::vector<Pattern> patterns = {Pattern::uniform, Pattern::tornado, Pattern::transpose,
                                         Pattern::bit_complement};
  for (const Pattern pattern : patterns) {
    expect_carries(torus({8, 8}), pattern, 0.95);
    if (test::sanitized) continue;
    expect_carries(mesh({8, 8}), pattern, 0.95);
    expect_carries(flattened_butterfly({4, 4}, 4, true), pattern, 0.95);
    // Its 72 nodes are no square; all of a group's packets to one other group are more than UGAL sees in time.
    if (pattern == Pattern::transpose) continue;
    expect_carries(dragonfly(2, 4, 2), pattern, pattern == Pattern::bit_complement ? 0.8 : 0.95);
  }
}

// Of a network that is all but idle no route is worth a detour.
void expect_minimal(const Topology& topology, const Traffic& traffic, double rate, Parameters parameters,
                    const std::vector<Routing>& routings) {
  parameters.warmup_cycles = 1000;
  parameters.measure_cycles = test::sanitized ? 2000 : 8000;
  parameters.routing = Routing::minimal;
  const double least = run_open_loop(topology, parameters, traffic, rate).latency.mean;
  for (const Routing routing : routings) {
    parameters.routing = routing;
    const double latency = run_open_loop(topology, parameters, traffic, rate).latency.mean;
    EXPECT_NEAR(latency, least, 0.01 * least)
        << topology.name() << ", " << to_string(routing) << ", packets of " << traffic.flits << " at " << rate;
  }
}

TEST(Ugal, IsMinimalWhereLittleIsOnItsWay) {
  for (const Topology& topology :
       {mesh({8, 8}), torus({8, 8}), flattened_butterfly({4, 4}, 4, true), dragonfly(2, 4, 2)}) {
    for (const int flits : {1, 5}) {
      Traffic traffic;
      traffic.flits = flits;
      for (const double rate : {0.01, 0.05}) {
        expect_minimal(topology, traffic, rate, short_ugal_run(Routing::ugal), {Routing::ugal});
        Parameters parameters = short_ugal_run(Routing::ugal);
        parameters.ugal_queues = UgalQueues::channel;
        if (rate < 0.02) expect_minimal(topology, traffic, rate, parameters, {Routing::ugal});
      }
    }
  }
}

// Longer routes under a load that minimal ones carry easily cost all of them.
TEST(Ugal, IsNearlyMinimalUnderUniformTraffic) {
  for (const Topology& topology :
       {mesh({8, 8}), torus({8, 8}), flattened_butterfly({4, 4}, 4, true), dragonfly(2, 4, 2)}) {
    const Result minimal = run_open_loop(topology, short_ugal_run(Routing::minimal), Traffic(), 0.2);
    const Result ugal = run_open_loop(topology, short_ugal_run(Routing::ugal), Traffic(), 0.2);
    EXPECT_LT(ugal.latency.mean, 1.03 * minimal.latency.mean) << topology.name();
  }
}

// GPUs with eight ports each, every one of which carries that load.
TEST(Ugal, IsMinimalIntoAMemoryNetworkWhereLittleIsOnItsWay) {
  for (const MemoryTopology kind :
       {MemoryTopology::flattened_butterfly, MemoryTopology::dragonfly, MemoryTopology::sliced_butterfly}) {
    MemoryNetwork shape;
    shape.kind = kind;
    const Topology topology = memory_network(shape);
    for (const int flits : {1, 5}) {
      Traffic traffic;
      traffic.sources = {0, 1, 2, 3};
      traffic.flits = flits;
      for (const double rate : {0.01, 0.05}) {
        expect_minimal(topology, traffic, 8 * rate, Parameters(), {Routing::adaptive, Routing::ugal});
      }
    }
  }
}

// What first channels tell does not reach as far: Singh's rule is kept for what a router knows by itself.
TEST(Ugal, KnowsLessByFirstChannels) {
  Traffic traffic;
  traffic.pattern = Pattern::tornado;
  Parameters parameters = short_ugal_run(Routing::ugal);
  const Result route = run_open_loop(torus({8, 8}), parameters, traffic, 0.33);
  parameters.ugal_queues = UgalQueues::channel;
  const Result channel = run_open_loop(torus({8, 8}), parameters, traffic, 0.33);
  EXPECT_FALSE(route.saturated);
  EXPECT_LT(route.latency.mean, channel.latency.mean);
}

}  // namespace
}  // namespace dcgn::memnet
