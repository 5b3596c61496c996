// Kernels on more GPUs.
#include "memnet/src/figure_parts.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace dcgn::memnet {

Figure figure_19(const FigureOptions& options) {
  const std::vector<std::string_view> names{"3DFD", "BP", "CP", "FWT", "RAY", "SCAN", "SRAD"};
  const std::vector<int> sizes{1, 2, 4, 8, 16};
  constexpr double growth = 16;
  std::vector<Workload> used;
  for (const std::string_view name : names) {
    Workload one = workload(name);
    // FWT was not large enough to keep 16 GPUs' cores busy: its size is Table II's.
    if (name != "FWT") {
      for (double* amount : {&one.copied_in, &one.copied_out, &one.read, &one.written, &one.operations, &one.blocks}) {
        *amount *= growth;
      }
    }
    used.push_back(one);
  }
  std::vector<double> ns(used.size() * sizes.size());
  run_tasks(
      static_cast<int>(ns.size()), options.threads,
      [&](int task) {
        const auto t = static_cast<std::size_t>(task);
        MemoryNetwork network;
        network.gpus = sizes[t % sizes.size()];
        ns[t] = network_kernel(network, system_of(options), used[t / sizes.size()]).ns;
      },
      options.progress);
  Figure out{.number = 19, .title = "kernels on more GPUs", .unit = "speedup over 1 GPU"};
  for (std::size_t s = 0; s < sizes.size(); ++s) {
    const std::string label = std::to_string(sizes[s]);
    std::vector<double> speedups;
    for (std::size_t w = 0; w < used.size(); ++w) {
      speedups.push_back(ns[w * sizes.size()] / ns[w * sizes.size() + s]);
      std::optional<double> paper;
      if (sizes[s] == 16 && names[w] == "FWT") paper = 11.2;
      out.rows.push_back({std::string(names[w]), label, speedups.back(), paper});
    }
    const std::optional<double> paper = sizes[s] == 16 ? std::optional(13.5) : std::nullopt;
    out.rows.push_back({"GMEAN", label, geometric_mean(speedups), paper});
  }
  double least = out.value("FWT", "16");
  for (const std::string_view name : names) least = std::min(least, out.value(std::string(name), "16"));
  out.claims.push_back({"no workload gains less than FWT at 16 GPUs (to 3 %)", least >= out.value("FWT", "16") * 0.97});
  out.claims.push_back({"CP is near ideal at 16 GPUs (15 or more)", out.value("CP", "16") >= 15});
  out.assumed = joined(joined(model_assumptions(), {"problems 16 times Table II's, FWT's as it is",
                                                    "two channels a link in dimensions of two clusters (2 and 8 GPUs)",
                                                    "L2 hit rates do not rise with the number of GPUs"}),
                       workload_assumptions(used));
  return out;
}

}  // namespace dcgn::memnet
