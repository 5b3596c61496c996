// Run times on the organisations of Table III.
#include "memnet/src/figure_parts.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace dcgn::memnet {

namespace {

constexpr std::size_t columns = std::size(all_organisations);

std::size_t index(Organisation organisation) { return static_cast<std::size_t>(organisation); }

}  // namespace

Figure figure_14(const FigureOptions& options) {
  const std::vector<Subject> used = subjects(options);
  const SystemModel model = system_of(options);
  // Copies are long against their start-up: one simulation gives all their times. GMN copies as PCIe does.
  constexpr double sample_bytes = 64 << 20;
  double copy_ns[2][2] = {};  // PCIe, CMN; in, out
  std::vector<std::vector<double>> kernel_ns(used.size(), std::vector<double>(columns));
  const int kernels = static_cast<int>(used.size() * columns);
  run_tasks(
      kernels + 4, options.threads,
      [&](int task) {
        if (task >= kernels) {
          const int copy = task - kernels;
          const Organisation by = copy / 2 == 0 ? Organisation::pcie : Organisation::cmn;
          copy_ns[copy / 2][copy % 2] = copy_phase(by, model, sample_bytes, copy % 2 == 0).ns;
          return;
        }
        const Organisation on = all_organisations[static_cast<std::size_t>(task) % columns];
        const std::size_t w = static_cast<std::size_t>(task) / columns;
        if (on == Organisation::gmn_zero_copy) return;  // below
        kernel_ns[w][index(on)] = kernels_of(used[w], on, model).ns;
      },
      options.progress);
  // Neither touches the GPUs' memory, whose network is all that differs.
  for (std::vector<double>& its : kernel_ns)
    its[index(Organisation::gmn_zero_copy)] = its[index(Organisation::pcie_zero_copy)];

  Figure out{.number = 14,
             .title = "run time by organisation",
             .unit = "share of the workload's total on PCIe, or a ratio of two"};
  std::vector<std::vector<double>> totals(used.size(), std::vector<double>(columns));
  for (std::size_t w = 0; w < used.size(); ++w) {
    std::vector<double> memcpy_ns(columns);
    for (const Organisation on : {Organisation::pcie, Organisation::cmn, Organisation::gmn}) {
      const auto& way = copy_ns[on == Organisation::cmn ? 1 : 0];
      memcpy_ns[index(on)] = (used[w].copied_in() * way[0] + used[w].copied_out() * way[1]) / sample_bytes;
    }
    for (std::size_t i = 0; i < columns; ++i) totals[w][i] = memcpy_ns[i] + kernel_ns[w][i];
    const double one = totals[w][index(Organisation::pcie)];
    for (std::size_t i = 0; i < columns; ++i) {
      const std::string name(to_string(all_organisations[i]));
      const std::string& label = used[w].name;
      out.rows.push_back({name + " memcpy", label, memcpy_ns[i] / one, std::nullopt});
      out.rows.push_back({name + " kernel", label, kernel_ns[w][i] / one, std::nullopt});
    }
  }

  const auto speedup = [&](Organisation over, Organisation on) {
    std::vector<double> ratios;
    ratios.reserve(totals.size());
    for (const auto& total : totals) ratios.push_back(total[index(over)] / total[index(on)]);
    return geometric_mean(ratios);
  };
  const auto faster_kernel = [&](std::size_t w) {
    return kernel_ns[w][index(Organisation::pcie)] / kernel_ns[w][index(Organisation::gmn)];
  };
  const auto place = [&](const char* name) {
    return static_cast<std::size_t>(
        std::find_if(used.begin(), used.end(), [&](const Subject& one) { return one.name == name; }) - used.begin());
  };
  std::vector<double> kernel_ratios;
  double gmn_share = 0, gmn_zero_copy_share = 0;
  for (std::size_t w = 0; w < used.size(); ++w) {
    kernel_ratios.push_back(faster_kernel(w));
    const double one = totals[w][index(Organisation::pcie)] * static_cast<double>(used.size());
    gmn_share += totals[w][index(Organisation::gmn)] / one;
    gmn_zero_copy_share += totals[w][index(Organisation::gmn_zero_copy)] / one;
  }
  const std::size_t bfs = place("BFS");
  out.rows.push_back({"PCIe total / CMN", "GMEAN", speedup(Organisation::pcie, Organisation::cmn), 1.8});
  out.rows.push_back({"PCIe total / CMN-ZC", "GMEAN", speedup(Organisation::pcie, Organisation::cmn_zero_copy), 2.2});
  out.rows.push_back({"GMN total / PCIe", "MEAN", gmn_share, 0.70});
  out.rows.push_back({"GMN-ZC total / PCIe", "MEAN", gmn_zero_copy_share, 0.67});
  out.rows.push_back(
      {"PCIe-ZC total / GMN-ZC", "GMEAN", speedup(Organisation::pcie_zero_copy, Organisation::gmn_zero_copy), 1.0});
  out.rows.push_back({"PCIe total / UMN", "GMEAN", speedup(Organisation::pcie, Organisation::umn), 8.5});
  if (place("BP") != used.size()) out.rows.push_back({"PCIe kernel / GMN", "BP", faster_kernel(place("BP")), 8.8});
  out.rows.push_back({"PCIe kernel / GMN", "GMEAN", geometric_mean(kernel_ratios), 3.5});
  if (bfs != used.size())
    out.rows.push_back({"PCIe-ZC kernel / PCIe", "BFS",
                        kernel_ns[bfs][index(Organisation::pcie_zero_copy)] / kernel_ns[bfs][index(Organisation::pcie)],
                        2.75});

  bool umn_first = true;
  for (const auto& total : totals) {
    const double least = *std::min_element(total.begin(), total.end());
    // Compute-bound runs are equal to within the sample.
    umn_first = umn_first && total[index(Organisation::umn)] <= least * 1.02;
  }
  const double umn = speedup(Organisation::pcie, Organisation::umn);
  bool slowest = true;
  for (const Organisation on : {Organisation::cmn, Organisation::cmn_zero_copy, Organisation::gmn, Organisation::umn}) {
    slowest = slowest && speedup(Organisation::pcie, on) > 1 && speedup(Organisation::pcie_zero_copy, on) > 1;
  }
  out.claims.push_back({"UMN is the fastest for every workload (to 2 %)", umn_first});
  out.claims.push_back({"PCIe and PCIe-ZC are the slowest on average", slowest});
  out.claims.push_back(
      {"CMN-ZC is faster than CMN on average", speedup(Organisation::cmn, Organisation::cmn_zero_copy) > 1});
  out.claims.push_back({"UMN gains more than all others",
                        umn > speedup(Organisation::pcie, Organisation::cmn_zero_copy) && umn > 1 / gmn_share});
  bool copies_avoided = true;
  for (const char* name : {"3DFD", "BP", "SCAN"}) {
    if (place(name) == used.size()) continue;
    const auto& total = totals[place(name)];
    copies_avoided = copies_avoided && total[index(Organisation::pcie_zero_copy)] < total[index(Organisation::pcie)];
  }
  out.claims.push_back({"zero-copy beats copies on PCIe for 3DFD, BP and SCAN", copies_avoided});
  out.assumed =
      joined(assumptions(used), {"a PCIe link takes 250 ns; a copy takes its bytes over the simulated bandwidth",
                                 "CMN: one channel from each GPU into the CPU's network",
                                 "means over the workloads: geometric for speedups, arithmetic for shares"});
  return out;
}

}  // namespace dcgn::memnet
