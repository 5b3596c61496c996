// Reports: rows, CSV, what is said of topologies, pictures.
#include "memnet/src/report.hpp"

#include "graphs.hpp"
#include "memnet/src/config.hpp"
#include "memnet/src/picture.hpp"
#include "memnet/src/topologies.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <variant>
#include <vector>

using namespace dcgn::memnet;

namespace {

int count(const std::string& text, const std::string& word) {
  int found = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++found;
  return found;
}

TEST(Report, CsvQuotesWhatItMust) {
  const std::vector<ReportRow> rows = {
      {{"name", std::string("a,b")}, {"value", 0.1}, {"flag", true}},
      {{"name", std::string("say \"c\"")}, {"value", std::monostate()}, {"flag", false}}};
  EXPECT_EQ(to_csv(rows), "name,value,flag\n\"a,b\",0.1,true\n\"say \"\"c\"\"\",,false\n");
  EXPECT_EQ(to_csv({}), "");
  EXPECT_EQ(to_text(std::int64_t{1} << 60), "1152921504606846976");
}

TEST(Report, WhereNoPacketCameThereIsNoLatency) {
  const Configuration configuration = parse_configuration("[topology]\nkind = \"mesh\"\nextents = [2, 2]\n", "", {});
  Result result;
  const auto cell = [&](const std::string& name) {
    for (const auto& [key, value] : report_row(configuration, result))
      if (key == name) return value;
    return Cell(false);
  };
  for (const char* name : {"latency_mean", "latency_p99", "network_latency_mean", "hops"})
    EXPECT_EQ(cell(name), Cell(std::monostate())) << name;
  result.latency.packets = 1;
  result.latency.mean = 7;
  EXPECT_EQ(cell("latency_mean"), Cell(7.0));
}

// k x k mesh: the mean of |a - b| over a dimension is (k - 1 / k) / 3, and a router more than channels is passed.
TEST(Report, SummaryOfAMeshIsWhatArithmeticSays) {
  const TopologySummary s = summarize(mesh({8, 8}));
  EXPECT_EQ(s.routers, 64);
  EXPECT_EQ(s.channels, 2 * 8 * 7);
  EXPECT_EQ(s.diameter, 14);
  EXPECT_EQ(s.bisection, 8);
  EXPECT_EQ(s.largest_radix, 5);
  EXPECT_NEAR(s.mean_hops, 1 + 2 * (8 - 1.0 / 8) / 3, 1e-12);
  EXPECT_EQ(summarize(torus({8, 8})).bisection, 16);
  EXPECT_EQ(summarize(torus({8, 8})).diameter, 8);
  EXPECT_EQ(summarize(flattened_butterfly({4, 4}, 4)).bisection, 16);
}

TEST(Report, BisectionsAreThoseThatAreKnown) {
  const struct {
    Topology topology;
    int channels;
    bool exact;
  } known[] = {
      {mesh({8, 8}), 8, true},
      {mesh({4, 6, 8}), 4 * 6, true},
      {mesh({6, 4}), 4, true},
      {mesh({5, 5}), 6, false},  // between columns, with a step in the middle
      {mesh({2, 2, 2, 2}), 8, true},
      {mesh({2, 2, 2, 2, 2, 2, 2}), 64, true},
      {torus({8, 8}), 16, true},
      {torus({4, 6}), 8, true},
      {torus({3, 8, 4}), 2 * 3 * 4, true},
      {flattened_butterfly({4, 4}, 4), 16, true},
      {flattened_butterfly({8, 8}, 1), 128, true},
      {flattened_butterfly({2, 16}, 1), 16, true},
      {fat_tree(4, 2), 8, true},
      {fat_tree(2, 4), 8, false},
      {dragonfly(1, 2, 1), 2, true},
  };
  for (const auto& one : known) {
    const TopologySummary s = summarize(one.topology);
    EXPECT_EQ(s.bisection, one.channels) << s.name;
    EXPECT_EQ(s.bisection_exact, one.exact) << s.name;
  }
  const TopologySummary s = summarize(dragonfly(2, 4, 2));
  EXPECT_LE(s.bisection, 20);
  EXPECT_FALSE(s.bisection_exact);
}

// 24 routers in two rings, numbered in turns, and one channel between: halves by number, and by distance from a router,
// cut a ring.
TEST(Report, BisectionOfTwoRingsIsTheChannelBetweenThem) {
  Pairs channels;
  for (int r = 0; r < 24; ++r) channels.emplace_back(r, (r + 2) % 24);
  channels.emplace_back(4, 11);
  EXPECT_EQ(summarize(graph_of(24, channels)).bisection, 1);
}

TEST(Report, SummaryOfASlicedNetworkCountsItsChannels) {
  MemoryNetwork network;
  const TopologySummary s = summarize(memory_network(network));
  EXPECT_EQ(s.channels, 4 * 6);
  EXPECT_EQ(s.intra_cluster_channels, 0);
  EXPECT_EQ(s.terminal_channels, 4 * 8);
  EXPECT_EQ(s.diameter, 1);
  EXPECT_EQ(s.largest_radix, 5);
  // A GPU enters at the HMC of the right slice: its own cube is one router, the others' two.
  EXPECT_NEAR(s.mean_hops, (1 * 0.25 + 2 * 0.75), 1e-12);
  EXPECT_EQ(s.bisection, 4 * 4);
}

TEST(Report, LoadsHaveARowForEachDirection) {
  const Configuration c =
      parse_configuration("[topology]\nkind = \"mesh\"\nextents = [3, 3]\n[run]\nmeasure = 2000\n", "x");
  const Result result = run_open_loop(c.topology, c.parameters, c.traffic, c.load);
  const std::vector<ReportRow> rows = report_loads(c.topology, result);
  EXPECT_EQ(rows.size(), 2U * 12 + 2U * 9);
  double carried = 0;
  for (const ReportRow& row : rows) carried += std::get<double>(row[3].second);
  EXPECT_GT(carried, 0);
  const std::string csv = to_csv({report_row(c, result)});
  EXPECT_EQ(csv.rfind("load,offered,throughput,", 0), 0U) << csv;
  EXPECT_EQ(count(csv, "\n"), 2);
}

TEST(Report, SharesOfNothingAreNone) {
  Configuration configuration;
  KernelResult kernels;
  kernels.l1_reads = 4;
  kernels.l1_hits = 1;
  for (const auto& [name, cell] : report_row(configuration, kernels)) {
    if (name == "l1_hit_share") {
      EXPECT_EQ(cell, Cell(0.25));
    } else if (name == "l2_hit_share") {
      EXPECT_EQ(cell, Cell(std::monostate()));
    }
  }
}

TEST(Picture, HasWhatTheTopologyHas) {
  MemoryNetwork network;
  network.gpus = 3;
  network.cpus = 1;
  network.kind = MemoryTopology::overlay;
  const Topology topology = memory_network(network);
  const std::string svg = topology_svg(topology, "a < b");
  EXPECT_EQ(count(svg, "<circle"), 16);
  EXPECT_EQ(count(svg, "<path"), topology.channel_count() + topology.terminal_channel_count());
  EXPECT_EQ(count(svg, "stroke-dasharray"), 4 * 3 + 8);  // each slice's pass-through path, and the CPU's ports on them
  EXPECT_NE(svg.find("a &lt; b"), std::string::npos);
  EXPECT_EQ(count(svg, "<svg"), 1);
  EXPECT_EQ(svg.substr(svg.size() - 7), "</svg>\n");
  EXPECT_EQ(svg.find("nan"), std::string::npos);
}

TEST(Picture, ColoursChannelsByTheirUse) {
  const Topology topology = mesh({2, 2});
  Result run;
  run.channel_load.assign(topology.channels().size(), 0.0);
  run.channel_load[3] = 1.0;
  run.injection_load.assign(4, 0.5);
  run.ejection_load.assign(4, 0.5);
  const std::string svg = topology_svg(topology, "loads", &run);
  EXPECT_EQ(count(svg, "stroke=\"" + use_colour(1) + "\""), 1);
  EXPECT_EQ(count(svg, "stroke=\"" + use_colour(0) + "\""), 7);
  EXPECT_EQ(count(svg, "stroke=\"" + use_colour(0.5) + "\""), 8);
  EXPECT_NE(use_colour(0.2), use_colour(0.3));
  EXPECT_EQ(use_colour(-1), use_colour(0));
  EXPECT_EQ(use_colour(2), use_colour(1));
}

}  // namespace
