// Logs of runs: that packets, links and counters add up to what the run reports.
#include "memnet/src/run_log.hpp"
#include "memnet/src/config.hpp"
#include "memnet/src/endpoint.hpp"
#include "memnet/src/simulation.hpp"
#include "tests/expect.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
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
    EXPECT_NEAR(rows[i][6], rows[i][5] / (rows[i][1] - rows[i][0]), 1e-12);
    const std::size_t link = i % count;
    // Through a switch, and not into the network.
    if (link < c.topology.channels().size() || link >= c.topology.channels().size() + 16) flits += rows[i][5];
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

// Of the mesh: the packets by cycle and flits, from terminal 0 to 5.
Trace trace_of(const std::vector<std::pair<std::uint64_t, std::uint16_t>>& packets) {
  Trace trace;
  trace.sources = 16;
  for (const auto& [cycle, flits] : packets) trace.records.push_back({cycle, 5, 0, flits, TraceKind::packet, 0});
  return trace;
}

// The counter's values, by microseconds.
std::map<double, double> values_of(const std::string& json, const std::string& counter) {
  std::map<double, double> values;
  const std::string name = "\"name\": \"" + counter + "\", \"ts\": ";
  for (std::size_t at = json.find(name); at != std::string::npos; at = json.find(name, at + 1)) {
    char* end = nullptr;
    const double time = std::strtod(json.c_str() + at + name.size(), &end);
    const std::size_t value = json.find(": ", json.find("\"args\": {", at) + 9) + 2;
    values[time] = std::strtod(json.c_str() + value, nullptr);
  }
  return values;
}

// Two packets far apart: the idle windows between them are one.
TEST(RunLog, ReplaysAreLoggedAndIdleTimeIsOneWindow) {
  const Configuration c = logged_mesh();
  const Trace trace = trace_of({{10, 1}, {1000, 1}});
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
  const std::size_t count = named_links(c.topology).size();
  const auto windows = links.rows();
  ASSERT_EQ(windows.size(), 3 * count);
  for (const std::vector<double>& row : windows) {
    if (row[5] > 0) {
      EXPECT_TRUE(row[0] == 0 || row[0] == 1000) << row[0];
    }
  }
  EXPECT_EQ(windows[count][0], 100);
  EXPECT_EQ(windows[count][1], 1000);
}

// One window a cycle would not end for years.
TEST(RunLog, AJumpOfManyWindowsTakesNoTime) {
  const Configuration c = logged_mesh();
  const std::uint64_t late = std::uint64_t{1} << 61;
  const Trace trace = trace_of({{late, 1}, {2 * late - 2, 1}});
  LogFile packets;
  LogFile links;
  RunLog log(c.topology, c.parameters.clock_ghz, {.packets = packets.get(), .links = links.get()}, 1);
  EXPECT_EQ(replay_packets(c.topology, c.parameters, trace, &log).size(), 2U);
  EXPECT_LT(links.rows().size(), 100 * named_links(c.topology).size());
  LogFile alone;
  RunLog one(c.topology, c.parameters.clock_ghz, {.packets = alone.get()}, INT64_MAX);
  EXPECT_EQ(replay_packets(c.topology, c.parameters, trace, &one).size(), 2U);
  EXPECT_EQ(alone.text(), packets.text());
}

// At 1.25 GHz a window is 0.08 us.
TEST(RunLog, QueuesAreThoseOfTheWindowsEnd) {
  const Configuration c = logged_mesh();
  LogFile counters;
  RunLog log(c.topology, c.parameters.clock_ghz, {.counters = counters.get()}, 100);
  replay_packets(c.topology, c.parameters, trace_of({{20, 1}, {1000, 150}, {1000, 150}}), &log);
  const std::string json = counters.text();
  const std::map<double, double> queued = values_of(json, "source queues");
  const auto first = queued.upper_bound(0.87);
  ASSERT_NE(first, queued.end());
  for (auto at = queued.begin(); at != first; ++at) EXPECT_EQ(at->second, 0) << at->first;
  EXPECT_NEAR(first->second, 200, 20);  // 100 cycles took about as many of 300 flits
  EXPECT_EQ(queued.begin()->first, 0.08);
  EXPECT_EQ(queued.count(0.8), 1U);
  EXPECT_EQ(values_of(json, "highest use of a link").begin()->first, 0);
  // The gap and the first hundred cycles of the long packets deliver nothing.
  const std::map<double, double> latency = values_of(json, "mean latency");
  EXPECT_EQ(latency.count(0), 1U);
  EXPECT_EQ(latency.count(0.08), 0U);
  for (const auto& [us, cycles] : latency) EXPECT_GT(cycles, 0) << us;
}

