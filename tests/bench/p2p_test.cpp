// The measurements on the devices that there are: what they deliver is right, and their figures hang together.
#include "core/bench/p2p.hpp"

#include "scopes.hpp"
#include "tests/expect.hpp"
#include "tests/sanitized.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

using namespace dcgn::bench;
using dcgn::test::block, dcgn::test::thread, dcgn::test::two_blocks, dcgn::test::warp;

namespace {

// Those that this machine has the GPUs for.
std::vector<Path> paths() {
  std::vector<Path> all(std::begin(all_paths), std::end(all_paths));
  std::erase_if(all, [](Path path) { return gpus_of(path) > dcgn::Device::count(); });
  return all;
}

// Beyond what goes eagerly in any scope here.
constexpr std::int64_t longest = dcgn::test::sanitized ? 30'000 : 200'000;

void expect_sound(const Row& row) {
  SCOPED_TRACE(row.measure + " " + row.path + " " + row.scope);
  EXPECT_EQ(row.wrong, 0u);
  EXPECT_GT(row.rounds, 0u);
  EXPECT_GT(row.p50_us, 0);
  EXPECT_LE(row.p50_us, row.p99_us);
  EXPECT_GT(row.gb_per_s, 0);
}

TEST(P2p, EveryPathAndScopeDeliversWhatWasSent) {
  for (const Path path : paths())
    for (const Scope& scope : {thread, warp, block, two_blocks}) {
      // Every other one, so that each path and each scope has its turn.
      if (dcgn::test::sanitized && (static_cast<int>(path) + static_cast<int>(scope.kind)) % 2) continue;
      const Row row = measure_latency({.path = path, .scope = scope, .bytes = longest, .seconds = 1e-3});
      expect_sound(row);
      EXPECT_EQ(row.measure, "latency");
      EXPECT_EQ(row.path, name_of(path));
      const bool slots = path == Path::cpu_slot || is_of_slots(path);
      EXPECT_EQ(row.blocks, slots ? std::max(1u, scope.kind == ScopeKind::blocks ? 2u : 1u) : 0u);
      EXPECT_EQ(row.scope, slots ? name_of(scope) : "-");
    }
}

TEST(P2p, LatencyInACommunicatorThatWasSplitOff) {
  for (const Path path : {Path::cpu_cpu, Path::cpu_slot, path_here(Path::slot_slot)})
    for (const Scope& scope : {thread, warp, block}) {
      if (path == Path::cpu_cpu && scope.kind != ScopeKind::thread) continue;
      const Row row = measure_latency({.path = path, .scope = scope, .bytes = 8, .seconds = 1e-3, .split = true});
      expect_sound(row);
      EXPECT_EQ(row.path, name_of(path) + std::string(", split"));
    }
}

TEST(P2p, WindowsDeliverWhatWasSentBothWays) {
  for (const Path path : paths())
    for (const Measure measure : {Measure::bandwidth, Measure::bidirectional})
      for (const std::int64_t bytes : {std::int64_t{8}, std::int64_t{5000}, longest}) {
        // Small messages one way, large ones both ways.
        if (dcgn::test::sanitized && (bytes == 5000 || (bytes == 8) != (measure == Measure::bandwidth))) continue;
        const Row row = measure_windows(
            {.path = path, .scope = bytes == 8 ? thread : block, .bytes = bytes, .seconds = 1e-3, .window = 3},
            measure);
        expect_sound(row);
        EXPECT_EQ(row.measure, name_of(measure));
        EXPECT_EQ(row.window, 3);
      }
  for (const Scope& scope : {warp, two_blocks})
    expect_sound(measure_windows({.path = Path::slot_slot_local,
                                  .scope = scope,
                                  .bytes = 3000,
                                  .seconds = 1e-3,
                                  .window = dcgn::test::sanitized ? 8 : usual_window},
                                 Measure::bidirectional));
}

TEST(P2p, StreamsArriveWholeAndInOrder) {
  for (const Path path : {path_here(Path::slot_slot), Path::slot_slot_local})
    for (const Scope& scope : {thread, warp, block}) {
      const Row row = measure_rate({.path = path, .scope = scope, .seconds = 5e-3, .slots = 3});
      expect_sound(row);
      EXPECT_EQ(row.slots, 3);
      EXPECT_EQ(row.unit, "M/s");
    }
  expect_sound(
      measure_rate({.path = Path::slot_slot_local, .scope = thread, .bytes = 1024, .seconds = 5e-3, .slots = 2}));
}

TEST(P2p, ASoakSendsAsManyAsItIsTold) {
  std::atomic<std::uint64_t> told{0};
  const Workload work{.path = Path::slot_slot_local, .scope = thread, .slots = 3};
  const Soak s = soak(work, 100'000, [&](std::uint64_t received) { told = std::max<std::uint64_t>(told, received); });
  EXPECT_EQ(s.messages, 3 * 33'334u);
  EXPECT_EQ(s.received, s.messages);
  EXPECT_EQ(s.wrong(), 0u);
  EXPECT_GT(s.seconds, 0);
  EXPECT_LE(told, s.messages);
  EXPECT_EQ(row_of(work, s).measure, "soak");
}

TEST(P2p, AnySourceHearsEverySender) {
  const struct {
    Scope scope;
    int senders;
  } runs[] = {{thread, 1}, {thread, 2}, {thread, 7}, {warp, 2}, {block, 3}};
  for (const auto& [scope, senders] : runs) {
    if (dcgn::test::sanitized && senders == 1) continue;
    const Row row = measure_any_source({.scope = scope, .seconds = 1e-3, .senders = senders});
    expect_sound(row);
    EXPECT_EQ(row.senders, senders);
    EXPECT_EQ(row.measure, "any-source");
  }
}

TEST(P2p, StreamsOfSeveralBlocksAreRefused) {
  EXPECT_EQ(dcgn::test::error_of([] { measure_rate({.path = Path::slot_slot_local, .scope = two_blocks}); }).code(),
            dcgn::Code::configuration);
  EXPECT_EQ(dcgn::test::error_of([] { measure_any_source({.scope = two_blocks}); }).code(), dcgn::Code::configuration);
}

// The names of the limits of a path, by kernels and by copies, each of which brought what was sent.
std::vector<std::string> names_of_limits(Path path, Measure measure) {
  std::vector<std::string> names;
  const Workload work{.path = path, .scope = two_blocks, .bytes = 100'003, .seconds = 1e-3};
  for (const auto& limits : {limits_of_kernels(work, measure), limits_of_copies(work, measure)})
    for (const Row& row : limits) {
      expect_sound(row);
      EXPECT_EQ(row.measure, name_of(measure));
      names.push_back(row.whose.substr(std::string("limit: ").size()));
    }
  return names;
}

TEST(P2p, LimitsAreCheckedAndPositive) {
  using Names = std::vector<std::string>;
  for (const Path path : paths()) {
    SCOPED_TRACE(name_of(path));
    const bool staged = path == Path::slot_slot_staged, local = path == Path::slot_slot_local;
    const Names copies = path == Path::cpu_cpu ? Names{"memcpy"}
                         : staged              ? Names{"to pinned", "from pinned", "through pinned"}
                                               : Names{"copy engine"};
    for (const Measure measure : {Measure::bandwidth, Measure::bidirectional}) {
      Names names = names_of_limits(path, measure);
      EXPECT_EQ(Names(names.end() - static_cast<std::ptrdiff_t>(copies.size()), names.end()), copies);
      names.resize(names.size() - copies.size());
      if (local || !names.empty()) {
        EXPECT_EQ(names, local ? (Names{"stores", "loads"}) : (Names{"peer stores", "peer loads"}));
      }
    }
    const Names small = names_of_limits(path, Measure::latency);
    EXPECT_LE(small.size(), 1u);
    if (local) {
      EXPECT_EQ(small, Names{"stores"});
    }
  }
}

TEST(P2p, AFlagGoesToAndFro) {
  for (const Path path : paths())
    if (const std::optional<Row> flag = limit_of_flag({.path = path, .seconds = 1e-3})) expect_sound(*flag);
  EXPECT_TRUE(limit_of_flag({.path = Path::slot_slot_local, .seconds = 1e-3}));
  EXPECT_FALSE(limit_of_flag({.path = Path::cpu_cpu}));
}

TEST(P2p, WhatIsLeftOutIsInTheSettingsAndInTheRow) {
  const Workload all;
  for (const Idea idea : all_ideas) {
    Workload work;
    work.without = idea;
    const dcgn::Config with = config_for(all, {}), without = config_for(work, {});
    EXPECT_EQ(with.without, 0u);
    const int differences = (with.without != without.without) + (with.p2p != without.p2p) +
                            (with.place_threads != without.place_threads) +
                            (with.copy_engine_bytes != without.copy_engine_bytes);
    EXPECT_EQ(differences, 1) << name_of(idea);
    EXPECT_EQ(row_for(work, "latency", 1).without, name_of(idea));
  }
  EXPECT_FALSE(config_for({.path = Path::slot_slot_staged}, {}).p2p);
}

}  // namespace
