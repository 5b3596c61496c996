// Routes, against breadth-first search.
#include "memnet/src/routing.hpp"

#include "distances.hpp"
#include "memnet/src/topologies.hpp"
#include "memnet/src/traffic.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace dcgn::memnet {
namespace {

std::vector<Topology> grids() {
  std::vector<Topology> result;
  result.push_back(mesh({4, 3}));
  result.push_back(mesh({3, 2, 4}));
  result.push_back(torus({5, 4}));
  result.push_back(flattened_butterfly({4, 3}, 2));
  for (const MemoryTopology kind : {MemoryTopology::flattened_butterfly, MemoryTopology::sliced_butterfly,
                                    MemoryTopology::sliced_mesh, MemoryTopology::sliced_torus_2x}) {
    MemoryNetwork network;
    network.kind = kind;
    network.gpus = 8;
    network.channels_per_hmc = 0;
    result.push_back(memory_network(network));
  }
  return result;
}

// Follows a route; the routers on it, both ends included.
std::vector<int> route(const Topology& topology, const RouteTable& routes, int from, int to, RouteState state) {
  std::vector<int> routers(1, from);
  while (routers.size() < 100 && (routers.back() != to || state.intermediate >= 0)) {
    if (routers.back() == to && state.intermediate == to) break;
    const Hop hop = routes.next(routers.back(), to, state);
    EXPECT_GE(hop.count, 1);
    EXPECT_LT(hop.vc_class, routes.vc_classes());
    EXPECT_NE(routes.vc_mask(hop.vc_class), 0U);
    const int next = topology.channels()[hop.channels[0]].to;
    for (int i = 0; i < hop.count; ++i) {
      EXPECT_EQ(topology.channels()[hop.channels[i]].from, routers.back());
      EXPECT_EQ(topology.channels()[hop.channels[i]].to, next);
    }
    routers.push_back(next);
  }
  return routers;
}

TEST(RouteTable, TakesShortestPathsOnGrids) {
  for (const Topology& topology : grids()) {
    const RouteTable routes(topology, Parameters());
    const int count = static_cast<int>(topology.routers().size());
    for (int from = 0; from < count; ++from) {
      const std::vector<int> expected = distances_from(topology, from);
      for (int to = 0; to < count; ++to) {
        ASSERT_EQ(routes.distance(from, to), expected[to]) << topology.name() << ": " << from << " to " << to;
        if (expected[to] < 0) continue;
        const auto taken = route(topology, routes, from, to, routes.start(-1, false));
        ASSERT_EQ(static_cast<int>(taken.size()) - 1, expected[to]) << topology.name() << ": " << from << " to " << to;
      }
    }
  }
}

TEST(RouteTable, CrossesAsFewClustersAsItCanOnDragonflies) {
  const Topology topology = dragonfly(2, 4, 2);
  const RouteTable routes(topology, Parameters());
  for (int from = 0; from < 36; ++from) {
    for (int to = 0; to < 36; ++to) {
      const auto taken = route(topology, routes, from, to, routes.start(-1, false));
      int crossed = 0;
      for (std::size_t i = 1; i < taken.size(); ++i) {
        if (topology.routers()[taken[i - 1]].cluster != topology.routers()[taken[i]].cluster) ++crossed;
      }
      EXPECT_EQ(crossed, topology.routers()[from].cluster == topology.routers()[to].cluster ? 0 : 1);
      EXPECT_LE(taken.size(), 4U);
    }
  }
  EXPECT_EQ(routes.scheme(), RouteTable::Scheme::clusters);
}

// Section V.B: from a GPU's local HMCs, sFBFLY's minimal routes are as long as dFBFLY's.
TEST(RouteTable, ReachesHmcsOverSlicesAsFastAsOverFullClusters) {
  for (const int gpus : {4, 8, 16}) {
    MemoryNetwork network;
    network.gpus = gpus;
    network.channels_per_hmc = 0;
    network.kind = MemoryTopology::sliced_butterfly;
    const Topology sliced = memory_network(network);
    network.kind = MemoryTopology::flattened_butterfly;
    const Topology full = memory_network(network);
    const RouteTable over_slices(sliced, Parameters());
    const RouteTable over_all(full, Parameters());
    for (int gpu = 0; gpu < gpus; ++gpu) {
      for (int hmc = 0; hmc < 4 * gpus; ++hmc) {
        int least_sliced = 100;
        int least_full = 100;
        for (int entry = 4 * gpu; entry < 4 * gpu + 4; ++entry) {
          const int distance = over_slices.distance(entry, hmc);
          if (distance >= 0) least_sliced = std::min(least_sliced, distance);
          least_full = std::min(least_full, over_all.distance(entry, hmc));
        }
        EXPECT_EQ(least_sliced, least_full);
      }
    }
  }
}

TEST(RouteTable, PassesTheIntermediateRouterOfAValiantRoute) {
  Parameters parameters;
  parameters.routing = Routing::valiant;
  for (const Topology& topology : grids()) {
    const RouteTable routes(topology, parameters);
    const int count = static_cast<int>(topology.routers().size());
    Random random(7);
    for (int i = 0; i < 500; ++i) {
      const int from = random.below(count);
      const int middle = random.below(count);
      const int to = random.below(count);
      if (routes.distance(from, middle) < 0 || routes.distance(middle, to) < 0) continue;
      if (middle == from || middle == to) continue;
      const auto taken = route(topology, routes, from, to, routes.start(middle, false));
      EXPECT_EQ(static_cast<int>(taken.size()) - 1, routes.distance(from, middle) + routes.distance(middle, to));
      EXPECT_NE(std::find(taken.begin(), taken.end(), middle), taken.end());
    }
  }
}

TEST(RouteTable, TakesThePassThroughPathWhereItIsTold) {
  MemoryNetwork network;
  network.kind = MemoryTopology::overlay;
  network.cpus = 1;
  network.gpus = 3;
  const Topology topology = memory_network(network);
  const RouteTable routes(topology, Parameters());
  for (int slice = 0; slice < 4; ++slice) {
    EXPECT_EQ(routes.overlay_distance(slice, 12 + slice), 3);
    EXPECT_EQ(routes.distance(slice, 12 + slice), 1);
    const auto taken = route(topology, routes, slice, 12 + slice, routes.start(-1, true));
    EXPECT_EQ(taken, (std::vector<int>{slice, 4 + slice, 8 + slice, 12 + slice}));
  }
  EXPECT_EQ(routes.overlay_distance(0, 5), -1);
}

}  // namespace
}  // namespace dcgn::memnet
