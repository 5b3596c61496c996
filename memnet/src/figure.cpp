#include "memnet/src/figure.hpp"

#include "memnet/src/figure_parts.hpp"

#include <dcgn/error.hpp>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <exception>
#include <mutex>
#include <sstream>
#include <thread>
#include <utility>

namespace dcgn::memnet {

void run_tasks(int count, int threads, const std::function<void(int)>& task, const Progress& progress) {
  if (threads <= 0) threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  std::vector<std::exception_ptr> errors(static_cast<std::size_t>(count));
  std::atomic<int> next{0};
  std::mutex mutex;
  int done = 0;
  const auto work = [&] {
    for (int i = next.fetch_add(1); i < count; i = next.fetch_add(1)) {
      try {
        task(i);
      } catch (...) {
        errors[static_cast<std::size_t>(i)] = std::current_exception();
      }
      const std::scoped_lock lock(mutex);
      ++done;
      if (progress) progress(static_cast<double>(done) / count);
    }
  };
  {
    std::vector<std::jthread> others;
    for (int t = 1; t < std::min(threads, count); ++t) others.emplace_back(work);
    work();
  }
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

namespace {

// Blocks of all launches, and those that were recorded.
std::pair<std::uint64_t, std::uint64_t> sampled(const base::KernelTrace& trace) {
  std::pair<std::uint64_t, std::uint64_t> sums;
  for (const base::KernelStep& step : trace.steps)
    if (step.kind == base::KernelStep::Kind::launch)
      sums.first += step.launch.block_count(), sums.second += step.launch.blocks.size();
  return sums;
}

}  // namespace

double geometric_mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += std::log(value);
  return values.empty() ? 0 : std::exp(sum / static_cast<double>(values.size()));
}

SystemModel system_of(const FigureOptions& options) {
  if (options.sample_requests < 10) {
    throw Error(Code::configuration, "memnet",
                "sample_requests is " + std::to_string(options.sample_requests) + ", expected 10 or more");
  }
  SystemModel model;
  model.sample_requests = options.sample_requests;
  model.kernel_requests = options.kernel_requests;
  model.seed = options.seed;
  if (options.change_system) options.change_system(model);
  return model;
}

std::vector<std::string> workload_assumptions(const std::vector<Workload>& used) {
  std::vector<std::string> out;
  for (const Workload& one : used) {
    if (one.assumed != "nothing") out.push_back(std::string(one.name) + ": " + std::string(one.assumed));
  }
  return out;
}

Workload changed_workload(const FigureOptions& options, std::string_view name, bool* changed) {
  Workload one = workload(name);
  const bool differs = options.change_workload && options.change_workload(one);
  if (changed) *changed = differs;
  return one;
}

std::vector<Subject> subjects(const FigureOptions& options, const std::vector<std::string_view>& names) {
  std::vector<Subject> all;
  const auto add = [&](std::string_view name) {
    bool changed = false;
    GpuCores cores;
    if (options.change_cores) options.change_cores(cores);
    const Workload one = changed_workload(options, name, &changed);
    if (!options.traces) {
      all.push_back({std::string(name), one, nullptr, changed ? nullptr : options.known, cores});
    } else if (const auto found = options.traces->find(name); found != options.traces->end()) {
      all.push_back({std::string(name), one, &found->second, nullptr, cores});
    }
  };
  for (const std::string_view name : names) add(name);
  if (names.empty())
    for (const Workload& one : workloads()) add(one.name);
  return all;
}

namespace {

// `where`: the network. Figures differ in what else the key has.
template <class Simulate>
Phase known_or_simulated(const Subject& subject, const std::string& where, const SystemModel& model,
                         const Simulate& simulate) {
  if (!subject.known) return simulate();
  std::ostringstream key;
  key << subject.name << ' ' << subject.workload.operations << ' ' << where << ' ' << to_string(model.routing) << ' '
      << model.ugal_threshold << ' ' << model.sample_requests << ' ' << model.seed;
  const auto found = subject.known->find(key.str());
  return found != subject.known->end() ? found->second : subject.known->emplace(key.str(), simulate()).first->second;
}

}  // namespace

Phase kernels_of(const Subject& subject, const MemoryNetwork& network, const SystemModel& model) {
  if (subject.trace) return network_kernel(network, model, subject.cores, *subject.trace).phase;
  const std::string where = std::string(to_string(network.kind)) + ' ' + std::to_string(network.gpus) + ' ' +
                            std::to_string(network.pair_channels);
  return known_or_simulated(subject, where, model, [&] { return network_kernel(network, model, subject.workload); });
}
Phase kernels_of(const Subject& subject, Organisation organisation, const SystemModel& model) {
  if (subject.trace) return kernel_phase(organisation, model, subject.cores, *subject.trace).phase;
  return known_or_simulated(subject, std::string(to_string(organisation)), model,
                            [&] { return kernel_phase(organisation, model, subject.workload); });
}

std::vector<std::string> assumptions(const std::vector<Subject>& subjects) {
  const std::string pages = "pages placed at random over the clusters; a row of 2 KB, columns of 32 bytes";
  if (!subjects.empty() && subjects.front().trace) {
    std::vector<std::string> all{
        "kernels of our own, after the algorithms of Table II, run instruction by instruction; a sample of each "
        "launch's blocks is simulated, and the rest goes at its pace; of a kernel's launches in one size a sample, "
        "too, and the rest takes their mean",
        "a launch is cut off once GPUs have made so many requests to memory each, as the command says, or done 1024 "
        "times as much in instructions and lines; what is left goes at the pace of the second half",
        "cores: 4 cycles from an instruction of a warp to its next, 20 of an L1 hit, 32 lines outstanding a core; 10 "
        "ns from a core to the L2; 8 banks of L2; 512 requests outstanding a GPU",
        pages};
    for (const Subject& one : subjects)
      if (const auto blocks = sampled(*one.trace); blocks.second < blocks.first)
        all.push_back(one.name + ": " + std::to_string(blocks.second) + " of " + std::to_string(blocks.first) +
                      " blocks recorded");
    return all;
  }
  std::vector<Workload> used;
  used.reserve(subjects.size());
  for (const Subject& one : subjects) used.push_back(one.workload);
  return joined(
      {"kernels are traffic models, not run: bytes and CTAs are derived from the problem's size, instructions "
       "estimated",
       "each GPU simulates a sample of a launch's requests; the rest goes at the pace of the sample's middle",
       "computing and memory accesses overlap fully; 1/2 of a GPU's issue slots filled, 8 lines outstanding a CTA (one "
       "a thread where rows are apart), 512 a GPU",
       pages},
      workload_assumptions(used));
}

std::vector<std::string> joined(std::vector<std::string> a, const std::vector<std::string>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

double Figure::value(const std::string& series, const std::string& label) const {
  for (const FigureRow& row : rows) {
    if (row.series == series && row.label == label) return row.ours;
  }
  throw Error(Code::configuration, "memnet",
              "figure " + std::to_string(number) + " has no row of \"" + series + "\" at \"" + label + "\"");
}

namespace {

Figure figure_of_one_seed(int number, const FigureOptions& options) {
  switch (number) {
    case 12: return figure_12();
    case 14: return figure_14(options);
    case 15: return figure_15(options);
    case 16: return figures_16_and_17(options)[0];
    case 17: return figures_16_and_17(options)[1];
    case 18: return figure_18(options);
    case 19: return figure_19(options);
  }
  throw Error(Code::configuration, "memnet",
              "figure " + std::to_string(number) + ", expected 12, 14, 15, 16, 17, 18 or 19");
}

}  // namespace

Figure figure(int number, const FigureOptions& options) {
  if (options.seeds < 1 || options.seeds > 1000)
    throw Error(Code::configuration, "memnet", std::to_string(options.seeds) + " seeds, expected 1..1000");
  std::vector<Figure> all;
  for (int i = 0; i < options.seeds; ++i) {
    FigureOptions its = options;
    its.seed = options.seed + static_cast<std::uint64_t>(i);
    if (options.progress) its.progress = [&](double share) { options.progress((i + share) / options.seeds); };
    all.push_back(figure_of_one_seed(number, its));
  }
  Figure mean = all.front();
  const double count = options.seeds;
  for (std::size_t r = 0; r < mean.rows.size(); ++r) {
    double sum = 0, squares = 0;
    for (const Figure& one : all) sum += one.rows[r].ours;
    for (const Figure& one : all) squares += std::pow(one.rows[r].ours - sum / count, 2);
    mean.rows[r].ours = sum / count;
    mean.rows[r].spread = options.seeds > 1 ? std::sqrt(squares / (count - 1)) : 0;
  }
  for (std::size_t c = 0; c < mean.claims.size(); ++c) {
    FigureClaim& claim = mean.claims[c];
    claim.seeds = options.seeds;
    claim.held =
        static_cast<int>(std::count_if(all.begin(), all.end(), [c](const Figure& one) { return one.claims[c].holds; }));
    claim.holds = claim.held == claim.seeds;
  }
  return mean;
}

std::vector<Figure> all_figures(const FigureOptions& options) {
  std::vector<Figure> all{figure_12(), figure_14(options), figure_15(options)};
  for (Figure& one : figures_16_and_17(options)) all.push_back(std::move(one));
  all.push_back(figure_18(options));
  all.push_back(figure_19(options));
  return all;
}

std::string to_text(const Figure& figure) {
  std::string out = "Figure " + std::to_string(figure.number) + ": " + figure.title + " [" + figure.unit + "]\n";
  char line[200];
  for (const FigureRow& row : figure.rows) {
    std::snprintf(line, sizeof line, "  %-28s %-10s %10.4g", row.series.c_str(), row.label.c_str(), row.ours);
    out += line;
    if (row.paper) {
      std::snprintf(line, sizeof line, "   paper %8.4g   deviation %+6.1f %%", *row.paper, *row.deviation() * 100);
      out += line;
    }
    out += '\n';
  }
  for (const FigureClaim& claim : figure.claims) out += "  " + std::string(claim.verdict()) + ": " + claim.text + '\n';
  for (const std::string& one : figure.assumed) out += "  assumed: " + one + '\n';
  return out;
}

}  // namespace dcgn::memnet
