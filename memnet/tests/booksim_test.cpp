// Configurations of booksim2: what becomes of each key, and that the network is the one they mean.
#include "memnet/src/booksim.hpp"
#include "memnet/src/config.hpp"
#include "memnet/src/simulation.hpp"

#include <dcgn/error.hpp>
#include <dcgn/simulated_network.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

using namespace dcgn;
using namespace dcgn::memnet;

namespace {

const std::string booksim_mesh =
    "// 8 x 8\n"
    "topology = mesh; k = 8; n = 2;\n"
    "routing_function = dim_order;\n"
    "routing_delay = 0; credit_delay = 2; num_vcs = 8; sample_period = 2000;\n";

std::string mistake_in_booksim(const std::string& content, const std::vector<std::string>& settings = {}) {
  try {
    read_booksim(content, "net.cfg", settings);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::configuration);
    return error.what();
  }
  return "no error";
}

Configuration parsed_booksim(const std::string& content) {
  return parse_configuration(read_booksim(content, "net.cfg").toml, "net.cfg", {}, false);
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// The only terminal that one sends to.
int partner(const Configuration& c, int source) {
  const Destinations destinations(c.topology, c.traffic);
  int found = -1;
  for (int t = 0; t < static_cast<int>(c.topology.terminals().size()); ++t) {
    if (destinations.share(source, t) == 1) found = t;
  }
  return found;
}

TEST(Booksim, AMeshHasThePublicLatency) {
  const Configuration c = parsed_booksim(booksim_mesh + "injection_rate = 0.3;");
  EXPECT_EQ(c.parameters.stages, 3);
  EXPECT_EQ(c.parameters.vcs(), 8);
  EXPECT_EQ(c.parameters.vc_buffer_flits(), 8);
  EXPECT_EQ(c.parameters.measure_cycles, 6000);
  EXPECT_EQ(c.parameters.warmup_cycles, 6000);
  EXPECT_EQ(parsed_booksim(booksim_mesh + "warmup_periods = 0;").parameters.warmup_cycles, 1);
  const Result r = run_open_loop(c.topology, c.parameters, c.traffic, c.load);
  EXPECT_NEAR(r.latency.mean, 29.3157, 0.02 * 29.3157);  // booksim2's, of 30,000 cycles
}

TEST(Booksim, RatesAreInPacketsUnlessTheFileSaysFlits) {
  EXPECT_DOUBLE_EQ(parsed_booksim(booksim_mesh + "packet_size = {5}; injection_rate = 0.05;").load, 0.25);
  const std::string flits = "packet_size = 5; injection_rate = 0.05; injection_rate_uses_flits = 1;";
  EXPECT_DOUBLE_EQ(parsed_booksim(booksim_mesh + flits).load, 0.05);
  EXPECT_TRUE(has(mistake_in_booksim(booksim_mesh + "packet_size = 5;\ninjection_rate = 0.5;"),
                  "net.cfg:6: injection_rate = 0.5: expected at most 0.2 packets a cycle"));
}

TEST(Booksim, EveryKeyIsTakenIgnoredOrRefusedByName) {
  const BooksimConfiguration made = read_booksim(booksim_mesh + "alloc_iters = 2; print_activity = 1;", "net.cfg");
  const auto note = [&](const std::string& key) {
    return *std::find_if(made.notes.begin(), made.notes.end(), [&](const BooksimNote& one) { return one.key == key; });
  };
  EXPECT_EQ(made.notes.size(), 10U);
  EXPECT_TRUE(note("num_vcs").taken);
  EXPECT_FALSE(note("alloc_iters").taken);
  EXPECT_TRUE(has(note("alloc_iters").reason, "one iteration"));
  EXPECT_EQ(note("print_activity").place, "net.cfg:5");

  const std::string two = mistake_in_booksim(booksim_mesh + "internal_speedup = 2.0;\nwait_for_tail_credit = 1;");
  EXPECT_TRUE(has(two, "net.cfg:5: internal_speedup = 2.0: expected 1.0: ")) << two;
  EXPECT_TRUE(has(two, "net.cfg:6: wait_for_tail_credit = 1: expected 0: ")) << two;
  EXPECT_EQ(mistake_in_booksim(booksim_mesh + "internal_speedup = 2.0;", {"internal_speedup=1"}), "no error");
  EXPECT_TRUE(has(mistake_in_booksim(booksim_mesh + "nun_vcs = 8;"), "net.cfg:5: nun_vcs: unknown"));
  EXPECT_TRUE(has(mistake_in_booksim(booksim_mesh + "num_vcs = 8"), "net.cfg:5: num_vcs=8: expected ; at the end"));
  EXPECT_TRUE(has(mistake_in_booksim(booksim_mesh + "num_vcs 8;"), "net.cfg:5: num_vcs 8;: expected KEY = VALUE;"));
  EXPECT_TRUE(has(mistake_in_booksim(booksim_mesh, {"use_read_write=1"}), "--set: use_read_write = 1: expected 0"));
  EXPECT_TRUE(has(mistake_in_booksim(booksim_mesh, {"routing_function=romm"}),
                  "--set: routing_function = romm: expected one of dim_order, dor, valiant with topology = mesh"));
  EXPECT_TRUE(has(mistake_in_booksim("topology = qtree;"), "net.cfg:1: topology = qtree: expected one of anynet, "));
  EXPECT_TRUE(has(mistake_in_booksim(booksim_mesh, {"traffic=randperm"}), "--set: traffic = randperm: expected"));
}

TEST(Booksim, BlanksWithinAValueAreRefused) {
  EXPECT_TRUE(
      has(mistake_in_booksim("topology = mesh;\nk = 1 6;"), "net.cfg:2: k = 1 6: expected a value without blanks"));
  EXPECT_TRUE(has(mistake_in_booksim("k = 1 // of\n6;"), "net.cfg:1: k = 1 6: expected"));
  EXPECT_TRUE(has(mistake_in_booksim("k = 8\nn = 2;"), "net.cfg:1: k = 8 n=2: expected"));
  EXPECT_TRUE(has(mistake_in_booksim("num vcs = 8;"), "net.cfg:1: num vcs: unknown"));
  EXPECT_TRUE(
      has(mistake_in_booksim(booksim_mesh, {"traffic=hotspot({1 2})"}), "--set: traffic = hotspot({1 2}): expected"));
  EXPECT_TRUE(
      has(mistake_in_booksim(booksim_mesh, {"traffic=hotspot({1} {2})"}), "--set: traffic = hotspot({1}{2}): "));
  EXPECT_EQ(read_booksim(booksim_mesh, "net.cfg", {" k =\t4 ", "traffic = hotspot( {1, 2} )"}).toml,
            read_booksim(booksim_mesh + "k=4;traffic=hotspot({1,2});", "net.cfg").toml);
}

// What is given and has no part in the network or its traffic is not said to be taken.
TEST(Booksim, KeysThatNothingReadsAreIgnored) {
  const auto ignored = [](const std::string& text) {
    std::string keys;
    for (const BooksimNote& note : read_booksim(text, "net.cfg").notes) {
      if (note.taken) continue;
      EXPECT_TRUE(has(note.reason, "means nothing with topology = ")) << note.reason;
      keys += note.key + " ";
    }
    return keys;
  };
  EXPECT_EQ(ignored(booksim_mesh + "c = 4; x = 2; xr = 2; network_file = none; use_noc_latency = 0;"),
            "c network_file x xr ");
  EXPECT_EQ(ignored(booksim_mesh + "traffic = tornado; xr = 1;"), "");
  const std::string flat = "topology = flatfly; k = 4; n = 2; x = 4; routing_function = ran_min; ";
  EXPECT_EQ(ignored(flat + "y = 4; c = 1; xr = 1; yr = 1;"), "");
  EXPECT_TRUE(has(mistake_in_booksim(flat + "y = 8;"), "net.cfg:1: y = 8: expected x, which is 4"));
  EXPECT_EQ(ignored("topology = fly; k = 2; n = 3; c = 1; routing_function = dest_tag;"), "c ");
}

TEST(Booksim, PatternsTakeTheirArgumentsAndNoMore) {
  const auto refused = [](const std::string& traffic, const std::string& why) {
    const std::string text =
        mistake_in_booksim("topology = mesh; k = 4; routing_function = dor;", {"traffic=" + traffic});
    EXPECT_TRUE(has(text, "--set: traffic = " + traffic + ": expected " + why)) << text;
  };
  refused("uniform(3)", "uniform with at most 0 arguments");
  refused("tornado(4,2,1,1)", "tornado with at most 3 arguments");
  refused("tornado({4,2})", "one number for each argument of tornado");
  refused("background({1},{2})", "background with at most 1 argument");
  refused("background({1,16})", "nodes from 0 to 15");
  refused("background", "nodes by number");
  refused("bad_dragon(4)", "groups of at most 16 nodes");
  refused("hotspot({-1})", "nodes from 0 to 15");
  refused("hotspot({1,2},{1,2,3})", "at most a rate for each hotspot");
  refused("hotspot({1,2},{-1,2})", "rates of 0 or more");
  refused("hotspot({1,2},{0})", "rates of 0 or more");
  refused("hotspot({1,2)", "a pattern");
  refused("hotspot()", "a pattern");
  refused("foo", "one of uniform, ");
}

// A node that is named twice is drawn twice as often.
TEST(Booksim, HotspotsMayBeNamedTwice) {
  const Configuration c = parsed_booksim(booksim_mesh + "traffic = hotspot({1,2,1});");
  EXPECT_DOUBLE_EQ(Destinations(c.topology, c.traffic).share(0, 1), 2.0 / 3);
  EXPECT_DOUBLE_EQ(Destinations(c.topology, c.traffic).share(0, 2), 1.0 / 3);
}

TEST(Booksim, TooManyCyclesAreRefusedByTheKeysOfTheFile) {
  const std::string text = mistake_in_booksim(booksim_mesh + "sample_period = 100000000;\nwarmup_periods = 1000;");
  EXPECT_TRUE(has(text, "net.cfg:5: sample_period = 100000000: expected at most 99700897 with warmup_periods = 1000"))
      << text;
  parsed_booksim(booksim_mesh + "sample_period = 99700897; warmup_periods = 1000; latency_thres = 1e-9;");
}

// By whatever loads configurations; with settings of both simulators.
TEST(Booksim, FilesAreLoadedByTheirName) {
  const std::string file = testing::TempDir() + "booksim_loaded.cfg";
  std::ofstream(file) << booksim_mesh << "alloc_iters = 2;";
  const Configuration c = load_configuration(file, {"k=4", "router.stages=2"});
  EXPECT_EQ(c.topology.terminals().size(), 16U);
  EXPECT_EQ(c.parameters.stages, 2);
  ASSERT_EQ(c.ignored.size(), 1U);
  EXPECT_EQ(c.ignored[0].rfind(file + ":5: alloc_iters = 2: ignored: ", 0), 0U) << c.ignored[0];
  // A sum that is too large is about the setting, not about run.max, which no user wrote.
  const Configuration late = load_configuration(file, {"run.warmup=5000000"});
  try {
    run_open_loop(late.topology, late.parameters, late.traffic, late.load);
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_TRUE(has(late.explain(error).what(), "--set: run.warmup: ")) << late.explain(error).what();
  }
  EXPECT_EQ(SimulatedNetwork::load(file, {"n=1"}).terminals(), 8);
}

TEST(Booksim, ChannelsOfATorusAreTwoCyclesUnlessTheFileSaysNot) {
  const std::string torus = "topology = torus; routing_function = dim_order;";
  EXPECT_EQ(parsed_booksim(torus).topology.channels()[0].link.extra_latency, 1);
  EXPECT_EQ(parsed_booksim(torus + "use_noc_latency = 0;").topology.channels()[0].link.extra_latency, 0);
}

TEST(Booksim, PatternsSendWhereBooksimSends) {
  const std::string fly = "topology = fly; k = 2; n = 3; routing_function = dest_tag; traffic = ";
  EXPECT_EQ(partner(parsed_booksim(fly + "bitrev;"), 3), 6);
  EXPECT_EQ(partner(parsed_booksim(fly + "shuffle;"), 5), 3);
  EXPECT_EQ(partner(parsed_booksim(fly + "neighbor(8,1,1);"), 7), 0);
  const Configuration spots = parsed_booksim(fly + "hotspot({1,2},{1,3});");
  EXPECT_DOUBLE_EQ(Destinations(spots.topology, spots.traffic).share(0, 2), 0.75);
  const Configuration dragon = parsed_booksim(
      "topology = dragonflynew; k = 1; n = 1; routing_function = min; "
      "traffic = bad_dragon;");
  EXPECT_DOUBLE_EQ(Destinations(dragon.topology, dragon.traffic).share(0, 2), 0.5);
}

// Nodes of a router with four are two by two of the whole field: node 2 is the second router's first.
TEST(Booksim, NodesAreNumberedByTheField) {
  const Configuration c = parsed_booksim(
      "topology = flatfly; k = 4; n = 2; c = 4; x = 4; y = 4; xr = 2; yr = 2; routing_function = ran_min; "
      "traffic = transpose;");
  // Node 2 is at column 2 of row 0, and sends to row 2 of column 0: router 4's first.
  EXPECT_EQ(partner(c, 4), 16);
}

TEST(Booksim, AnynetIsAGraph) {
  const std::string file = testing::TempDir() + "booksim_anynet.txt";
  std::ofstream(file) << "router 0 node 0 node 1 router 1 3\nrouter 1 node 2 router 0 3\n";
  const std::string text = "topology = anynet; routing_function = min; network_file = " + file + ";";
  const Configuration c = parsed_booksim(text);
  EXPECT_EQ(c.topology.terminals().size(), 3U);
  EXPECT_EQ(c.topology.channels()[0].link.extra_latency, 2);
  std::ofstream(file) << "router 0 node 0\nrouter 1 node 1 router 0 3\n";
  EXPECT_TRUE(has(mistake_in_booksim(text), file + ":2: routers 0 and 1 are 1 cycles apart, but 3 the other way"));
  std::ofstream(file) << "router 0 node 0\nrouter 1 knot 1\n";
  EXPECT_TRUE(has(mistake_in_booksim(text), file + ":2: knot: expected router NUMBER [CYCLES] or node NUMBER"));
  std::ofstream(file) << "router 0 node 0 router 2\n";
  EXPECT_TRUE(has(mistake_in_booksim(text), file + ": router 2 without router 1, expected numbers from 0 on"));
}

}  // namespace
