// Runs at several rates at once, in threads.
#include "memnet/src/simulation.hpp"

#include "expect.hpp"
#include "memnet/src/topologies.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace dcgn::memnet {
namespace {

using test::contains;
using test::error_of;

TEST(Sweep, DoesNotDependOnTheNumberOfThreads) {
  Parameters parameters;
  parameters.measure_cycles = 500;
  parameters.routing = Routing::ugal;
  const std::vector<double> rates = {0.05, 0.1, 0.2, 0.3, 0.1};
  const auto one = sweep(mesh({4, 4}), parameters, Traffic(), rates, 1);
  const auto four = sweep(mesh({4, 4}), parameters, Traffic(), rates, 4);
  ASSERT_EQ(one.size(), rates.size());
  for (std::size_t i = 0; i < rates.size(); ++i) {
    EXPECT_EQ(one[i].rate, rates[i]);
    EXPECT_EQ(one[i].latency.mean, four[i].latency.mean);
    EXPECT_EQ(one[i].latency.p99, four[i].latency.p99);
    EXPECT_EQ(one[i].channel_load, four[i].channel_load);
  }
  EXPECT_NE(one[1].latency.mean, one[4].latency.mean);  // a seed of its own for each point
}

TEST(Sweep, ThrowsThePointsError) {
  const Error error = error_of([] { sweep(mesh({4, 4}), Parameters(), Traffic(), {0.1, 1.5}, 2); });
  EXPECT_TRUE(contains(error.what(), "rate is 1.5"));
}

}  // namespace
}  // namespace dcgn::memnet
