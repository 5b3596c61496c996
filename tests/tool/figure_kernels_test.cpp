// Figures of recorded kernels, which are run on an emulated GPU: their orderings do not hang on a problem's size, nor
// on what is assumed of cores.
#include "memnet/src/figure_parts.hpp"
#include "memnet/src/traffic.hpp"

#include "vgpu/bench/record.hpp"

#include "tests/sanitized.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace dcgn::memnet {
namespace {

// Of problems that have so many hundredths of the paper's elements, all of whose blocks are simulated.
KernelTraces recorded(int hundredths) {
  ::setenv("DCGN_EMULATED_GPUS", "1", 1);
  KernelTraces traces;
  for (const workloads::WorkloadKind& kind : workloads::workload_kinds())
    for (const char* const name : {"BP", "SCAN"})
      if (std::string(kind.paper) == name) traces.emplace(name, workloads::record(kind, -hundredths, 0));
  return traces;
}

void expect_orderings(const KernelTraces& traces, const std::string& what,
                      const std::function<void(GpuCores&)>& change = {}) {
  FigureOptions options;
  options.traces = &traces;
  options.kernel_requests = 0;
  options.change_cores = change;
  for (const Figure& figure : figures_16_and_17(options))
    for (const FigureClaim& claim : figure.claims)
      EXPECT_TRUE(claim.holds) << to_text(figure) << "figure " << figure.number << ": " << claim.text
                               << "\n  does not hold with " << what;
}

TEST(FigureKernels, AFifthMoreOrLessOfAProblemLeavesTheOrderingsAsTheyAre) {
  if (dcgn::test::sanitized) GTEST_SKIP() << "whole figures, under a sanitizer";
  for (const int hundredths : {4, 6}) expect_orderings(recorded(hundredths), std::to_string(hundredths) + " %");
}

TEST(FigureKernels, AFifthMoreOrLessOfWhatIsAssumedOfCoresLeavesTheOrderingsAsTheyAre) {
  if (dcgn::test::sanitized) GTEST_SKIP() << "whole figures, under a sanitizer";
  constexpr int seed = 19;
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  const std::vector<std::pair<const char*, int GpuCores::*>> assumed{
      {"issue_gap", &GpuCores::issue_gap},   {"l1_latency", &GpuCores::l1_latency},
      {"l1_misses", &GpuCores::l1_misses},   {"l2_banks", &GpuCores::l2_banks},
      {"l2_latency", &GpuCores::l2_latency}, {"outstanding", &GpuCores::outstanding}};
  const KernelTraces traces = recorded(4);
  for (const double factor : {1.2, 0.8}) {
    const auto& [name, member] = assumed[static_cast<std::size_t>(random.below(static_cast<int>(assumed.size())))];
    int GpuCores::*const its = member;
    expect_orderings(traces, std::string(name) + (factor > 1 ? " + 20 %" : " - 20 %"),
                     [=](GpuCores& cores) { cores.*its = static_cast<int>(std::lround(cores.*its * factor)); });
  }
}

}  // namespace
}  // namespace dcgn::memnet
