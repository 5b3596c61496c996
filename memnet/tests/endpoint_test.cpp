// Closed-loop endpoints on memory networks.
#include "memnet/src/endpoint.hpp"
#include "memnet/src/topologies.hpp"

#include "tests/expect.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

using namespace dcgn::memnet;
using dcgn::test::contains, dcgn::test::error_of;

namespace {

MemorySystem memory_of(std::uint32_t clusters, std::vector<double> weights = {}) {
  AddressMap map;
  map.clusters = clusters;
  if (weights.empty()) weights.assign(clusters, 1.0);
  MemorySystem memory;
  memory.placements.emplace_back(map, weights, 1);
  return memory;
}

Requester requester(int terminal, int window, std::int64_t count, double read_share = 1, double gap = 0) {
  Requester it;
  it.terminal = terminal;
  it.window = window;
  it.gap_cycles = gap;
  it.source = pattern_accesses({.count = count,
                                .read_share = read_share,
                                .random_share = 0.5,
                                .bytes = 1 << 24,
                                .start = static_cast<std::uint64_t>(terminal) << 20,
                                .seed = 5 + static_cast<std::uint64_t>(terminal)});
  return it;
}

// Of GPUs 0 .. 3.
std::vector<Requester> four(int window, std::int64_t count, double read_share) {
  return {requester(0, window, count, read_share), requester(1, window, count, read_share),
          requester(2, window, count, read_share), requester(3, window, count, read_share)};
}

class Once : public AccessSource {
 public:
  explicit Once(const Access& access) : access_(access) {}
  Next next(Access& access) override {
    access = access_;
    return std::exchange(done_, true) ? Next::end : Next::access;
  }

