// Table II's workloads: figures worked out by hand from the problems' sizes.
#include "memnet/src/workload.hpp"

#include "tests/expect.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

using namespace dcgn::memnet;
using dcgn::test::contains, dcgn::test::error_of;

namespace {

TEST(Workload, AreTableIIsInItsOrder) {
  std::string names;
  for (const Workload& one : workloads()) names += std::string(one.name) + " ";
  EXPECT_EQ(names, "BP BFS SRAD KMN BH SP SCAN 3DFD FWT CG.S FT.S RAY STO CP ");
  for (const Workload& one : workloads()) {
    EXPECT_GT(one.copied_in + one.copied_out, 0) << one.name;
    EXPECT_GT(one.read, 0) << one.name;
    EXPECT_GT(one.written, 0) << one.name;
    EXPECT_GT(one.operations, 0) << one.name;
    EXPECT_GE(one.blocks, 1) << one.name;
    EXPECT_FALSE(one.assumed.empty()) << one.name;
    EXPECT_EQ(&workload(one.name), &one);
  }
}

TEST(Workload, BytesFollowFromTheSize) {
  // 16 M floats in and out, and twice through both kernels.
  EXPECT_EQ(workload("SCAN").copied_in, 67108864);
  EXPECT_EQ(workload("SCAN").read, 134217728);
  EXPECT_EQ(workload("SCAN").written, 134217728);
  // 8 M floats through 3 * 7 passes, and their product with the transformed kernel.
  EXPECT_EQ(workload("FWT").read, 23.0 * 33554432);
  EXPECT_EQ(workload("FWT").written, 22.0 * 33554432);
  // 17 weights a point, three times in, once out.
  EXPECT_EQ(workload("BP").copied_in, 3.0 * 1048577 * 17 * 4 + 1048576.0 * 4);
  EXPECT_EQ(workload("CP").copied_out, 512.0 * 256 * 4);
  EXPECT_EQ(workload("SRAD").written, 2.0 * 6 * 2048 * 2048 * 4);
}

TEST(Workload, RequestsAreLinesReadAndPiecesWritten) {
  const Workload bfs = workload("BFS");
  EXPECT_DOUBLE_EQ(request_count(bfs), bfs.read / 128 + bfs.written / 32);
  EXPECT_DOUBLE_EQ(read_share(bfs), bfs.read / 128 / request_count(bfs));
  EXPECT_DOUBLE_EQ(read_share(workload("SCAN")), 0.5);
}

TEST(Workload, ComputingDividesByTheGpusWhileCoresAreFull) {
  // CP: 512 * 256 * 100 * 9 slots, 64 * 32 lanes at 1.4 GHz half filled, 1024 CTAs over 64 cores.
  EXPECT_NEAR(compute_ns(workload("CP"), 1), 512.0 * 256 * 900 / (64 * 32 * 1.4 * 0.5), 1e-6);
  EXPECT_NEAR(compute_ns(workload("CP"), 16), compute_ns(workload("CP"), 1) / 16, 1e-6);
  // Beyond a CTA a core nothing is gained.
  EXPECT_NEAR(compute_ns(workload("CP"), 32), compute_ns(workload("CP"), 16), 1e-6);
}

TEST(Workload, FewCtasHaveFewLinesOutstanding) {
  EXPECT_EQ(request_window(workload("SCAN"), 4), 512);
  EXPECT_EQ(request_window(workload("CG.S"), 4), 6 * 64);
  EXPECT_EQ(request_window(workload("CP"), 64), 16 * 8);
}

TEST(Workload, ImbalanceIsTheRatioOfTheClusters) {
  const std::vector<double> weights = cluster_weights(workload("CG.S"), 4, 2);
  EXPECT_DOUBLE_EQ(
      *std::max_element(weights.begin(), weights.end()) / *std::min_element(weights.begin(), weights.end()), 11.7);
  EXPECT_EQ(std::max_element(weights.begin(), weights.end()) - weights.begin(), 2);
  EXPECT_EQ(cluster_weights(workload("KMN"), 5, 0), std::vector<double>(5, 1.0));
}

TEST(Workload, AnUnknownOneIsNamed) {
  EXPECT_TRUE(contains(error_of([] { workload("LU"); }).what(), "workload \"LU\", expected one of BP, BFS, SRAD"));
}

}  // namespace
