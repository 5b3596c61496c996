#include "bench/window.hpp"
#include "core/bench/pair_kernel.hpp"

namespace dcgn::bench {

Row measure_windows(const Workload& work, Measure measure) {
  const WindowPlan plan{work.bytes, static_cast<std::uint64_t>(work.seconds * 1e9), window_of(work.bytes, work.window),
                        measure == Measure::bidirectional};
  Pair pair(work, plan.extent());
  Row row = pair.row(measure);
  row.window = plan.window;
  set_figures_of_rounds(row, pair.run(plan), plan.window);
  return row;
}

}  // namespace dcgn::bench
