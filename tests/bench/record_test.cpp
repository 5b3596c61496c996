// Copies of recorded workloads: those that the program makes.
#include "vgpu/bench/record.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

using dcgn::Device, dcgn::DeviceKind;
using dcgn::base::KernelStep, dcgn::base::KernelTrace;

namespace {

KernelTrace recorded(const std::string& name) {
  const auto& kinds = dcgn::workloads::workload_kinds();
  const auto kind = std::find_if(kinds.begin(), kinds.end(), [&](const auto& one) { return one.name == name; });
  return dcgn::workloads::record(*kind, 0, 16);
}

std::uint64_t bytes_of(const KernelTrace& trace, KernelStep::Kind kind) {
  std::uint64_t bytes = 0;
  for (const KernelStep& step : trace.steps) {
    if (step.kind == kind) bytes += step.bytes;
  }
  return bytes;
}

TEST(RecordedWorkloads, KMeansBringsEachIterationsObjectsToTheHostOnce) {
  if (Device(0).kind() != DeviceKind::emulated) GTEST_SKIP() << "GPUs here are real";
  const KernelTrace trace = recorded("k-means-features");
  const std::uint64_t objects = 4096, features = 34, centres = 5, iterations = 3;
  EXPECT_EQ(bytes_of(trace, KernelStep::Kind::to_gpu), 4 * (objects * features + iterations * centres * features));
  EXPECT_EQ(bytes_of(trace, KernelStep::Kind::to_host), 4 * iterations * objects);
}

// What the host looks at meanwhile is not the result: that comes to it at the end.
TEST(RecordedWorkloads, BreadthFirstSearchBringsFlagsAndThenItsLevels) {
  if (Device(0).kind() != DeviceKind::emulated) GTEST_SKIP() << "GPUs here are real";
  const KernelTrace trace = recorded("breadth-first-masks");
  const auto launches = std::count_if(trace.steps.begin(), trace.steps.end(),
                                      [](const KernelStep& step) { return step.kind == KernelStep::Kind::launch; });
  const std::uint64_t nodes = 4096;
  EXPECT_EQ(bytes_of(trace, KernelStep::Kind::to_host), 4 * (static_cast<std::uint64_t>(launches) / 2 + nodes));
}

}  // namespace
