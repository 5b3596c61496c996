// What the files of figures have in common.
#pragma once

#include "memnet/src/figure.hpp"
#include "memnet/src/organisation.hpp"

#include <functional>
#include <string>
#include <vector>

namespace dcgn::memnet {

// Calls task(0) .. task(count - 1) in up to `threads` threads (0: as many as the machine has). What a task throws is
// thrown again, the first task's first. `progress` is told the share that is done, by one thread at a time.
void run_tasks(int count, int threads, const std::function<void(int)>& task, const Progress& progress = {});

double geometric_mean(const std::vector<double>& values);

SystemModel system_of(const FigureOptions& options);
// "BP: one pass forward and one update" for each workload that assumes something.
std::vector<std::string> workload_assumptions(const std::vector<Workload>& used);
// What every simulation of kernels assumes.
std::vector<std::string> model_assumptions();
std::vector<std::string> joined(std::vector<std::string> a, const std::vector<std::string>& b);

Figure figure_12();
Figure figure_14(const FigureOptions& options);
Figure figure_15(const FigureOptions& options);
std::vector<Figure> figures_16_and_17(const FigureOptions& options);
Figure figure_18(const FigureOptions& options);
Figure figure_19(const FigureOptions& options);

}  // namespace dcgn::memnet
