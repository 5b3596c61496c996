// Routes, against breadth-first search.
#include "memnet/src/routing.hpp"

#include "distances.hpp"
#include "graphs.hpp"
#include "memnet/src/network.hpp"
#include "memnet/src/simulation.hpp"
#include "memnet/src/topologies.hpp"
#include "memnet/src/traffic.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
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

// Its own search for the shortest routes that go up, then down: from a root with the least distance to its farthest.
std::vector<int> legal_distances(const Topology& topology, int from) {
  const int n = static_cast<int>(topology.routers().size());
  int root = 0;
  int least = n;
  for (int r = 0; r < n; ++r) {
    const std::vector<int> all = distances_from(topology, r);
    const int farthest = *std::max_element(all.begin(), all.end());
    if (farthest < least) root = r;
    least = std::min(least, farthest);
  }
  const std::vector<int> level = distances_from(topology, root);
  std::vector<int> distance(2 * n, -1);  // of routers while going up, then of those while going down
  std::vector<int> queue(1, from);
  distance[from] = 0;
  for (std::size_t i = 0; i < queue.size(); ++i) {
    for (const Channel& channel : topology.channels()) {
      if (channel.from != queue[i] % n) continue;
      const bool down = std::pair(level[channel.to], channel.to) > std::pair(level[channel.from], channel.from);
      if (queue[i] >= n && !down) continue;
      const int next = channel.to + (down ? n : 0);
      if (distance[next] >= 0) continue;
      distance[next] = distance[queue[i]] + 1;
      queue.push_back(next);
    }
  }
  std::vector<int> result(n);
  for (int r = 0; r < n; ++r) {
    result[r] = distance[r];
    if (distance[n + r] >= 0 && (result[r] < 0 || distance[n + r] < result[r])) result[r] = distance[n + r];
  }
  return result;
}

TEST(RouteTable, TakesShortestLegalPathsUpAndDown) {
  Parameters parameters;
  parameters.vcs_per_class = 1;
  int up_down = 0;
  for (int seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Topology topology = random_graph(30, 5 * seed, seed);
    const RouteTable routes(topology, parameters);
    if (routes.scheme() != RouteTable::Scheme::up_down) continue;
    ++up_down;
    for (int from = 0; from < 30; ++from) {
      const std::vector<int> expected = legal_distances(topology, from);
      for (int to = 0; to < 30; ++to) {
        ASSERT_EQ(routes.distance(from, to), expected[to]) << from << " to " << to;
        const auto taken = route(topology, routes, from, to, routes.start(-1, false));
        ASSERT_EQ(static_cast<int>(taken.size()) - 1, expected[to]) << from << " to " << to;
      }
    }
  }
  EXPECT_GT(up_down, 5);
}

TEST(RouteTable, TakesShortestPathsInLayers) {
  Parameters parameters;
  parameters.vcs_per_class = 8;
  for (const Topology& topology : {graph_of(32, ring_channels(32)), random_graph(40, 30, 3)}) {
    const RouteTable routes(topology, parameters);
    EXPECT_EQ(routes.scheme(), RouteTable::Scheme::layers);
    for (int from = 0; from < static_cast<int>(topology.routers().size()); ++from) {
      const std::vector<int> expected = distances_from(topology, from);
      for (int to = 0; to < static_cast<int>(expected.size()); ++to) {
        const auto taken = route(topology, routes, from, to, routes.start(-1, false));
        ASSERT_EQ(static_cast<int>(taken.size()) - 1, expected[to]) << from << " to " << to;
      }
    }
  }
}

// Of the routes between all pairs of nodes, no up channel of a row of switches has a quarter more than its share.
TEST(RouteTable, SpreadsRoutesOverTheUpChannelsOfFatTrees) {
  for (const auto& [arity, levels] : {std::pair(4, 3), std::pair(2, 5), std::pair(3, 4)}) {
    const Topology topology = fat_tree(arity, levels);
    const RouteTable routes(topology, Parameters());
    EXPECT_EQ(routes.scheme(), RouteTable::Scheme::single);
    const int row = static_cast<int>(topology.routers().size()) / levels;
    std::vector<int> load(topology.channels().size(), 0);
    for (int from = 0; from < row; ++from) {
      for (int to = 0; to < row; ++to) {
        RouteState state = routes.start(-1, false);
        for (int router = from; router != to;) {
          const Hop hop = routes.next(router, to, state);
          ++load[hop.channels[0]];
          router = topology.channels()[hop.channels[0]].to;
        }
      }
    }
    for (int level = 0; level + 1 < levels; ++level) {
      int most = 0;
      int sum = 0;
      for (std::size_t c = 0; c < topology.channels().size(); ++c) {
        if (topology.channels()[c].from / row != level || topology.channels()[c].to / row != level + 1) continue;
        sum += load[c];
        most = std::max(most, load[c]);
      }
      EXPECT_LE(most, 1.25 * sum / (row * arity)) << topology.name() << ", level " << level;
    }
  }
}

// A mesh by its channels alone is as good as the mesh.
TEST(RouteTable, OfAGraphThatIsAMeshGivesTheLatenciesOfTheMesh) {
  const Topology grid = mesh({16, 16});
  Pairs channels;
  for (std::size_t c = 0; c < grid.channels().size(); c += 2) {
    channels.emplace_back(grid.channels()[c].from, grid.channels()[c].to);
  }
  const Topology graph = graph_of(256, channels);
  const Network network(graph, Parameters());
  const Network expected(grid, Parameters());
  for (int from = 0; from < 256; ++from) {
    for (int to = 0; to < 256; ++to) {
      ASSERT_EQ(network.zero_load_latency(from, to, 1), expected.zero_load_latency(from, to, 1))
          << from << " to " << to;
    }
  }
  Parameters parameters;
  parameters.warmup_cycles = 200;
  parameters.measure_cycles = 1000;
  const double slow = run_open_loop(graph, parameters, Traffic(), 0.005).latency.mean;
  EXPECT_NEAR(slow, run_open_loop(grid, parameters, Traffic(), 0.005).latency.mean, 1.0);
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
