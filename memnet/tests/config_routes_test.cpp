// routing.table: routes of one's own, and that bad ones are named.
#include "memnet/src/config.hpp"
#include "memnet/src/network.hpp"
#include "memnet/src/simulation.hpp"

#include <dcgn/error.hpp>

#include <gtest/gtest.h>

#include <fstream>
#include <string>

using namespace dcgn;
using namespace dcgn::memnet;

namespace {

class RoutingTable : public ::testing::Test {
 protected:
  // Of a ring of four routers.
  Configuration ring(const std::string& routes, const std::string& vcs = "2") {
    std::ofstream(file_) << routes;
    return parse_configuration(
        "[topology]\nkind = \"graph\"\nrouters = 4\nchannels = [[0, 1], [1, 2], [2, 3], [3, 0]]\n"
        "terminals = [[0], [1], [2], [3]]\n[router]\nvcs_per_class = " +
            vcs + "\n[routing]\ntable = \"" + file_ + "\"\n",
        "net.toml");
  }
  std::string mistake(const std::string& routes) {
    try {
      ring(routes);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::configuration);
      return error.what();
    }
    return "no error";
  }
  // All clockwise, by three channels at most.
  static std::string clockwise() {
    std::string rows = "from,to,next\n";
    for (int from = 0; from < 4; ++from) {
      for (int to = 0; to < 4; ++to) {
        if (from == to) continue;
        rows += std::to_string(from) + "," + std::to_string(to) + "," + std::to_string((from + 1) % 4) + "\n";
      }
    }
    return rows;
  }
  static bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

  std::string file_ = ::testing::TempDir() + "routing_table_" +
                      ::testing::UnitTest::GetInstance()->current_test_info()->name() + ".csv";
};

TEST_F(RoutingTable, PacketsTakeItsRoutes) {
  const Configuration c = ring(clockwise());
  Network network(c.topology, c.parameters);
  EXPECT_EQ(network.routers_on_route(0, 3), 4);
  EXPECT_EQ(network.routers_on_route(3, 0), 2);
  EXPECT_EQ(network.routes(), "routes of routing.table, 2 layers of destinations");
  network.inject({.source = 0, .destination = 3});
  while (!network.idle()) network.step();
  EXPECT_EQ(network.deliveries().at(0).hops, 4);
  const Result r = run_open_loop(c.topology, c.parameters, c.traffic, c.load);
  EXPECT_NEAR(r.hops, 1 + (0 + 1 + 2 + 3) / 4.0, 0.1);
  EXPECT_FALSE(r.saturated);
}

TEST_F(RoutingTable, CirclesOfWaitingAreRefused) {
  const Configuration c = ring(clockwise(), "1");
  try {
    const Network network(c.topology, c.parameters);
    FAIL() << "expected an error";
  } catch (const Error& error) {
    const std::string text = c.explain(error).what();
    EXPECT_TRUE(has(text, "net.toml:9: routing.table")) << text;
    EXPECT_TRUE(has(text, "could deadlock, expected no cycle: router 0 -> router 1")) << text;
  }
}

TEST_F(RoutingTable, MistakesAreNamedByLineOrPair) {
  EXPECT_TRUE(has(mistake("0,1,1\n0,2\n"), file_ + ":2: 0,2: expected three routers, from,to,next"));
  EXPECT_TRUE(has(mistake("0,1,one\n"), file_ + ":1: 0,1,one: expected three routers"));
  EXPECT_TRUE(has(mistake("# mine\n0,4,1\n"), file_ + ":2: router 4: expected a router from 0 to 3"));
  EXPECT_TRUE(has(mistake("0,2,2\n"), file_ + ":1: 0,2,2: expected a channel from router 0 to router 2"));
  EXPECT_TRUE(has(mistake("2,2,1\n"), file_ + ":1: 2,2,1: expected two routers"));
  EXPECT_TRUE(has(mistake("0,2,1\n0,2,3\n"), file_ + ":2: 0,2,3: expected one row from router 0 to router 2"));
  EXPECT_TRUE(has(mistake("0,2,1\n1,2,0\n"), file_ + ": the route from router 0 to router 2 comes to router 0 again"));
  EXPECT_TRUE(has(mistake("0,2,1\n"), file_ + ": no row from router 1 to router 0"));
  std::ofstream(file_) << clockwise();
  try {
    parse_configuration("[topology]\nkind = \"mesh\"\nextents = [2, 2]\n[routing]\ntable = \"" + file_ + "\"\n",
                        "net.toml");
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_TRUE(has(error.what(), "net.toml:5: routing.table")) << error.what();
    EXPECT_TRUE(has(error.what(), "expected a topology without dimensions")) << error.what();
  }
}

}  // namespace
