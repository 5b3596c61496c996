// The host's part on the overlay.
#include "memnet/src/figure_parts.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace dcgn::memnet {

Figure figure_18(const FigureOptions& options) {
  const std::vector<std::string_view> names{"CG.S", "FT.S"};
  const std::vector<MemoryTopology> kinds{MemoryTopology::sliced_mesh, MemoryTopology::sliced_butterfly,
                                          MemoryTopology::overlay};
  std::vector<double> ns(names.size() * kinds.size());
  run_tasks(
      static_cast<int>(ns.size()), options.threads,
      [&](int task) {
        const auto t = static_cast<std::size_t>(task);
        MemoryNetwork network;
        network.kind = kinds[t % kinds.size()];
        network.gpus = 3;
        network.cpus = 1;
        ns[t] = network_host(network, system_of(options), changed_workload(options, names[t / kinds.size()])).ns;
      },
      options.progress);
  Figure out{
      .number = 18, .title = "host performance, 1 CPU, 3 GPUs, 16 HMCs", .unit = "performance over that of sMESH"};
  std::vector<Workload> used;
  for (std::size_t w = 0; w < names.size(); ++w) {
    used.push_back(changed_workload(options, names[w]));
    const std::string label(names[w]);
    for (std::size_t k = 0; k < kinds.size(); ++k) {
      out.rows.push_back(
          {std::string(to_string(kinds[k])), label, ns[w * kinds.size()] / ns[w * kinds.size() + k], std::nullopt});
    }
    out.claims.push_back(
        {label + ": overlay over sFBFLY over sMESH", out.value("overlay", label) > out.value("sFBFLY", label) &&
                                                         out.value("sFBFLY", label) > out.value("sMESH", label)});
  }
  out.assumed = joined({"the host waits for memory alone: its computing is left out, which widens the gaps",
                        "its misses go to random lines of all HMCs; GPUs are idle meanwhile",
                        "outstanding misses: CG.S 1 (indexed), FT.S 4 (ROB of 64)"},
                       workload_assumptions(used));
  return out;
}

}  // namespace dcgn::memnet
