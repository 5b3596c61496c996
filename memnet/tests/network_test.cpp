// Routers cycle by cycle: latencies without load, and what holds under any.
#include "memnet/src/network.hpp"

#include "distances.hpp"
#include "expect.hpp"
#include "memnet/src/simulation.hpp"
#include "memnet/src/topologies.hpp"
#include "memnet/src/traffic.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace dcgn::memnet {
namespace {

using test::contains;
using test::error_of;

Delivery send_alone(Network& network, int source, int destination, int flits) {
  network.inject({source, destination, 0, flits, 0});
  for (int i = 0; i < 100000 && !network.idle(); ++i) network.step();
  EXPECT_EQ(network.deliveries().size(), 1U);
  const Delivery delivery = network.deliveries().at(0);
  network.clear_deliveries();
  return delivery;
}

// T0 = 2 + (stages + 1) R + extra link cycles + (P - 1).
TEST(Network, LatencyOfEveryPairWithoutLoadIsExact) {
  for (const Topology& topology : {mesh({4, 4}), mesh({3, 2, 2}, 2), torus({5, 3}), torus({4, 4}, 1, 1),
                                   flattened_butterfly({3, 3}, 2), dragonfly(1, 2, 1)}) {
    int extra = 0;
    for (const Channel& channel : topology.channels()) extra = channel.link.extra_latency;
    for (const int stages : {2, 3, 4, 6}) {
      Parameters parameters;
      parameters.stages = stages;
      Network network(topology, parameters);
      const int count = static_cast<int>(topology.terminals().size());
      for (int source = 0; source < count; ++source) {
        const auto hops = distances_from(topology, topology.terminals()[source].ports[0].router);
        for (int destination = 0; destination < count; ++destination) {
          const int links = topology.name().starts_with("dragonfly")
                                ? network.routers_on_route(source, destination) - 1  // not always the shortest
                                : hops[topology.terminals()[destination].ports[0].router];
          for (const int flits : {1, 5}) {
            const Delivery delivery = send_alone(network, source, destination, flits);
            const int expected = 2 + (stages + 1) * (links + 1) + extra * links + flits - 1;
            ASSERT_EQ(delivery.delivered - delivery.created, expected)
                << topology.name() << ", " << stages << " stages: " << source << " to " << destination;
            ASSERT_EQ(network.zero_load_latency(source, destination, flits), expected);
            ASSERT_EQ(delivery.hops, links + 1);
          }
        }
      }
    }
  }
}

TEST(Network, MeanLatencyOfAMeshWithoutLoadIs27CyclesWithThreeStagesAnd33WithFour) {
  const Topology topology = mesh({8, 8});
  for (const auto& [stages, expected] : {std::pair(3, 27.0), std::pair(4, 33.25)}) {
    Parameters parameters;
    parameters.stages = stages;
    const Network network(topology, parameters);
    double sum = 0;
    for (int a = 0; a < 64; ++a) {
      for (int b = 0; b < 64; ++b) sum += static_cast<double>(network.zero_load_latency(a, b, 1));
    }
    EXPECT_DOUBLE_EQ(sum / 4096, expected);
  }
}

// With SerDes on every channel between chips: into the network, from HMC to HMC; not into the HMC's own vaults.
TEST(Network, AddsSerdesToChannelsBetweenChips) {
  MemoryNetwork shape;
  const Topology topology = memory_network(shape);
  Network network(topology, Parameters());
  const Delivery local = send_alone(network, 0, 4, 1);
  EXPECT_EQ(local.delivered - local.created, 2 + 5 + 4);
  const Delivery remote = send_alone(network, 0, 4 + 4, 1);
  EXPECT_EQ(remote.delivered - remote.created, 2 + 2 * 5 + 2 * 4);
  EXPECT_EQ(remote.hops, 2);
}

// Three pass-through hops, from the CPU's own HMC on: half of SerDes is paid into the path, all of it where it is left,
// and the routers before that take one stage.
TEST(Network, PassesThroughHmcsOnTheOverlay) {
  MemoryNetwork shape;
  shape.kind = MemoryTopology::overlay;
  shape.cpus = 1;
  shape.gpus = 3;
  const Topology topology = memory_network(shape);
  Network network(topology, Parameters());
  const int last = 4 + 12;
  const Delivery delivery = send_alone(network, 0, last, 1);
  EXPECT_EQ(delivery.hops, 4);
  EXPECT_EQ(delivery.delivered - delivery.created, (2 + 2) + 3 * 2 + (4 + 5));
  EXPECT_EQ(network.zero_load_latency(0, last, 1), delivery.delivered - delivery.created);
}

// A graph that is connected, by a random tree and some channels beside it.
Topology random_topology(Random& random) {
  Topology topology("random");
  const int routers = 3 + random.below(8);
  for (int r = 0; r < routers; ++r) {
    topology.add_router({std::to_string(r), {}, -1, -1, 0, 0});
    Link link;
    link.extra_latency = random.below(3);
    if (r > 0) topology.add_channel(random.below(r), r, link);
    const int terminals = 1 + random.below(2);
    for (int t = 0; t < terminals; ++t) {
      topology.attach(topology.add_terminal("node " + std::to_string(topology.terminals().size()), TerminalKind::node),
                      r);
    }
  }
  for (int i = random.below(2 * routers); i > 0; --i) {
    const int a = random.below(routers);
    const int b = random.below(routers);
    if (a == b) continue;
    const auto& channels = topology.channels();
    const bool known = std::any_of(channels.begin(), channels.end(),
                                   [&](const Channel& channel) { return channel.from == a && channel.to == b; });
    if (!known) topology.add_channel(a, b);
  }
  return topology;
}

TEST(Network, LosesNothingAndExceedsNoChannel) {
  const std::uint64_t seed = 20140101;
  for (int round = 0; round < 40; ++round) {
    SCOPED_TRACE("seed " + std::to_string(seed) + ", round " + std::to_string(round));
    Random random(seed + round);
    const Topology topology = random_topology(random);
    Parameters parameters;
    parameters.vcs_per_class = 10;
    parameters.message_classes = 1 + random.below(2);
    parameters.stages = 1 + random.below(5);
    parameters.vc_buffer_bytes = parameters.flit_bytes * (1 + random.below(6));
    parameters.credit_delay = random.below(3);
    Network network(topology, parameters);
    const int count = static_cast<int>(topology.terminals().size());
    std::uint64_t sent = 0;
    for (int cycle = 0; cycle < 400; ++cycle) {
      for (int t = 0; t < count; ++t) {
        if (random.below(4) != 0) continue;
        network.inject({t, random.below(count), random.below(parameters.message_classes), 1 + random.below(7), sent++});
      }
      network.step();
      if (cycle % 50 == 0) network.check_conservation();
    }
    const Counters loaded = network.counters();
    for (int c = 0; c < static_cast<int>(topology.channels().size()); ++c) {
      ASSERT_LE(network.channel_flits(c), loaded.cycles);
    }
    for (int cycle = 0; cycle < 200000 && !network.idle(); ++cycle) network.step();
    ASSERT_TRUE(network.idle());
    network.advance(network.now() + 1000);
    network.check_conservation();

    std::int64_t flits = 0;
    std::int64_t hops = 0;
    for (const Delivery& delivery : network.deliveries()) {
      const Packet& packet = delivery.packet;
      flits += packet.flits;
      hops += static_cast<std::int64_t>(packet.flits) * delivery.hops;
      ASSERT_GE(delivery.delivered - delivery.injected,
                network.zero_load_latency(packet.source, packet.destination, packet.flits));
    }
    ASSERT_EQ(network.deliveries().size(), sent);
    ASSERT_EQ(network.counters().delivered_flits, flits);
    ASSERT_EQ(network.counters().injected_flits, flits);
    ASSERT_EQ(network.counters().flit_hops, hops);
  }
}

// One VC of a class between any two routers: nothing overtakes.
TEST(Network, KeepsTheOrderOfAFlowOnDeterministicRoutesWithOneVirtualChannel) {
  for (const Topology& topology : {mesh({4, 4}), flattened_butterfly({3, 3}, 2)}) {
    Parameters parameters;
    parameters.vcs_per_class = 1;
    Network network(topology, parameters);
    const int count = static_cast<int>(topology.terminals().size());
    Random random(99);
    std::uint64_t sent = 0;
    for (int cycle = 0; cycle < 3000; ++cycle) {
      for (int t = 0; t < count; ++t) {
        if (random.below(10) != 0) continue;
        network.inject({t, random.below(count), random.below(2), 1 + random.below(4), ++sent});
      }
      network.step();
    }
    for (int cycle = 0; cycle < 200000 && !network.idle(); ++cycle) network.step();
    ASSERT_EQ(network.deliveries().size(), sent);
    std::map<std::vector<int>, std::uint64_t> newest;
    for (const Delivery& delivery : network.deliveries()) {
      const Packet& packet = delivery.packet;
      std::uint64_t& tag = newest[{packet.source, packet.destination, packet.message_class}];
      ASSERT_LT(tag, packet.tag);
      tag = packet.tag;
    }
  }
}

TEST(Network, CarriesNoMoreThanALinksBandwidth) {
  Topology topology("slow link");
  for (int r = 0; r < 2; ++r) {
    topology.add_router({std::to_string(r), {}, -1, -1, 0, 0});
    topology.attach(topology.add_terminal("node " + std::to_string(r), TerminalKind::node), r);
  }
  Link link;
  link.bandwidth = 0.7875;
  topology.add_channel(0, 1, link);
  Network network(topology, Parameters());
  for (int i = 0; i < 4000; ++i) network.inject({0, 1, 0, 1, 0});
  network.advance(1000);
  const std::int64_t before = network.channel_flits(0);
  network.advance(3000);
  EXPECT_NEAR(static_cast<double>(network.channel_flits(0) - before), 0.7875 * 2000, 1);
}

TEST(Network, HoldsBackWhatATerminalDoesNotAccept) {
  Network network(mesh({2, 2}), Parameters());
  network.set_accepting(3, 0, false);
  for (int i = 0; i < 10; ++i) network.inject({0, 3, 0, 2, 0});
  network.inject({0, 3, 1, 2, 5});
  network.advance(500);
  ASSERT_EQ(network.deliveries().size(), 1U);
  EXPECT_EQ(network.deliveries()[0].packet.tag, 5U);
  network.set_accepting(3, 0, true);
  network.advance(1000);
  EXPECT_EQ(network.deliveries().size(), 11U);
}

TEST(Network, SkipsCyclesWhileNothingIsOnItsWay) {
  Network network(mesh({8, 8}), Parameters());
  network.advance(1000000000000);
  EXPECT_EQ(network.now(), 1000000000000);
  EXPECT_EQ(send_alone(network, 0, 63, 1).created, 1000000000000);
}

TEST(Network, RefusesWhatCannotBeSent) {
  Parameters parameters;
  parameters.source_queue_flits = 8;
  Network network(memory_network({}), parameters);
  const auto refusal = [&](const Packet& packet) {
    return std::string(error_of([&] { network.inject(packet); }).what());
  };
  EXPECT_TRUE(contains(refusal({0, 99, 0, 1, 0}), "terminal 99 is out of range, expected 0..19"));
  EXPECT_TRUE(contains(refusal({4, 5, 0, 1, 0}), "from hmc 0 to hmc 1"));
  EXPECT_TRUE(contains(refusal({0, 1, 0, 1, 0}), "from gpu 0 to gpu 1"));
  EXPECT_TRUE(contains(refusal({0, 4, 2, 1, 0}), "message class 2 is out of range"));
  EXPECT_TRUE(contains(refusal({0, 4, 0, 0, 0}), "0 flits"));
  EXPECT_TRUE(network.can_inject(0, 0, 100));
  network.inject({0, 4, 0, 6, 0});
  EXPECT_FALSE(network.can_inject(0, 0, 3));
  EXPECT_TRUE(network.can_inject(0, 1, 3));
  EXPECT_TRUE(contains(refusal({0, 4, 0, 3, 0}), "is full"));
}

TEST(Network, NamesAParameterThatCannotBe) {
  const auto refusal = [](auto&& change) {
    Parameters parameters;
    change(parameters);
    return std::string(error_of([&] { Network(mesh({2, 2}), parameters); }).what());
  };
  EXPECT_TRUE(contains(refusal([](Parameters& p) { p.vcs_per_class = 0; }), "vcs_per_class is 0, expected 1..64"));
  EXPECT_TRUE(contains(refusal([](Parameters& p) { p.vcs_per_class = 40; }), "is 80, expected at most 64"));
  EXPECT_TRUE(contains(refusal([](Parameters& p) { p.vc_buffer_bytes = 8; }), "vc_buffer_bytes is 8"));
  EXPECT_TRUE(contains(refusal([](Parameters& p) { p.stages = 0; }), "stages is 0, expected 1..16"));
  EXPECT_TRUE(contains(refusal([](Parameters& p) { p.clock_ghz = -1; }), "clock_ghz is -1"));
}

TEST(Network, OfMeshesOf1024RoutersRuns) {
  Parameters parameters;
  parameters.stages = 3;
  Network network(mesh({32, 32}), parameters);
  Random random(1);
  for (int i = 0; i < 3000; ++i) network.inject({random.below(1024), random.below(1024), 0, 4, 0});
  for (int cycle = 0; cycle < 10000 && !network.idle(); ++cycle) network.step();
  EXPECT_EQ(network.deliveries().size(), 3000U);
}

}  // namespace
}  // namespace dcgn::memnet
