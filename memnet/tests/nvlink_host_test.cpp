// The model of the NVLink host against what was measured on it.
#include "memnet/src/nvlink_host.hpp"

#include "tests/expect.hpp"

#include <gtest/gtest.h>

#include <cmath>

using namespace dcgn::memnet;
using dcgn::test::contains, dcgn::test::error_of;

namespace {

TEST(NvlinkHost, PredictsToTenPercentWhatItWasNotCalibratedWith) {
  int calibrating = 0, predicted = 0;
  for (const HostRow& row : nvlink_host_rows()) {
    EXPECT_LT(std::abs(row.deviation()), row.calibrates ? 0.005 : 0.10) << row.what;
    ++(row.calibrates ? calibrating : predicted);
  }
  EXPECT_EQ(calibrating, 7);
  EXPECT_EQ(predicted, 14);
}

TEST(NvlinkHost, AnAllToAllContendsAndARingDoesNot) {
  const NvlinkHost host;
  const double pair = pattern_gbytes(host, HostPattern::pair, HostSender::copy_engine, 3, 1000);
  const double ring = pattern_gbytes(host, HostPattern::ring, HostSender::copy_engine, 3, 1000);
  const double exchange = pattern_gbytes(host, HostPattern::all_to_all, HostSender::copy_engine, 3, 1000);
  EXPECT_NEAR(ring, pair, pair * 0.01);
  EXPECT_LT(exchange, ring * 0.95);
}

TEST(NvlinkHost, SameSeedSameResult) {
  const auto once = [] { return pattern_gbytes({}, HostPattern::all_to_all, HostSender::kernel, 9, 500); };
  EXPECT_EQ(once(), once());
}

TEST(NvlinkHost, NamesWhatCannotBe) {
  EXPECT_TRUE(contains(error_of([] { NvlinkHost{.gpus = 1}.validate(); }).what(), "gpus is 1"));
  EXPECT_TRUE(contains(error_of([] { NvlinkHost{.store_gbytes = 400}.validate(); }).what(),
                       "store_gbytes is 400.000000, expected at most engine_gbytes, 393"));
}

}  // namespace
