// Configurations that could deadlock, and those that could not.
#include "memnet/src/deadlock.hpp"

#include "expect.hpp"
#include "graphs.hpp"
#include "memnet/src/network.hpp"
#include "memnet/src/topologies.hpp"
#include "memnet/src/traffic.hpp"
#include "sanitized.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace dcgn::memnet {
namespace {

using test::contains;
using test::error_of;

Parameters with(Routing routing, int vcs) {
  Parameters parameters;
  parameters.routing = routing;
  parameters.vcs_per_class = vcs;
  return parameters;
}

std::string refusal(const Topology& topology, const Parameters& parameters) {
  const Error error = error_of([&] { Network(topology, parameters); });
  return error.code() == Code::ok ? std::string() : error.what();
}

RouteTable::Scheme scheme_of(const Topology& topology, const Parameters& parameters) {
  return RouteTable(topology, parameters).scheme();
}

// The routers of a printed cycle, in order.
std::vector<std::string> routers_of(const std::string& text) {
  std::vector<std::string> routers;
  for (std::size_t at = text.find("router "); at != std::string::npos; at = text.find("router ", at + 1)) {
    routers.push_back(text.substr(at + 7, text.find_first_of(' ', at + 7) - at - 7));
  }
  return routers;
}

TEST(Deadlock, IsFoundOnARingWithOneVirtualChannelAndPrinted) {
  const std::string text = refusal(torus({5}), with(Routing::minimal, 1));
  ASSERT_TRUE(contains(text, "could deadlock"));
  const auto routers = routers_of(text);
  ASSERT_EQ(routers.size(), 6U) << text;
  EXPECT_EQ(routers.front(), routers.back()) << text;
  for (std::size_t i = 1; i < routers.size(); ++i) {
    const int step = (std::stoi(routers[i]) - std::stoi(routers[i - 1]) + 5) % 5;
    EXPECT_TRUE(step == 1 || step == 4) << text;
  }
  EXPECT_TRUE(contains(text, "(VC 0)"));
  EXPECT_EQ(refusal(torus({5}), with(Routing::minimal, 2)), "");
}

TEST(Deadlock, IsFoundWhereTheLegsOfValiantRoutesShareVirtualChannels) {
  EXPECT_TRUE(contains(refusal(mesh({4, 4}), with(Routing::valiant, 1)), "could deadlock"));
  EXPECT_TRUE(contains(refusal(mesh({4, 4}), with(Routing::ugal, 1)), "could deadlock"));
  EXPECT_EQ(refusal(mesh({4, 4}), with(Routing::valiant, 2)), "");
  EXPECT_EQ(refusal(mesh({4, 4}), with(Routing::minimal, 1)), "");
  EXPECT_TRUE(contains(refusal(torus({5, 5}), with(Routing::ugal, 3)), "could deadlock"));
  EXPECT_EQ(refusal(torus({5, 5}), with(Routing::ugal, 4)), "");
}

TEST(Deadlock, IsFoundOnDragonfliesWithTooFewClasses) {
  // With one, routes are no longer those of a dragonfly.
  EXPECT_EQ(scheme_of(dragonfly(2, 4, 2), with(Routing::minimal, 1)), RouteTable::Scheme::up_down);
  EXPECT_EQ(scheme_of(dragonfly(2, 4, 2), with(Routing::minimal, 2)), RouteTable::Scheme::clusters);
  EXPECT_TRUE(contains(refusal(dragonfly(2, 4, 2), with(Routing::valiant, 1)), "could deadlock"));
  EXPECT_EQ(refusal(dragonfly(2, 4, 2), with(Routing::valiant, 4)), "");
}

TEST(Deadlock, IsFoundWhereRepliesShareTheRequestsVirtualChannels) {
  Parameters parameters = with(Routing::minimal, 4);
  parameters.message_classes = 1;
  EXPECT_EQ(refusal(mesh({2, 2}), parameters), "");
  parameters.replies = true;
  const std::string text = refusal(mesh({2, 2}), parameters);
  EXPECT_TRUE(contains(text, "could deadlock"));
  EXPECT_TRUE(contains(text, "node "));
  parameters.message_classes = 2;
  EXPECT_EQ(refusal(mesh({2, 2}), parameters), "");
}

TEST(Deadlock, IsNotFoundOnTreesAndMemoryNetworks) {
  EXPECT_EQ(refusal(pcie_tree(8, 4, 0.7875, 10), with(Routing::minimal, 1)), "");
  EXPECT_EQ(refusal(nvlink_switch(8, 4, 2, 1, 10), with(Routing::minimal, 1)), "");
  for (const MemoryTopology kind :
       {MemoryTopology::dragonfly, MemoryTopology::flattened_butterfly, MemoryTopology::sliced_butterfly,
        MemoryTopology::sliced_mesh, MemoryTopology::sliced_torus, MemoryTopology::sliced_mesh_2x,
        MemoryTopology::sliced_torus_2x, MemoryTopology::overlay}) {
    MemoryNetwork network;
    network.kind = kind;
    network.gpus = kind == MemoryTopology::overlay ? 3 : 4;
    network.cpus = 4 - network.gpus;
    for (const Routing routing : {Routing::minimal, Routing::adaptive, Routing::valiant, Routing::ugal}) {
      Parameters parameters = with(routing, 6);
      parameters.replies = true;
      EXPECT_EQ(refusal(memory_network(network), parameters), "") << to_string(kind) << " " << to_string(routing);
    }
  }
}

// A ring of routers without a shape: shortest paths go round it, and one class of VCs is not enough.
TEST(Deadlock, IsAvoidedByLayersOfDestinationsWhereThereAreVirtualChannelsForIt) {
  for (const int length : {6, 32}) {
    const Topology topology = graph_of(length, ring_channels(length));
    EXPECT_EQ(scheme_of(topology, with(Routing::minimal, 1)), RouteTable::Scheme::up_down);
    EXPECT_EQ(scheme_of(topology, with(Routing::minimal, 2)), RouteTable::Scheme::layers);
    EXPECT_EQ(RouteTable(topology, with(Routing::minimal, 2)).vc_classes(), 2);
    EXPECT_TRUE(contains(refusal(topology, with(Routing::valiant, 1)), "could deadlock"));
    EXPECT_EQ(scheme_of(topology, with(Routing::valiant, 2)), RouteTable::Scheme::up_down);
    EXPECT_EQ(scheme_of(topology, with(Routing::ugal, 4)), RouteTable::Scheme::layers);
  }
}

// The tightest of networks, filled: one VC of two flits, packets longer than that.
TEST(Deadlock, DoesNotHappenOnRandomGraphsWithOneVirtualChannel) {
  for (int seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Topology topology = random_graph(6 + 3 * seed, 4 * seed, seed);
    Parameters parameters = with(Routing::minimal, 1);
    parameters.message_classes = 1;
    parameters.vc_buffer_bytes = 2 * parameters.flit_bytes;
    Network network(topology, parameters);
    Random random(seed);
    const int nodes = static_cast<int>(topology.terminals().size());
    for (int i = 0; i < 1000; ++i)
      network.inject({random.below(nodes), random.below(nodes), 0, 1 + random.below(6), 0});
    for (int cycle = 0; cycle < 50000 && !network.idle(); ++cycle) network.step();
    EXPECT_TRUE(network.idle());
  }
}

TEST(Deadlock, DoesNotHappenInWhatIsNotRefused) {
  Parameters parameters = with(Routing::ugal, 4);
  parameters.message_classes = 1;
  parameters.vc_buffer_bytes = 2 * parameters.flit_bytes;
  const Topology topology = torus({4, 4});
  Network network(topology, parameters);
  Random random(3);
  for (int i = 0; i < 2000; ++i) {
    network.inject({random.below(16), random.below(16), 0, 1 + random.below(6), 0});
  }
  for (int cycle = 0; cycle < 20000 && !network.idle(); ++cycle) network.step();
  EXPECT_TRUE(network.idle());
  EXPECT_EQ(network.deliveries().size(), 2000U);
}

// Dependencies of whole grids are put together from single dimensions; a grid that lacks a node is walked pair by pair.
TEST(Deadlock, VerdictsOnGridsAreThoseOfAllPairsOfRouters) {
  const auto lacking = [](const Topology& whole) {
    Topology topology(whole.name(), whole.shape());
    for (const Router& router : whole.routers()) topology.add_router(router);
    for (std::size_t c = 0; c < whole.channels().size(); c += 2) {
      topology.add_channel(whole.channels()[c].from, whole.channels()[c].to);
    }
    for (std::size_t t = 1; t < whole.terminals().size(); ++t) {
      topology.attach(topology.add_terminal(whole.terminals()[t].name, TerminalKind::node),
                      whole.terminals()[t].ports[0].router);
    }
    return topology;
  };
  const std::vector<Topology> grids = {mesh({4, 4}),
                                       torus({5, 5}),
                                       torus({7}),
                                       torus({4, 6}),
                                       torus({4, 2, 5}),
                                       torus({3, 3, 3}),
                                       flattened_butterfly({4, 4}, 1),
                                       mesh({3, 4, 3}, 2)};
  int refused = 0;
  for (const Topology& grid : grids) {
    for (const Routing routing : {Routing::minimal, Routing::valiant, Routing::ugal}) {
      for (int vcs = 1; vcs <= 4; ++vcs) {
        const bool whole = refusal(grid, with(routing, vcs)).empty();
        EXPECT_EQ(whole, refusal(lacking(grid), with(routing, vcs)).empty())
            << grid.name() << ", " << to_string(routing) << ", " << vcs << " VCs";
        if (!whole) ++refused;
      }
    }
  }
  EXPECT_GT(refused, 10);
}

// Neither paths nor terminals are gone through in pairs, which would take longer than any test may.
TEST(Deadlock, OfALargeGridIsLookedFor) {
  const int extent = dcgn::test::sanitized ? 40 : 150;
  const Topology topology = torus({extent, extent});
  topology.validate();
  const RouteTable routes(topology, with(Routing::ugal, 6));
  EXPECT_NE(refusal(topology, with(Routing::ugal, 1)), "");
}

}  // namespace
}  // namespace dcgn::memnet
