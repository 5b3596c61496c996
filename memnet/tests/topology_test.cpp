// The generators, and what a topology must fulfil.
#include "expect.hpp"
#include "memnet/src/network.hpp"
#include "memnet/src/topologies.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace dcgn::memnet {
namespace {

using test::contains;
using test::error_of;

constexpr MemoryTopology all_kinds[] = {MemoryTopology::dragonfly,        MemoryTopology::flattened_butterfly,
                                        MemoryTopology::sliced_butterfly, MemoryTopology::sliced_mesh,
                                        MemoryTopology::sliced_torus,     MemoryTopology::sliced_mesh_2x,
                                        MemoryTopology::sliced_torus_2x};

MemoryNetwork of(MemoryTopology kind, int gpus) {
  MemoryNetwork network;
  network.kind = kind;
  network.gpus = gpus;
  network.channels_per_hmc = 0;
  return network;
}

TEST(MemoryTopologies, HaveAsManyChannelsAsTheFormulaSays) {
  for (const MemoryTopology kind : all_kinds) {
    for (const int gpus : {2, 3, 4, 8, 12, 16}) {
      const Topology topology = memory_network(of(kind, gpus));
      topology.validate();
      EXPECT_EQ(topology.channel_count(), channel_count_formula(kind, gpus, 4)) << topology.name();
      EXPECT_EQ(topology.terminal_channel_count(), 8 * gpus) << topology.name();
    }
  }
}

// Figure 12: channels between HMCs. Eight GPUs are rows of four, two a slice.
TEST(MemoryTopologies, SlicesSaveHalfTheChannelsAtFourGpusAnd43PercentAtEight) {
  const auto saved = [](int gpus) {
    const double full = memory_network(of(MemoryTopology::flattened_butterfly, gpus)).channel_count();
    const double sliced = memory_network(of(MemoryTopology::sliced_butterfly, gpus)).channel_count();
    return 1 - sliced / full;
  };
  EXPECT_DOUBLE_EQ(saved(4), 0.5);
  EXPECT_NEAR(saved(8), 0.43, 0.005);
}

TEST(MemoryTopologies, SlicesHaveNoChannelsInsideClusters) {
  EXPECT_EQ(memory_network(of(MemoryTopology::sliced_butterfly, 4)).intra_cluster_channel_count(), 0);
  EXPECT_EQ(memory_network(of(MemoryTopology::flattened_butterfly, 4)).intra_cluster_channel_count(), 24);
  EXPECT_EQ(memory_network(of(MemoryTopology::dragonfly, 4)).intra_cluster_channel_count(), 24);
}

TEST(MemoryTopologies, GpusHaveTwoChannelsToEachOfTheirFourHmcs) {
  const Topology topology = memory_network(of(MemoryTopology::sliced_butterfly, 4));
  for (int gpu = 0; gpu < 4; ++gpu) {
    std::vector<int> channels(16, 0);
    for (const Port& port : topology.terminals()[gpu].ports) ++channels[port.router];
    for (int hmc = 0; hmc < 16; ++hmc) EXPECT_EQ(channels[hmc], hmc / 4 == gpu ? 2 : 0);
  }
}

TEST(MemoryTopologies, RefuseMoreChannelsThanAnHmcHas) {
  MemoryNetwork network = of(MemoryTopology::flattened_butterfly, 8);
  network.channels_per_hmc = 8;
  const Error error = error_of([&] { memory_network(network); });
  EXPECT_EQ(error.code(), Code::configuration);
  EXPECT_TRUE(contains(error.what(), "needs 9 channels"));
}

TEST(MemoryTopologies, OverlayNeedsACpuAndPassesEveryClusterOfASlice) {
  MemoryNetwork network = of(MemoryTopology::overlay, 3);
  EXPECT_TRUE(contains(error_of([&] { memory_network(network); }).what(), "without a CPU"));
  network.cpus = 1;
  const Topology topology = memory_network(network);
  topology.validate();
  ASSERT_EQ(topology.overlays().size(), 4U);
  for (const std::vector<int>& path : topology.overlays()) EXPECT_EQ(path.size(), 4U);
}

TEST(Topologies, HaveTheChannelsOfTheirKind) {
  EXPECT_EQ(mesh({8, 8}).channel_count(), 2 * 8 * 7);
  EXPECT_EQ(torus({8, 8}).channel_count(), 2 * 8 * 8);
  EXPECT_EQ(torus({2, 3}).channel_count(), 3 + 6);
  EXPECT_EQ(flattened_butterfly({4, 4}, 4).channel_count(), 2 * 4 * 6);
  EXPECT_EQ(flattened_butterfly({4, 4}, 4).terminals().size(), 64U);
  const Topology canonical = dragonfly(2, 4, 2);
  EXPECT_EQ(canonical.routers().size(), 36U);
  EXPECT_EQ(canonical.channel_count(), 9 * 6 + 36);
  canonical.validate();
  pcie_tree(4, 2, 0.7875, 10).validate();
  nvlink_switch(8, 4, 2, 1.0, 10).validate();
}

TEST(Topologies, OfDragonfliesConnectAnyTwoGroupsOnce) {
  const Topology topology = dragonfly(1, 3, 2);
  std::vector<std::vector<int>> count(7, std::vector<int>(7, 0));
  std::vector<int> global(topology.routers().size(), 0);
  for (const Channel& channel : topology.channels()) {
    const int from = topology.routers()[channel.from].cluster;
    const int to = topology.routers()[channel.to].cluster;
    if (from == to) continue;
    ++count[from][to];
    ++global[channel.from];
  }
  for (int a = 0; a < 7; ++a) {
    for (int b = 0; b < 7; ++b) EXPECT_EQ(count[a][b], a == b ? 0 : 1);
  }
  for (const int channels : global) EXPECT_EQ(channels, 2);
}

// How many ordered pairs of terminals have each latency without others in the way.
std::map<std::int64_t, int> latencies_of(const Topology& topology, int flits = 1) {
  const Network network(topology, Parameters());
  const int count = static_cast<int>(topology.terminals().size());
  std::map<std::int64_t, int> latencies;
  for (int a = 0; a < count; ++a) {
    for (int b = 0; b < count; ++b) ++latencies[network.zero_load_latency(a, b, flits)];
  }
  return latencies;
}

// Each router takes 5 cycles, the ends 2. Of 3 groups of 2 routers, any two have a channel: of the 4 pairs of routers
// of two groups one is at its ends, two are a local channel away, one is two.
TEST(Topologies, OfDragonfliesHaveLatenciesOfTheirOwnForLocalAndGlobalChannels) {
  const std::map<std::int64_t, int> expected = {
      {2 + 5, 6}, {2 + 10 + 9, 6}, {2 + 10 + 99, 6}, {2 + 15 + 9 + 99, 12}, {2 + 20 + 9 + 99 + 9, 6}};
  EXPECT_EQ(latencies_of(dragonfly(1, 2, 1, 9, 99)), expected);
}

TEST(Topologies, OfGridsTakeLongerChannels) {
  // Corners of 3 x 3 are five routers and four channels apart.
  EXPECT_EQ(latencies_of(mesh({3, 3}, 1, 4)).rbegin()->first, 2 + 5 * 5 + 4 * 4);
  EXPECT_EQ(latencies_of(torus({5}, 1, 3)).rbegin()->first, 2 + 5 * 3 + 3 * 2);
  EXPECT_EQ(latencies_of(flattened_butterfly({4}, 1, false, 2)).rbegin()->first, 2 + 5 * 2 + 2);
  EXPECT_EQ(latencies_of(flattened_butterfly({4}, 1, true, 2)).rbegin()->first, 2 + 5 * 2 + 2 + 2);
}

TEST(Topologies, OfFatTreesGoUpAndDown) {
  const Topology two = fat_tree(4, 2);
  EXPECT_EQ(two.routers().size(), 8U);
  EXPECT_EQ(two.terminals().size(), 16U);
  EXPECT_EQ(two.channel_count(), 16);
  // Over 1 router to the 4 nodes of the same switch, over 3 to the others.
  EXPECT_EQ(latencies_of(two), (std::map<std::int64_t, int>{{7, 16 * 4}, {17, 16 * 12}}));
  const Topology four = fat_tree(2, 4, 1);
  EXPECT_EQ(four.routers().size(), 32U);
  EXPECT_EQ(four.channel_count(), 3 * 8 * 2);
  EXPECT_EQ(latencies_of(four),
            (std::map<std::int64_t, int>{{7, 16 * 2}, {17 + 2, 16 * 2}, {27 + 4, 16 * 4}, {37 + 6, 16 * 8}}));
  EXPECT_TRUE(contains(error_of([] { fat_tree(33, 2); }).what(), "66 ports a router"));
  EXPECT_TRUE(contains(error_of([] { fat_tree(2, 40); }).what(), "more than 10000 routers"));
}

TEST(Topology, LosesChannelsThatFail) {
  Topology grid = mesh({3, 3});
  grid.remove_channel(1, 0);
  grid.validate();
  EXPECT_EQ(grid.channel_count(), 11);
  EXPECT_TRUE(grid.shape().broken);
  const Network network(grid, Parameters());
  EXPECT_EQ(network.routers_on_route(0, 1), 4);  // round the square
  EXPECT_EQ(network.zero_load_latency(0, 1, 1), 2 + 5 * 4);
  EXPECT_EQ(network.routers_on_route(0, 8), 5);
  EXPECT_TRUE(
      contains(error_of([&] { grid.remove_channel(0, 1); }).what(), "no channel between router 0 and router 1"));
  grid.remove_channel(0, 3);
  EXPECT_TRUE(contains(error_of([&] { grid.validate(); }).what(), "from router 0 to router 1"));

  Topology doubled = memory_network(of(MemoryTopology::sliced_mesh_2x, 4));
  const int before = doubled.channel_count();
  doubled.remove_channel(0, 4);
  doubled.validate();
  EXPECT_EQ(doubled.channel_count(), before - 1);
  EXPECT_EQ(Network(doubled, Parameters()).routers_on_route(0, 8), 2);

  MemoryNetwork with_cpu = of(MemoryTopology::overlay, 3);
  with_cpu.cpus = 1;
  Topology overlay = memory_network(with_cpu);
  EXPECT_TRUE(contains(error_of([&] { overlay.remove_channel(0, 4); }).what(), "on a pass-through path"));
}

TEST(Topology, NamesAPairWithoutAPath) {
  Topology topology("two islands");
  for (int r = 0; r < 4; ++r) {
    topology.add_router({std::to_string(r), {}, -1, -1, 0, 0});
    topology.attach(topology.add_terminal("node " + std::to_string(r), TerminalKind::node), r);
  }
  topology.add_channel(0, 1);
  topology.add_channel(2, 3);
  const Error error = error_of([&] { topology.validate(); });
  EXPECT_EQ(error.code(), Code::configuration);
  EXPECT_TRUE(contains(error.what(), "node 2 cannot be reached from node 0"));
}

TEST(Topology, RefusesWhatCannotBe) {
  Topology topology("small");
  EXPECT_TRUE(contains(error_of([&] { topology.validate(); }).what(), "has no router"));
  topology.add_router({"0", {}, -1, -1, 0, 0});
  EXPECT_TRUE(contains(error_of([&] { topology.validate(); }).what(), "has no terminal"));
  EXPECT_TRUE(contains(error_of([&] { topology.add_channel(0, 1); }).what(), "router 1 is out of range"));
  EXPECT_TRUE(contains(error_of([&] { topology.add_channel(0, 0); }).what(), "to itself"));
  topology.add_terminal("node 0", TerminalKind::node);
  EXPECT_TRUE(contains(error_of([&] { topology.validate(); }).what(), "node 0 has no port"));
  Link link;
  link.bandwidth = 1.5;
  EXPECT_TRUE(contains(error_of([&] { topology.attach(0, 0, link); }).what(), "bandwidth is 1.5"));
  EXPECT_TRUE(contains(error_of([] { mesh({1, 4}); }).what(), "is 1, expected 2 or more"));
}

TEST(Generators, RefuseNetworksThatNoMachineHolds) {
  EXPECT_TRUE(contains(error_of([] { mesh({1000, 1000}); }).what(), "more than 100000 routers"));
  EXPECT_TRUE(contains(error_of([] { dragonfly(1000, 1000, 1000); }).what(), "more than 10000 routers"));
  EXPECT_TRUE(contains(error_of([] { dragonfly(60, 8, 4); }).what(), "71 ports a router, expected at most 64"));
  EXPECT_EQ(dragonfly(1, 4, 2).routers().size(), 36U);
}

}  // namespace
}  // namespace dcgn::memnet
