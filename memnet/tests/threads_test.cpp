// One simulation by several threads: the same packets, cycles and flits as by one.
#include "memnet/src/network.hpp"
#include "memnet/src/simulation.hpp"
#include "memnet/src/team.hpp"
#include "memnet/src/topologies.hpp"
#include "memnet/src/traffic.hpp"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace dcgn::memnet {
namespace {

std::vector<std::int64_t> outcome(const Topology& topology, Parameters parameters, int threads) {
  parameters.threads = threads;
  Network network(topology, parameters);
  Random random(parameters.seed * 77);
  const int terminals = static_cast<int>(topology.terminals().size());
  for (int cycle = 0; cycle < 200; ++cycle) {
    for (int source = 0; source < terminals; ++source) {
      if (random.uniform() >= 0.15) continue;
      const int destination = random.below(terminals);
      if (!topology.may_talk(source, destination)) continue;
      network.inject({source, destination, random.below(parameters.message_classes), 1 + random.below(4), 0});
    }
    network.set_accepting(0, 0, cycle < 50 || cycle >= 100);
    network.step();
    if (cycle % 50 == 0) network.check_conservation();
  }
  for (int cycle = 0; cycle < 20000 && !network.idle(); ++cycle) network.step();
  EXPECT_TRUE(network.idle());
  std::vector<std::int64_t> result;
  for (const Delivery& one : network.deliveries()) {
    result.insert(result.end(), {one.packet.source, one.packet.destination, one.created, one.injected, one.delivered});
  }
  for (std::size_t c = 0; c < topology.channels().size(); ++c) {
    result.push_back(network.channel_flits(static_cast<int>(c)));
  }
  result.insert(result.end(), {network.counters().cycles, network.counters().flit_hops, network.now()});
  network.check_conservation();
  return result;
}

TEST(Threads, DoNotChangeWhatComesOut) {
  MemoryNetwork overlay;
  overlay.kind = MemoryTopology::overlay;
  overlay.cpus = 1;
  overlay.gpus = 3;
  for (const Topology& topology : {mesh({5, 3}), torus({4, 4}, 1, 3), flattened_butterfly({3, 3}, 2),
                                   dragonfly(2, 4, 2), memory_network(overlay)}) {
    for (const Routing routing : {Routing::minimal, Routing::valiant, Routing::ugal, Routing::adaptive}) {
      for (const UgalQueues queues : {UgalQueues::route, UgalQueues::channel}) {
        for (const int stages : {2, 4}) {
          Parameters parameters;
          parameters.routing = routing;
          parameters.ugal_queues = queues;
          parameters.stages = stages;
          parameters.vcs_per_class = 8;
          const std::vector<std::int64_t> alone = outcome(topology, parameters, 1);
          for (const int threads : {2, 3, 64}) {
            ASSERT_EQ(outcome(topology, parameters, threads), alone)
                << topology.name() << ", " << to_string(routing) << ", " << stages << " stages, " << threads
                << " threads";
          }
        }
      }
    }
  }
}

TEST(Threads, GiveTheSameRunOfALargeMesh) {
  Parameters parameters;
  parameters.warmup_cycles = 50;
  parameters.measure_cycles = 100;
  const Topology topology = mesh({32, 32});
  const Result alone = run_open_loop(topology, parameters, Traffic(), 0.05);
  parameters.threads = 2;
  const Result both = run_open_loop(topology, parameters, Traffic(), 0.05);
  EXPECT_EQ(both.flit_hops, alone.flit_hops);
  EXPECT_EQ(both.cycles, alone.cycles);
  EXPECT_EQ(both.latency.mean, alone.latency.mean);
  EXPECT_EQ(both.latency.p99, alone.latency.p99);
}

TEST(Threads, DoTheirRoundsTogether) {
  std::array<std::int64_t, 4> counts{};
  Team team(4, [&](int member) { ++counts[member]; });
  for (std::int64_t round = 1; round <= 2000; ++round) {
    team.run();
    ASSERT_EQ(counts, (std::array<std::int64_t, 4>{round, round, round, round}));
    if (round % 1000 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(20));  // members fall asleep
  }
}

TEST(Threads, HandOnWhatAMemberThrows) {
  for (int thrower = 0; thrower < 3; ++thrower) {
    bool throws = true;
    int calls = 0;
    Team team(3, [&](int member) {
      if (member == thrower && throws) throw std::runtime_error("member " + std::to_string(member));
      if (member == 0) ++calls;
    });
    EXPECT_THROW(team.run(), std::runtime_error);
    throws = false;
    calls = 0;
    team.run();
    EXPECT_EQ(calls, 1);
  }
}

}  // namespace
}  // namespace dcgn::memnet