// Nor has a closed loop or an open one packets in a window that ends as they are created.
TEST(RunLog, CyclesAreToldOfBeforeTheirPackets) {
  class Watch : public RunObserver {
   public:
    void stepping(const Network& network) override {
      EXPECT_EQ(network.counters().injected_packets, injected) << network.now();
    }
    void stepped(const Network& network) override { injected = network.counters().injected_packets; }
    void ended(const Network&) override {}
    std::int64_t injected = 0;
  };
  const Configuration open = logged_mesh();
  Watch watch;
  run_open_loop(open.topology, open.parameters, open.traffic, open.load, {}, &watch);
  EXPECT_GT(watch.injected, 0);
  const Configuration closed =
      parse_configuration("[topology]\nkind = \"sFBFLY\"\ngpus = 2\n[requests]\ncount = 100\ngap = 50\n", "x");
  Watch other;
  run_closed_loop(closed.topology, closed.parameters, closed.memory, closed.requesters(), 100000, nullptr, {}, &other);
  EXPECT_GT(other.injected, 0);
}

TEST(RunLog, ParallelLinksHaveNumbers) {
  const Configuration c = parse_configuration(
      "[topology]\nkind = \"graph\"\nrouters = 2\nchannels = [[0, 1], [0, 1]]\nterminals = [[0], [1]]\n", "x");
  LogFile links;
  LogFile counters;
  RunLog log(c.topology, c.parameters.clock_ghz, {.links = links.get(), .counters = counters.get()}, 1000);
  Trace trace;
  trace.sources = 1;
  trace.records = {{0, 1, 0, 1, TraceKind::packet, 0}};
  replay_packets(c.topology, c.parameters, trace, &log);
  const std::string text = links.text();
  EXPECT_EQ(text.rfind("start,end,from,to,number,flits,use\n", 0), 0U);
  for (const char* part :
       {",router 0,router 1,1,", ",router 0,router 1,2,", ",router 1,router 0,2,", ",node 0,router 0,1,"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  EXPECT_EQ(values_of(counters.text(), "router 0 to router 1").size(), 1U);
  EXPECT_EQ(values_of(counters.text(), "router 0 to router 1 #2").size(), 1U);
}

TEST(RunLog, AFullDiskEndsTheRun) {
  const Configuration c = logged_mesh();
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> full(std::fopen("/dev/full", "w"), &std::fclose);
  ASSERT_NE(full, nullptr);
  RunLog log(c.topology, c.parameters.clock_ghz, {.links = full.get()}, 10);
  std::int64_t steps = 0;
  class Count : public RunObserver {
   public:
    Count(RunLog& log, std::int64_t& steps) : log_(log), steps_(steps) {}
    void stepping(const Network& network) override { log_.stepping(network); }
    void stepped(const Network& network) override {
      ++steps_;
      log_.stepped(network);
    }
    void ended(const Network& network) override { log_.ended(network); }

   private:
    RunLog& log_;
    std::int64_t& steps_;
  } count(log, steps);
  const Error error = test::error_of([&] { run_open_loop(c.topology, c.parameters, c.traffic, c.load, {}, &count); });
  EXPECT_EQ(error.code(), Code::io);
  EXPECT_TRUE(test::contains(error.what(), "the log of links cannot be written: No space left on device"));
  EXPECT_LT(steps, 200);
}

}  // namespace
