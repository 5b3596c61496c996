// Channels of distributor-based and sliced flattened butterflies.
#include "memnet/src/figure_parts.hpp"

#include <cmath>
#include <string>

namespace dcgn::memnet {

Figure figure_12() {
  Figure out{.number = 12, .title = "channels between HMCs", .unit = "bidirectional channels; saving: share"};
  for (const int gpus : {2, 4, 8, 16}) {
    const auto channels = [gpus](MemoryTopology kind) {
      MemoryNetwork network;
      network.kind = kind;
      network.gpus = gpus;
      network.channels_per_hmc = 0;  // dFBFLY of 8 GPUs takes 9, which is why it does not scale
      return memory_network(network).channel_count();
    };
    const std::string label = std::to_string(gpus) + " GPUs";
    const int distributed = channels(MemoryTopology::flattened_butterfly);
    const int sliced = channels(MemoryTopology::sliced_butterfly);
    out.rows.push_back({"dFBFLY", label, static_cast<double>(distributed), std::nullopt});
    out.rows.push_back({"sFBFLY", label, static_cast<double>(sliced), std::nullopt});
    std::optional<double> paper;
    if (gpus == 4) paper = 0.50;
    if (gpus == 8) paper = 0.43;
    out.rows.push_back({"saving", label, 1 - static_cast<double>(sliced) / distributed, paper});
    if (paper) {
      const double saved = out.rows.back().ours;
      out.claims.push_back({"sFBFLY saves " + std::to_string(std::lround(*paper * 100)) + " % at " + label,
                            saved > *paper - 0.005 && saved < *paper + 0.005});
    }
  }
  out.assumed = {
      "slices of 8 GPUs are 4 x 2, as section VI has 4 x 4 for 16: an HMC has too few channels for all of 8"};
  return out;
}

}  // namespace dcgn::memnet
