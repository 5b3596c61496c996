// What load-balanced routing gains over minimal routing.
#include "memnet/src/figure_parts.hpp"

#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

namespace dcgn::memnet {

Figure figure_15(const FigureOptions& options) {
  const std::vector<Subject> used = subjects(options, {"BP", "KMN", "SCAN", "CP", "CG.S", "FT.S"});
  const std::vector<MemoryTopology> kinds{MemoryTopology::dragonfly, MemoryTopology::flattened_butterfly};
  std::vector<double> ns(used.size() * kinds.size() * 2);
  run_tasks(
      static_cast<int>(ns.size()), options.threads,
      [&](int task) {
        const auto t = static_cast<std::size_t>(task);
        SystemModel model = system_of(options);
        model.routing = Routing::ugal;
        // Minimal routing is UGAL that never takes a longer route: both have the VCs that longer routes need, so that
        // what differs is the routes.
        if (t % 2 == 0) model.ugal_threshold = std::numeric_limits<double>::max();
        MemoryNetwork network;
        network.kind = kinds[t / 2 % kinds.size()];
        ns[t] = kernels_of(used[t / 2 / kinds.size()], network, model).ns;
      },
      options.progress);
  Figure out{.number = 15, .title = "UGAL against minimal routing", .unit = "run time of MIN / run time of UGAL"};
  bool little = true;
  for (std::size_t w = 0; w < used.size(); ++w) {
    for (std::size_t k = 0; k < kinds.size(); ++k) {
      const std::size_t t = (w * kinds.size() + k) * 2;
      const double gain = ns[t] / ns[t + 1];
      std::optional<double> paper;
      if (used[w].name == "KMN" || used[w].name == "CP") {
        paper = 1.015;  // "1-2 %"
        little = little && std::abs(gain - 1) < 0.05;
      }
      if (used[w].name == "CG.S" && kinds[k] == MemoryTopology::flattened_butterfly) paper = 1.095;
      out.rows.push_back({std::string(to_string(kinds[k])), used[w].name, gain, paper});
    }
  }
  const double uneven = out.value("dFBFLY", "CG.S");
  out.claims.push_back({"KMN and CP, whose traffic is uniform, gain next to nothing (within 5 %)", little});
  out.claims.push_back({"CG.S gains on dFBFLY", uneven > 1});
  out.claims.push_back({"CG.S gains more than KMN and CP on dFBFLY",
                        uneven > out.value("dFBFLY", "KMN") && uneven > out.value("dFBFLY", "CP")});
  out.assumed =
      joined(assumptions(used), {"MIN has the VCs that UGAL gives packets on minimal routes: those of both legs"});
  return out;
}

}  // namespace dcgn::memnet
