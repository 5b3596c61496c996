// Logs of runs: that packets, links and counters add up to what the run reports.
#include "memnet/src/run_log.hpp"
#include "memnet/src/config.hpp"
#include "memnet/src/endpoint.hpp"
#include "memnet/src/simulation.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

using namespace dcgn;
using namespace dcgn::memnet;

namespace {

// A file in memory.
class LogFile {
 public:
  LogFile() : file_(open_memstream(&text_, &size_)) {}
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;
  ~LogFile() {
    std::fclose(file_);
    std::free(text_);
  }
  std::FILE* get() { return file_; }
  std::string text() {
    std::fflush(file_);
    return {text_, size_};
  }
  // The rows without their head, as numbers; words are 0.
  std::vector<std::vector<double>> rows() {
    std::istringstream lines(text());
    std::string line;
    std::getline(lines, line);
    std::vector<std::vector<double>> all;
    while (std::getline(lines, line)) {
      std::istringstream fields(line);
      std::string field;
      all.emplace_back();
      while (std::getline(fields, field, ',')) all.back().push_back(std::strtod(field.c_str(), nullptr));
    }
    return all;
  }

 private:
  char* text_ = nullptr;
  std::size_t size_ = 0;
  std::FILE* file_;
};

Configuration logged_mesh() {
  return parse_configuration(
      "[topology]\nkind = \"mesh\"\nextents = [4, 4]\n[traffic]\nload = 0.2\n[run]\nwarmup = 500\nmeasure = 2000\n",
      "x");
}

TEST(RunLog, PacketsHaveTheRunsLatencyAndHops) {
  const Configuration c = logged_mesh();
  LogFile packets;
  RunLog log(c.topology, c.parameters.clock_ghz, {.packets = packets.get()}, 1000);
  const Result r = run_open_loop(c.topology, c.parameters, c.traffic, c.load, {}, &log);
  double latency = 0;
  double hops = 0;
  std::int64_t measured = 0;
  double id = 0;
  for (const std::vector<double>& row : packets.rows()) {
    ASSERT_EQ(row.size(), 10U);
    EXPECT_EQ(row[0], id++);
    EXPECT_EQ(row[8], row[7] - row[5]);
    EXPECT_LE(row[5], row[6]);
    EXPECT_LT(row[6], row[7]);
    if (row[5] < 500 || row[5] >= 2500) continue;
    ++measured;
    latency += row[8];
    hops += row[9];
  }
  EXPECT_EQ(measured, r.latency.packets);
  EXPECT_DOUBLE_EQ(latency / static_cast<double>(measured), r.latency.mean);
  EXPECT_DOUBLE_EQ(hops / static_cast<double>(measured), r.hops);
  const Result without = run_open_loop(c.topology, c.parameters, c.traffic, c.load);
  EXPECT_EQ(without.latency.mean, r.latency.mean);
}

TEST(RunLog, WindowsOfLinksCoverTheRunAndHaveAllFlits) {
  const Configuration c = logged_mesh();
  LogFile links;
  LogFile counters;
  RunLog log(c.topology, c.parameters.clock_ghz, {.links = links.get(), .counters = counters.get()}, 300);
  const Result r = run_open_loop(c.topology, c.parameters, c.traffic, c.load, {}, &log);
  const std::size_t count = named_links(c.topology).size();
  const std::vector<std::vector<double>> rows = links.rows();
  ASSERT_EQ(rows.size() % count, 0U);
  double flits = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::size_t window = i / count;
    EXPECT_EQ(rows[i][0], static_cast<double>(300 * window));
    EXPECT_NEAR(rows[i][5], rows[i][4] / (rows[i][1] - rows[i][0]), 1e-12);
    const std::size_t link = i % count;
    // Through a switch, and not into the network.
    if (link < c.topology.channels().size() || link >= c.topology.channels().size() + 16) flits += rows[i][4];
  }
  EXPECT_EQ(rows.back()[1], static_cast<double>(r.cycles));
  EXPECT_NEAR(flits, static_cast<double>(r.flit_hops), 200);  // some flits are on a link at the end

  const std::string json = counters.text();
  EXPECT_EQ(json.substr(json.size() - 4), "\n]}\n");
  std::size_t values = 0;
  for (std::size_t at = json.find("\"ph\": \"C\""); at != std::string::npos; at = json.find("\"ph\": \"C\"", at + 1))
    ++values;
  EXPECT_EQ(values, rows.size() / count * (count + 5));
  EXPECT_NE(json.find("\"name\": \"router 0 to router 1\", \"ts\": 0.24, \"args\": {\"use\": "), std::string::npos);
}

// Two packets far apart: the idle time between them has windows without flits.
TEST(RunLog, ReplaysAreLoggedAndIdleTimeIsOfNoWindow) {
  const Configuration c = logged_mesh();
  Trace trace;
  trace.sources = 16;
  trace.records = {{10, 5, 0, 1, TraceKind::packet, 0}, {1000, 5, 0, 1, TraceKind::packet, 0}};
  LogFile packets;
  LogFile links;
  RunLog log(c.topology, c.parameters.clock_ghz, {.packets = packets.get(), .links = links.get()}, 100);
  const std::vector<Delivery> logged = replay_packets(c.topology, c.parameters, trace, &log);
  const std::vector<Delivery> plain = replay_packets(c.topology, c.parameters, trace);
  ASSERT_EQ(logged.size(), 2U);
  ASSERT_EQ(plain.size(), 2U);
  EXPECT_EQ(logged[1].delivered, plain[1].delivered);
  const auto rows = packets.rows();
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[1][5], 1000);
  EXPECT_EQ(rows[1][7], static_cast<double>(plain[1].delivered));
  for (const std::vector<double>& row : links.rows()) {
    if (row[4] > 0) {
      EXPECT_TRUE(row[0] == 0 || row[0] == 1000) << row[0];
    }
  }
}

}  // namespace
