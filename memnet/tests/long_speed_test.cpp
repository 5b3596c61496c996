// Flit-hops a second of processor time, printed: what a change to the routers costs.
#include "memnet/src/simulation.hpp"
#include "memnet/src/topologies.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <ctime>

namespace dcgn::memnet {
namespace {

void measure(const Topology& topology, const Parameters& parameters, double rate) {
  const std::clock_t start = std::clock();
  const Result result = run_open_loop(topology, parameters, Traffic(), rate);
  const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  std::printf("%-26s %5.2f flits/node/cycle: %6.2f million flit-hops/s, %8.0f cycles/s\n", topology.name().c_str(),
              rate, static_cast<double>(result.flit_hops) / seconds / 1e6,
              static_cast<double>(result.cycles) / seconds);
  EXPECT_GT(result.flit_hops, 0);
}

TEST(Speed, OfMeshesAndFlattenedButterflies) {
  Parameters parameters;
  parameters.stages = 3;
  parameters.message_classes = 1;
  parameters.vcs_per_class = 8;
  parameters.vc_buffer_bytes = 8 * parameters.flit_bytes;
  parameters.measure_cycles = 20000;
  for (const double rate : {0.01, 0.2, 0.4}) measure(mesh({8, 8}), parameters, rate);
  for (const double rate : {0.01, 0.4, 0.6}) measure(flattened_butterfly({4, 4}, 4, true), parameters, rate);
  parameters.measure_cycles = 2000;
  measure(mesh({32, 32}), parameters, 0.1);
}

}  // namespace
}  // namespace dcgn::memnet
