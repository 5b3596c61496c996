// routing.table: routes of one's own, and that bad ones are named.
#include "memnet/src/config.hpp"
#include "memnet/src/network.hpp"
#include "memnet/src/simulation.hpp"
#include "memnet/tests/scratch_file.hpp"
#include "tests/expect.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

using namespace dcgn;
using namespace dcgn::memnet;
using dcgn::test::contains, dcgn::test::error_of;

namespace {

class RoutingTable : public ScratchFile {
 protected:
  RoutingTable() : ScratchFile(".csv") {}

  // Of a ring of so many routers.
  Configuration ring(const std::string& routes, const std::string& vcs = "2", int routers = 4) const {
    write(routes);
    std::string channels;
    std::string terminals;
    for (int r = 0; r < routers; ++r) {
      const std::string comma = r == 0 ? "" : ", ";
      channels += comma + "[" + std::to_string(r) + ", " + std::to_string((r + 1) % routers) + "]";
      terminals += comma + "[" + std::to_string(r) + "]";
    }
    return parse_configuration("[topology]\nkind = \"graph\"\nrouters = " + std::to_string(routers) + "\nchannels = [" +
                                   channels + "]\nterminals = [" + terminals + "]\n[router]\nvcs_per_class = " + vcs +
                                   "\n[routing]\ntable = \"" + path_ + "\"\n",
                               "net.toml");
  }
  std::string mistake(const std::string& routes) const {
    const Error error = error_of([&] { ring(routes); });
    EXPECT_EQ(error.code(), Code::configuration);
    return error.what();
  }
  // The rows that `next` gives for all pairs of routers.
  template <class Next>
  static std::string rows_of(int routers, Next&& next) {
    std::string rows = "from,to,next\n";
    for (int from = 0; from < routers; ++from) {
      for (int to = 0; to < routers; ++to) {
        if (from == to) continue;
        rows += std::to_string(from) + "," + std::to_string(to) + "," + std::to_string(next(from, to)) + "\n";
      }
    }
    return rows;
  }
  // By three channels at most.
  static std::string clockwise() {
    return rows_of(4, [](int from, int) { return (from + 1) % 4; });
  }
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

TEST_F(RoutingTable, HopsAreThoseOfTheRoutes) {
  const int routers = 40;  // in a row: none goes round
  const auto along = [](int from, int to) { return from < to ? from + 1 : from - 1; };
  const Configuration c = ring(rows_of(routers, along), "1", routers);
  const Network network(c.topology, c.parameters);
  for (int from = 0; from < routers; ++from) {
    for (int to = 0; to < routers; ++to) {
      if (from == to) continue;
      EXPECT_EQ(network.routers_on_route(from, to), std::abs(to - from) + 1) << from << " to " << to;
    }
  }
}

TEST_F(RoutingTable, CirclesOfWaitingAreRefused) {
  const Configuration c = ring(clockwise(), "1");
  const Error error = error_of([&] { const Network network(c.topology, c.parameters); });
  const std::string text = c.explain(error).what();
  EXPECT_TRUE(contains(text, "net.toml:9: routing.table"));
  EXPECT_TRUE(contains(text, "could deadlock, expected no cycle: router 0 -> router 1"));
}

TEST_F(RoutingTable, MistakesAreNamedByLineOrPair) {
  EXPECT_TRUE(contains(mistake("0,1,1\n0,2\n"), path_ + ":2: 0,2: expected three routers, from,to,next"));
  EXPECT_TRUE(contains(mistake("0,1,one\n"), path_ + ":1: 0,1,one: expected three routers"));
  EXPECT_TRUE(contains(mistake("# mine\n0,4,1\n"), path_ + ":2: router 4: expected a router from 0 to 3"));
  EXPECT_TRUE(contains(mistake("0,2,2\n"), path_ + ":1: 0,2,2: expected a channel from router 0 to router 2"));
  EXPECT_TRUE(contains(mistake("2,2,1\n"), path_ + ":1: 2,2,1: expected two routers"));
  EXPECT_TRUE(contains(mistake("0,2,1\n0,2,3\n"), path_ + ":2: 0,2,3: expected one row from router 0 to router 2"));
  EXPECT_TRUE(
      contains(mistake("0,2,1\n1,2,0\n"), path_ + ": the route from router 0 to router 2 comes to router 0 again"));
  EXPECT_TRUE(contains(mistake("0,2,1\n"), path_ + ": no row from router 1 to router 0"));
  write(clockwise());
  const Error error = error_of([&] {
    parse_configuration("[topology]\nkind = \"mesh\"\nextents = [2, 2]\n[routing]\ntable = \"" + path_ + "\"\n",
                        "net.toml");
  });
  EXPECT_TRUE(contains(error.what(), "net.toml:5: routing.table"));
  EXPECT_TRUE(contains(error.what(), "expected a topology without dimensions"));
}

}  // namespace
