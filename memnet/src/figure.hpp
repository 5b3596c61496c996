// The paper's figures 12 and 14 to 19, simulated again, beside what its text states. Bars that the text gives no number
// for stand without one: the figures themselves are pictures.
#pragma once

#include "base/kernel_trace.hpp"

#include "memnet/src/simulation.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dcgn::memnet {

struct GpuCores;
struct Phase;
struct SystemModel;
struct Workload;

struct FigureRow {
  std::string series;
  std::string label;            // on the x axis
  double ours = 0;              // in the figure's unit; over several seeds their mean
  std::optional<double> paper;  // in the same unit, where the text states it
  double spread = 0;            // the standard deviation over the seeds

  // Ours over the paper's, less 1.
  std::optional<double> deviation() const { return paper ? std::optional(ours / *paper - 1) : std::nullopt; }
};

// An ordering that the text states.
struct FigureClaim {
  std::string text;
  bool holds = false;  // with every seed
  int held = 0;        // with so many of `seeds`
  int seeds = 1;

  // "holds", "fails", or "undecided" where seeds differ.
  std::string_view verdict() const { return holds ? "holds" : held == 0 ? "fails" : "undecided"; }
};

struct Figure {
  int number = 0;
  std::string title;
  std::string unit;  // of all rows
  std::vector<FigureRow> rows = {};
  std::vector<FigureClaim> claims = {};
  std::vector<std::string> assumed = {};  // inputs that the paper does not give

  // The value of a row. Throws Error(configuration) where there is none.
  double value(const std::string& series, const std::string& label) const;
};

// By the abbreviations of Table II.
using KernelTraces = std::map<std::string, base::KernelTrace, std::less<>>;

struct FigureOptions {
  // Of figures 14 to 17 and 19: these kernels run in place of the traffic models of all workloads. Null: the models.
  const KernelTraces* traces = nullptr;
  // Of each GPU and launch of kernels: then the launch is cut off. Four times the lines of an L2; 0: none is.
  std::int64_t kernel_requests = 65536;
  std::int64_t sample_requests = 4000;  // of each GPU in a simulation: some windows of 512
  std::uint64_t seed = 1;               // of the first
  int seeds = 1;                        // simulations of each row, each with the next seed
  int threads = 1;         // simulations at once; 0: as many as the machine has. The figures do not depend on it
  Progress progress = {};  // may be called from several threads, by one at a time

  // What tests change of the inputs; null: nothing.
  std::function<void(SystemModel&)> change_system = {};
  std::function<void(GpuCores&)> change_cores = {};     // of recorded kernels
  std::function<bool(Workload&)> change_workload = {};  // of each workload: whether it changed that one
  // Phases of kernels, which are not simulated again where a workload was not changed. With one thread, and with the
  // same change_system for all that are in it.
  std::map<std::string, Phase>* known = nullptr;
};

inline constexpr int figure_numbers[] = {12, 14, 15, 16, 17, 18, 19};

// Throws Error(configuration) for a figure that is not among figure_numbers.
Figure figure(int number, const FigureOptions& options = {});
// All of them, in order; figures 16 and 17 share their simulations.
std::vector<Figure> all_figures(const FigureOptions& options = {});

// A figure as text: a line a row, then the claims and what is assumed.
std::string to_text(const Figure& figure);

}  // namespace dcgn::memnet
