// The public interface of the network: that it is the network, and that mistakes are errors.
#include <dcgn/simulated_network.hpp>

#include "memnet/src/config.hpp"
#include "memnet/src/network.hpp"
#include "tests/expect.hpp"

#include <dcgn/error.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

using dcgn::test::contains, dcgn::test::error_of;

namespace {

const std::string embedded_mesh = "[topology]\nkind = \"mesh\"\nextents = [4, 4]\n";

std::string embedding_error(const std::string& toml, const std::vector<std::string>& settings = {}) {
  return error_of([&] { const dcgn::SimulatedNetwork network(toml, settings); }).what();
}

TEST(SimulatedNetwork, DeliversAsTheNetworkDoes) {
  dcgn::SimulatedNetwork made(embedded_mesh);
  dcgn::SimulatedNetwork network = std::move(made);
  const dcgn::memnet::Configuration c = dcgn::memnet::parse_configuration(embedded_mesh, "x");
  dcgn::memnet::Network inner(c.topology, c.parameters);
  EXPECT_EQ(network.terminals(), 16);
  EXPECT_EQ(network.terminal_name(3), "node 3");
  EXPECT_EQ(network.flit_bytes(), 16);
  EXPECT_DOUBLE_EQ(network.clock_ghz(), 1.25);
  for (int t = 0; t < 16; ++t) {
    network.inject({.source = t, .destination = 15 - t, .message_class = t % 2, .flits = 3, .tag = 7});
    inner.inject({.source = t, .destination = 15 - t, .message_class = t % 2, .flits = 3, .tag = 7});
  }
  while (!network.idle()) network.step();
  while (!inner.idle()) inner.step();
  EXPECT_EQ(network.now(), inner.now());
  const auto deliveries = network.take_deliveries();
  ASSERT_EQ(deliveries.size(), 16U);
  EXPECT_TRUE(network.take_deliveries().empty());
  std::int64_t hops = 0;
  for (std::size_t i = 0; i < deliveries.size(); ++i) {
    EXPECT_EQ(deliveries[i].packet.source, inner.deliveries()[i].packet.source);
    EXPECT_EQ(deliveries[i].packet.tag, 7U);
    EXPECT_EQ(deliveries[i].delivered, inner.deliveries()[i].delivered);
    hops += 3 * deliveries[i].hops;
  }
  EXPECT_EQ(network.counters().delivered_packets, 16);
  EXPECT_EQ(network.counters().injected_flits, 48);
  EXPECT_EQ(network.counters().flit_hops, hops);
  std::int64_t out = 0;
  for (const auto& link : network.links()) {
    if (link.to.rfind("node", 0) == 0) out += link.flits;
  }
  EXPECT_EQ(out, 48);
  network.advance(100000);
  EXPECT_EQ(network.now(), 100000);
  network.advance(5);
  EXPECT_EQ(network.now(), 100000);
}

TEST(SimulatedNetwork, ATerminalMayRefuseAndABoundedQueueBeFull) {
  dcgn::SimulatedNetwork network(embedded_mesh, {"traffic.source_queue_flits=4"});
  network.set_accepting(5, 0, false);
  const dcgn::SimulatedNetwork::Packet packet{.source = 0, .destination = 5, .flits = 4};
  EXPECT_TRUE(network.can_inject(packet));
  network.inject(packet);
  EXPECT_FALSE(network.can_inject(packet));
  network.advance(500);
  EXPECT_TRUE(network.take_deliveries().empty());
  network.set_accepting(5, 0, true);
  while (!network.idle()) network.step();
  EXPECT_EQ(network.take_deliveries().size(), 1U);
}

TEST(SimulatedNetwork, ParallelLinksHaveNumbers) {
  const dcgn::SimulatedNetwork network(
      "[topology]\nkind = \"graph\"\nrouters = 2\nchannels = [[0, 1], [0, 1]]\nterminals = [[0], [1]]\n");
  std::set<std::tuple<std::string, std::string, int>> names;
  for (const auto& link : network.links()) names.emplace(link.from, link.to, link.number);
  EXPECT_EQ(names.size(), network.links().size());
  EXPECT_EQ(names.count({"router 0", "router 1", 2}), 1U);
}

TEST(SimulatedNetwork, MistakesAreErrorsThatNameThem) {
  EXPECT_TRUE(contains(embedding_error("[topology]\nkind = \"mush\"\n"), "text:2: topology.kind"));
  EXPECT_TRUE(contains(embedding_error(embedded_mesh + "[replay]\ntrace = \"x\"\n"), "expected none of [requests]"));
  EXPECT_TRUE(contains(embedding_error("[topology]\nkind = \"torus\"\nextents = [4]\n", {"router.vcs_per_class=1"}),
                       "--set: router.vcs_per_class"));
  dcgn::SimulatedNetwork network(embedded_mesh);
  network.advance(std::int64_t{1} << 62);
  EXPECT_EQ(network.now(), std::int64_t{1} << 62);
  const dcgn::Error late = error_of([&] { network.advance((std::int64_t{1} << 62) + 1); });
  EXPECT_EQ(late.code(), dcgn::Code::configuration);
  EXPECT_TRUE(contains(late.what(), "cycle is 4611686018427387905, expected at most 2^62"));
  EXPECT_THROW(network.inject({.source = 16, .destination = 0}), dcgn::Error);
  EXPECT_THROW(network.terminal_name(-1), dcgn::Error);
  const std::string file = ::testing::TempDir() + "simulated_network.toml";
  std::ofstream(file) << embedded_mesh;
  EXPECT_EQ(dcgn::SimulatedNetwork::load(file, {"topology.concentration=2"}).terminals(), 32);
  EXPECT_THROW(dcgn::SimulatedNetwork::load(file + ".none"), dcgn::Error);
}

}  // namespace
