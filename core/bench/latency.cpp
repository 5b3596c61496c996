#include "core/bench/pair_kernel.hpp"

namespace dcgn::bench {

Row measure_latency(const Workload& work) {
  Pair pair(work, work.bytes);
  Row row = pair.row(Measure::latency);
  const Plan plan{work.bytes, static_cast<std::uint64_t>(work.seconds * 1e9)};
  set_figures(row, work.split ? pair.run<true>(plan) : pair.run(plan));
  return row;
}

}  // namespace dcgn::bench
