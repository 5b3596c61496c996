// What the files of figures have in common.
#pragma once

#include "memnet/src/figure.hpp"
#include "memnet/src/organisation.hpp"

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace dcgn::memnet {

// Calls task(0) .. task(count - 1) in up to `threads` threads (0: as many as the machine has). What a task throws is
// thrown again, the first task's first. `progress` is told the share that is done, by one thread at a time.
void run_tasks(int count, int threads, const std::function<void(int)>& task, const Progress& progress = {});

double geometric_mean(const std::vector<double>& values);

SystemModel system_of(const FigureOptions& options);
// What a figure runs: a recorded kernel, or a traffic model.
struct Subject {
  std::string name;
  Workload workload;
  const base::KernelTrace* trace = nullptr;
  std::map<std::string, Phase>* known = nullptr;  // FigureOptions::known, of a workload that was not changed
  GpuCores cores = {};                            // that run the trace

  double copied_in() const { return trace ? copied(*trace, base::KernelStep::Kind::to_gpu) : workload.copied_in; }
  double copied_out() const { return trace ? copied(*trace, base::KernelStep::Kind::to_host) : workload.copied_out; }
};
// A workload of Table II, changed as the options say.
Workload changed_workload(const FigureOptions& options, std::string_view name, bool* changed = nullptr);
// In the order of `names`; none: of Table II. Where the options have traces, those that they have.
std::vector<Subject> subjects(const FigureOptions& options, const std::vector<std::string_view>& names = {});
Phase kernels_of(const Subject& subject, const MemoryNetwork& network, const SystemModel& model);
Phase kernels_of(const Subject& subject, Organisation organisation, const SystemModel& model);
// Of all that was run, what the paper does not say.
std::vector<std::string> assumptions(const std::vector<Subject>& subjects);

// "BP: one pass forward and one update" for each workload that assumes something.
std::vector<std::string> workload_assumptions(const std::vector<Workload>& used);
std::vector<std::string> joined(std::vector<std::string> a, const std::vector<std::string>& b);

Figure figure_12();
Figure figure_14(const FigureOptions& options);
Figure figure_15(const FigureOptions& options);
std::vector<Figure> figures_16_and_17(const FigureOptions& options);
Figure figure_18(const FigureOptions& options);
Figure figure_19(const FigureOptions& options);

}  // namespace dcgn::memnet