 private:
  Access access_;
  bool done_ = false;
};

TEST(Endpoint, ALoneAccessTakesTheNetworkAndTheVaultAndNoMore) {
  const Topology topology = memory_network({});
  const Parameters parameters;
  const Network network(topology, parameters);
  const MemorySystem memory = memory_of(4);
  for (const bool write : {false, true}) {
    for (std::uint64_t page = 0; page < 8; ++page) {
      const Access access{.address = page * 4096 + page % 4 * 128, .write = write};
      Requester one;
      one.terminal = 1;
      one.source = std::make_shared<Once>(access);
      const ClosedLoopResult result = run_closed_loop(topology, parameters, memory, {one});
      const Location at = memory.placements[0].place(access.address);
      const int cube = 4 + static_cast<int>(at.cluster * 4 + at.local);
      // In picoseconds: the request comes in, waits for the DRAM's clock, and has its data 38 periods later.
      const std::int64_t there = network.zero_load_latency(1, cube, write ? 9 : 1);
      const std::int64_t start = (there * 800 + 1249) / 1250 * 1250;
      const std::int64_t served = (start + 38 * 1250 + 799) / 800;
      const std::int64_t back = network.zero_load_latency(cube, 1, write ? 1 : 9);
      EXPECT_EQ(result.cycles, served + back) << "page " << page << (write ? ", write" : ", read");
      EXPECT_EQ(result.latency.mean, static_cast<double>(served + back));
      EXPECT_EQ(result.hops, 2 * network.routers_on_route(1, cube));
    }
  }
}

TEST(Endpoint, TheWindowIsUsedAndNeverExceeded) {
  const Topology topology = memory_network({});
  double last = 0;
  for (const int window : {1, 4, 32, 200}) {
    const ClosedLoopResult result = run_closed_loop(topology, {}, memory_of(4), four(window, 600, 0.7));
    EXPECT_TRUE(result.finished);
    for (const int peak : result.peak) EXPECT_EQ(peak, window);
    // More at once is faster, and by Little's law no faster than the latency allows.
    const double rate = static_cast<double>(result.replies) / static_cast<double>(result.cycles);
    EXPECT_GT(rate, last);
    EXPECT_LE(rate, 4.0 * window / result.latency.mean * 1.001);
    last = rate;
  }
}

TEST(Endpoint, EveryRequestGetsOneReply) {
  const Topology topology = memory_network({});
  for (const double reads : {0.0, 0.5, 1.0}) {
    const ClosedLoopResult result = run_closed_loop(topology, {}, memory_of(4), four(64, 500, reads));
    EXPECT_EQ(result.requests, 2000);
    EXPECT_EQ(result.replies, 2000);
    EXPECT_EQ(result.latency.packets, 2000);
    EXPECT_EQ(result.counters.delivered_packets, 2 * 2000);
    EXPECT_EQ(result.counters.delivered_flits, 2000 * 10);  // 1 and 9, whichever way
  }
}

TEST(Endpoint, CubesThatAreBusyHoldRequestsBack) {
  // One page: 8 lines of each cube, all in one row. Closed cubes leave requests in the network, and none is lost.
  const Topology topology = memory_network({});
  std::vector<Requester> gpus = four(512, 0, 1);
  for (Requester& one : gpus) {
    one.source = pattern_accesses({.count = 1000, .random_share = 1, .bytes = 4096, .seed = 1});
  }
  MemorySystem memory = memory_of(4);
  memory.cube_queue = 1;
  const ClosedLoopResult tight = run_closed_loop(topology, {}, memory, gpus);
  EXPECT_EQ(tight.replies, 4000);
  // 32 vaults take 16 DRAM clocks a line each: 20 ns are 25 cycles.
  EXPECT_GE(static_cast<double>(tight.cycles), 4000.0 / 32 * 25);
  EXPECT_GT(tight.row_hit_share, 0.95);
}

TEST(Endpoint, ComputingLimitsTheRate) {
  const Topology topology = memory_network({});
  const ClosedLoopResult result = run_closed_loop(topology, {}, memory_of(4), {requester(0, 512, 400, 1, 12.5)});
  EXPECT_GE(static_cast<double>(result.cycles), 399 * 12.5);
  EXPECT_LE(static_cast<double>(result.cycles), 400 * 12.5 + 400);
  EXPECT_NEAR(result.cycles_per_request, 12.5, 0.5);
}

TEST(Endpoint, SameArgumentsSameResult) {
  const Topology topology = memory_network({});
  const auto run = [&] { return run_closed_loop(topology, {}, memory_of(4, {3, 1, 1, 1}), four(100, 500, 0.6)); };
  const ClosedLoopResult one = run(), two = run();
  EXPECT_EQ(one.cycles, two.cycles);
  EXPECT_EQ(one.latency.mean, two.latency.mean);
  EXPECT_EQ(one.done, two.done);
  EXPECT_EQ(one.energy.active_pj, two.energy.active_pj);
}

TEST(Endpoint, ARecordedTraceReplaysAsItWas) {
  const Topology topology = memory_network({});
  auto trace = std::make_shared<Trace>();
  std::vector<Requester> gpus = four(50, 300, 0.5);
  const ClosedLoopResult first = run_closed_loop(topology, {}, memory_of(4), gpus, 1000000, trace.get());
  ASSERT_EQ(trace->records.size(), 1200U);
  EXPECT_EQ(trace->sources, 4U);
  for (int g = 0; g < 4; ++g) gpus[g].source = trace_accesses(trace, static_cast<std::uint32_t>(g));
  Trace again;
  const ClosedLoopResult second = run_closed_loop(topology, {}, memory_of(4), gpus, 1000000, &again);
  EXPECT_EQ(again, *trace);
  EXPECT_EQ(second.cycles, first.cycles);
}

TEST(Endpoint, PacketsOfATraceAreSentAtTheirCycles) {
  const Topology topology = memory_network({});
  const Network network(topology, {});
  Trace trace{.sources = 4, .records = {}};
  for (std::uint64_t i = 0; i < 20; ++i) {
    trace.records.push_back({.cycle = i * 1000,
                             .address = 4 + i % 16,
                             .source = static_cast<std::uint32_t>(i % 4),
                             .size = 3,
                             .kind = TraceKind::packet});
  }
  const std::vector<Delivery> deliveries = replay_packets(topology, {}, trace);
  ASSERT_EQ(deliveries.size(), 20U);
  for (std::size_t i = 0; i < deliveries.size(); ++i) {
    const int source = static_cast<int>(i % 4), destination = static_cast<int>(4 + i % 16);
    EXPECT_EQ(deliveries[i].created, static_cast<std::int64_t>(i) * 1000);
    EXPECT_EQ(deliveries[i].delivered - deliveries[i].created, network.zero_load_latency(source, destination, 3));
  }
  trace.records[2].address = 20;
  EXPECT_TRUE(contains(error_of([&] { replay_packets(topology, {}, trace); }).what(),
                       "record 2 from 2 to 20 in class 0, expected terminals below 20"));
}

TEST(Endpoint, TracesOfTheOtherKindAreRefused) {
  const Topology topology = memory_network({});
  const Trace accesses{.sources = 4, .records = {{.address = 128, .size = 128, .kind = TraceKind::read}}};
  const Trace packets{.sources = 4, .records = {{.address = 5, .size = 3, .kind = TraceKind::packet}}};
  EXPECT_TRUE(contains(error_of([&] { replay_packets(topology, {}, accesses); }).what(),
                       "record 0 is a read or write, expected packets alone"));
  EXPECT_TRUE(contains(error_of([&] { check_accesses(packets, 4); }).what(), "record 0 is a packet, expected reads"));
  EXPECT_TRUE(
      contains(error_of([&] { check_accesses(accesses, 2); }).what(), "a trace of 4 sources, expected at most 2"));
  EXPECT_NO_THROW(check_accesses(accesses, 4));
}

TEST(Endpoint, ARunThatIsCutShortSaysSo) {
  const Topology topology = memory_network({});
  const ClosedLoopResult result = run_closed_loop(topology, {}, memory_of(4), {requester(0, 8, 1000)}, 500);
  EXPECT_FALSE(result.finished);
  EXPECT_EQ(result.cycles, 500);
  EXPECT_LT(result.replies, 1000);
}

TEST(Endpoint, SizesAreHeaderAndData) {
  EXPECT_EQ(request_flits({.bytes = 128}, 16), 1);
  EXPECT_EQ(reply_flits({.bytes = 128}, 16), 9);
  EXPECT_EQ(request_flits({.bytes = 32, .write = true}, 16), 3);
  EXPECT_EQ(reply_flits({.bytes = 32, .write = true}, 16), 1);
  EXPECT_EQ(reply_flits({.bytes = 33}, 16), 4);
}

TEST(Endpoint, NamesWhatCannotBe) {
  const Topology topology = memory_network({});
  const auto error = [&](const MemorySystem& memory, const std::vector<Requester>& requesters, Parameters parameters) {
    return std::string(error_of([&] { run_closed_loop(topology, parameters, memory, requesters); }).what());
  };
  EXPECT_TRUE(contains(error(memory_of(4), {}, {}), "without requesters"));
  EXPECT_TRUE(contains(error(memory_of(4), {requester(7, 1, 1)}, {}), "terminal 7 is no processor"));
  EXPECT_TRUE(contains(error(memory_of(4), {requester(0, 0, 1)}, {}), "window is 0, expected 1 or more"));
  EXPECT_TRUE(contains(error(memory_of(5), {requester(0, 1, 1)}, {}), "16 HMCs, expected 5 clusters of 4"));
  Requester across = requester(0, 1, 1);
  across.source = std::make_shared<Once>(Access{.address = 4096 + 64, .bytes = 65});
  EXPECT_TRUE(contains(error(memory_of(4), {across}, {}), "65 bytes at 4160, expected 1..128 within a line"));
  Parameters parameters;
  parameters.message_classes = 1;
  parameters.replies = false;
  EXPECT_TRUE(contains(error(memory_of(4), {requester(0, 1, 1)}, parameters), "message_classes is 1, expected 2"));
}

}  // namespace
