#include "core/bench/pair_kernel.hpp"

namespace dcgn::bench {

Row measure_latency(const Workload& work) {
  Pair pair(work, work.bytes);
  Row row = pair.row(Measure::latency);
  set_figures(row, pair.run(Plan{work.bytes, static_cast<std::uint64_t>(work.seconds * 1e9)}));
  return row;
}

}  // namespace dcgn::bench
