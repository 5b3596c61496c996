// When a run is saturated, why, and what it costs.
#include "expect.hpp"
#include "memnet/src/simulation.hpp"
#include "memnet/src/topologies.hpp"
#include "sanitized.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace dcgn::memnet {
namespace {

using test::contains;
using test::error_of;

Parameters short_run(std::int64_t cycles) {
  Parameters parameters;
  parameters.message_classes = 1;
  parameters.measure_cycles = cycles;
  return parameters;
}

TEST(MaxCycles, LeavesRoomForTheMeasurementOrIsRefused) {
  Parameters parameters = short_run(2000);
  parameters.max_cycles = 100;
  const auto refusal = [&] { return error_of([&] { run_open_loop(mesh({4, 4}), parameters, Traffic(), 0.1); }); };
  EXPECT_TRUE(contains(refusal().what(), "measure_cycles is 0 + 2000, expected less than max_cycles, 100"));
  parameters.max_cycles = 5000;
  parameters.warmup_cycles = 3000;
  EXPECT_EQ(refusal().code(), Code::configuration);
  parameters.warmup_cycles = 2000;
  EXPECT_EQ(refusal().code(), Code::ok);
  parameters.warmup_cycles = 0;
  const Result result = run_open_loop(mesh({4, 4}), parameters, Traffic(), 0.02);
  EXPECT_LE(result.cycles, 5000);
  EXPECT_EQ(result.measured_cycles, 2000);
  EXPECT_FALSE(result.saturated);
}

TEST(MaxCycles, EndsARunWhoseLastPacketsAreLate) {
  Parameters parameters = short_run(1000);
  parameters.warmup_cycles = 1000;
  parameters.max_cycles = 2001;
  const Result result = run_open_loop(mesh({4, 4}), parameters, Traffic(), 0.1);
  EXPECT_EQ(result.cycles, 2001);
  EXPECT_TRUE(result.saturated);
  EXPECT_EQ(result.saturation_reason, SaturationReason::cycles);
}

TEST(LatencyLimit, IsAboveTheLatencyAtZeroLoad) {
  Traffic traffic;
  traffic.flits = 600;  // alone a packet takes more than the default limit
  const Result slow = run_open_loop(mesh({4, 4}), short_run(20000), traffic, 0.02);
  EXPECT_GT(slow.latency.mean, 500);
  EXPECT_FALSE(slow.saturated) << to_string(slow.saturation_reason);
  EXPECT_NEAR(slow.zero_load_latency, 2 + 5 * 3.5 + 599, 3);
  EXPECT_NEAR(slow.latency_limit, 3 * slow.zero_load_latency, 1e-9);

  Parameters strict = short_run(2000);
  strict.latency_limit = 1;
  const Result busy = run_open_loop(mesh({8, 8}), strict, Traffic(), 0.40);
  EXPECT_NEAR(busy.latency_limit, 3 * busy.zero_load_latency, 1e-9);
  EXPECT_NE(busy.saturation_reason, SaturationReason::cycles);
}

TEST(FindSaturation, SaysWhereNothingSaturates) {
  Traffic traffic;
  traffic.pattern = Pattern::neighbour;
  const Saturation none = find_saturation(torus({4, 4}), short_run(1000), traffic, 0.1);
  EXPECT_FALSE(none.found);
  EXPECT_EQ(none.rate, 1);
  const Saturation uniform = find_saturation(mesh({8, 8}), short_run(1000), Traffic(), 0.1);
  EXPECT_TRUE(uniform.found);
  EXPECT_LT(uniform.rate, 0.6);
}

TEST(FindSaturation, ComputesTheLatencyAtZeroLoadThatNoPacketShows) {
  Traffic traffic;
  traffic.flits = 100;
  const Saturation saturation = find_saturation(mesh({4, 4}), short_run(1000), traffic, 0.0001);
  EXPECT_LT(saturation.points.front().latency.packets, 100);
  EXPECT_NEAR(saturation.latency_at_zero, 2 + 5 * 3.5 + 99, 3);
  EXPECT_GT(saturation.rate, 0.1);
}

TEST(PastSaturation, ABoundedSourceQueueDropsAndTheRunEndsWithAFlag) {
  Parameters parameters = short_run(1000);
  parameters.source_queue_flits = 10;
  const Result full = run_open_loop(mesh({8, 8}), parameters, Traffic(), 1.0);
  EXPECT_TRUE(full.saturated);
  EXPECT_EQ(full.saturation_reason, SaturationReason::throughput);
  EXPECT_GT(full.dropped_packets, 10000);
  EXPECT_NEAR(full.offered, 1.0, 1e-9);
  const Result light = run_open_loop(mesh({8, 8}), parameters, Traffic(), 0.05);
  EXPECT_FALSE(light.saturated);
  EXPECT_EQ(light.dropped_packets, 0);
}

Parameters run_of_8x8(std::uint64_t seed) {
  Parameters parameters = short_run(10000);
  parameters.stages = 3;
  parameters.vcs_per_class = 8;
  parameters.vc_buffer_bytes = 8 * parameters.flit_bytes;
  parameters.seed = seed;
  return parameters;
}

// Seven sources of a row share the channel into its diagonal router: 1/7 of a flit each, while the others get through.
TEST(PastSaturation, OneSourceThatFallsBehindIsEnough) {
  Traffic transpose;
  transpose.pattern = Pattern::transpose;
  for (const std::uint64_t seed : {1, 2}) {
    if (test::sanitized && seed > 1) break;
    for (const double rate : {0.13, 0.135}) {
      const Result below = run_open_loop(mesh({8, 8}), run_of_8x8(seed), transpose, rate);
      EXPECT_FALSE(below.saturated) << rate << ", seed " << seed << ": " << to_string(below.saturation_reason);
    }
    for (const double rate : {0.15, 0.16}) {
      const Result above = run_open_loop(mesh({8, 8}), run_of_8x8(seed), transpose, rate);
      EXPECT_EQ(above.saturation_reason, SaturationReason::throughput) << rate << ", seed " << seed;
    }
  }
}

// Latency is twice that at zero load at 0.42, as in the public simulator.
TEST(PastSaturation, UniformTrafficIsOnEitherSideOfItsBound) {
  for (const std::uint64_t seed : {1, 2}) {
    if (test::sanitized && seed > 1) break;
    EXPECT_FALSE(run_open_loop(mesh({8, 8}), run_of_8x8(seed), Traffic(), 0.41).saturated) << "seed " << seed;
    EXPECT_TRUE(run_open_loop(mesh({8, 8}), run_of_8x8(seed), Traffic(), 0.46).saturated) << "seed " << seed;
  }
}

// Two of many sources share a destination with its own packets: a third of a flit each.
TEST(PastSaturation, ASourceThatDropsIsEnough) {
  Traffic traffic;
  traffic.pattern = Pattern::matrix;
  traffic.weights.assign(256, 0);
  for (std::size_t t = 0; t < 16; ++t) traffic.weights[t * 16 + t] = 1;
  for (const std::size_t t : {5, 6}) {
    traffic.weights[t * 16 + t] = 0;
    traffic.weights[t * 16 + 9] = 1;
  }
  Parameters parameters = short_run(5000);
  parameters.source_queue_flits = 20;
  EXPECT_FALSE(run_open_loop(mesh({4, 4}), parameters, traffic, 0.30).saturated);
  const Result full = run_open_loop(mesh({4, 4}), parameters, traffic, 0.37);
  EXPECT_GT(full.accepted, 0.95 * full.offered);
  EXPECT_EQ(full.saturation_reason, SaturationReason::throughput);
}

// The first packets are still on their way when the measurement starts.
TEST(ShortWarmup, DoesNotMakeADeepNetworkSaturated) {
  for (const std::int64_t warmup : {1, 100}) {
    Parameters parameters = run_of_8x8(1);
    parameters.warmup_cycles = warmup;
    parameters.measure_cycles = 400;
    const Result light = run_open_loop(mesh({32, 32}), parameters, Traffic(), 0.03);
    EXPECT_FALSE(light.saturated) << warmup << " cycles: " << to_string(light.saturation_reason);
    EXPECT_NEAR(light.latency.mean, light.zero_load_latency, 0.05 * light.zero_load_latency);
    const Result full = run_open_loop(mesh({32, 32}), parameters, Traffic(), 0.25);
    EXPECT_TRUE(full.saturated) << warmup << " cycles";
  }
}

// Source queues hold a bounded number of packets, and nobody waits for those that will not come.
TEST(PastSaturation, MemoryAndTimeDoNotGrowWithWhatIsOffered) {
  const Result result = run_open_loop(mesh({4, 4}), short_run(20000), Traffic(), 1.0);
  EXPECT_TRUE(result.saturated);
  EXPECT_EQ(result.saturation_reason, SaturationReason::throughput);
  EXPECT_GT(result.dropped_packets, 0);
  EXPECT_EQ(result.cycles, result.warmup_cycles + result.measured_cycles);
  EXPECT_LT(result.latency.max, 10000);
}

TEST(Rate, IsAtMostAFlitForEachPort) {
  Traffic traffic;
  traffic.flits = 5;
  const Error error = error_of([&] { run_open_loop(mesh({4, 4}), short_run(1000), traffic, 5.0); });
  EXPECT_TRUE(contains(error.what(), "expected 0..1"));
}

TEST(Sources, AreNamedOnce) {
  Traffic traffic;
  traffic.sources = {0, 3, 0};
  const Error error = error_of([&] { Destinations(mesh({4, 4}), traffic); });
  EXPECT_TRUE(contains(error.what(), "sources has terminal 0 twice"));
}

TEST(Progress, GoesFromNothingToAllOfIt) {
  std::vector<double> shares;
  run_open_loop(mesh({4, 4}), short_run(20000), Traffic(), 0.1, [&](double share) { shares.push_back(share); });
  EXPECT_GT(shares.size(), 10U);
  EXPECT_TRUE(std::is_sorted(shares.begin(), shares.end()));
  EXPECT_EQ(shares.front(), 0);
  EXPECT_EQ(shares.back(), 1);
  shares.clear();
  find_saturation(mesh({4, 4}), short_run(500), Traffic(), 0.2, 3, [&](double share) { shares.push_back(share); });
  EXPECT_TRUE(std::is_sorted(shares.begin(), shares.end()));
  EXPECT_EQ(shares.back(), 1);
}

}  // namespace
}  // namespace dcgn::memnet
