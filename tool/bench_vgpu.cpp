// dcgn bench vgpu
#include "vgpu/bench/vgpu.hpp"

#include "tool/bench_document.hpp"
#include "tool/bench_gates.hpp"
#include "tool/bench_options.hpp"
#include "tool/commands.hpp"
#include "tool/exit_code.hpp"
#include "tool/values.hpp"

#include <dcgn/device.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

namespace dcgn::tool {

namespace {

using bench::VgpuRow, bench::VgpuWork, workloads::WorkloadKind, workloads::workload_kinds;

struct VgpuArguments {
  std::string measures = "launch,remote,scaling,measured,schedule,placement", workloads, parts;
  int scale = 0;
  double seconds = 0.05;
  JsonOption json;
};

std::vector<std::string> workload_names() {
  std::vector<std::string> names;
  for (const WorkloadKind& kind : workload_kinds())
    if (kind.scale_of_gpu > 0) names.emplace_back(kind.name);
  return names;
}

bool asks(const VgpuArguments& a, const char* measure) {
  const std::vector<std::string> measures = split(a.measures, ',');
  return std::ranges::find(measures, measure) != measures.end();
}

VgpuWork work_of(const VgpuArguments& a) {
  if (Device::count() == 0 || Device(0).kind() != DeviceKind::cuda)
    refuse("vgpu: this machine has no CUDA device, expected at least one: emulated GPUs run no CUDA source");
  VgpuWork work;
  const std::vector<std::string> asked = a.workloads.empty() ? workload_names() : split(a.workloads, ',');
  for (const WorkloadKind& kind : workload_kinds())
    if (std::ranges::find(asked, kind.name) != asked.end()) work.kinds.push_back(kind);
  if (!a.parts.empty())
    work.parts = parse_numbers("--parts", a.parts, 1, 64);
  else
    for (int parts = 1; parts <= Device::count(); parts *= 2) work.parts.push_back(parts);
  work.scale = a.scale;
  work.seconds = a.seconds;
  work.scaling = asks(a, "scaling");
  work.measured = asks(a, "measured");
  work.schedule = asks(a, "schedule");
  work.placement = asks(a, "placement");
  return work;
}

void head(const char* title) {
  fmt::print("\n# {}\n", title);
  fmt::print("#{:<29} {:>5} {:>7} {:<17} {:<8} {:>6} {:>11} {:>11} {:>8} {:>8} {:>8}  {:<19} {:>5}\n", " workload",
             "parts", "devices", "placement", "schedule", "rounds", "p50 us", "p99 us", "GB/s", "speed-up", "limit",
             "by", "wrong");
  std::fflush(stdout);
}

void line(const VgpuRow& row) {
  const auto number = [](double value) { return value > 0 ? fmt::format("{:.2f}", value) : std::string("-"); };
  fmt::print(" {:<29} {:>5} {:>7} {:<17} {:<8} {:>6} {:>11.2f} {:>11.2f} {:>8} {:>8} {:>8}  {:<19} {:>5}\n",
             row.workload, row.parts, row.devices, row.placement, row.schedule, row.rounds, row.p50_us, row.p99_us,
             number(gb_per_s(row)), number(row.speedup), number(row.limit), row.limited_by, row.wrong);
  std::fflush(stdout);
}

// Of each kind of row over all workloads, as the paper sums up its figure 19.
void print_means(const std::vector<VgpuRow>& rows) {
  struct Mean {
    double logarithms = 0;
    int rows = 0;
  };
  std::map<std::tuple<int, std::string, std::string>, Mean> means;
  for (const VgpuRow& row : rows) {
    Mean& mean = means[{row.parts, row.placement, row.schedule}];
    mean.logarithms += std::log(row.speedup);
    ++mean.rows;
  }
  for (const auto& [kind, mean] : means) {
    const auto& [parts, placement, schedule] = kind;
    if (parts > 1 && mean.rows > 1)
      fmt::print("# geometric mean of {} workloads, {} parts, {}, {}: {:.2f}\n", mean.rows, parts, placement, schedule,
                 std::exp(mean.logarithms / mean.rows));
  }
}

int run(VgpuArguments& a) {
  const VgpuWork work = work_of(a);
  BenchDocument document("vgpu", a.json);
  std::vector<VgpuRow> rows;
  const auto sink = [&](const VgpuRow& row) {
    rows.push_back(row);
    document.add(bench::to_json(row), row.wrong);
    if (!document.quiet()) line(row);
  };
  bool failed = false;
  const auto begin = [&](const char* title) {
    if (!document.quiet()) head(title);
    rows.clear();
  };
  if (asks(a, "launch")) {
    begin("what a launch costs");
    attempt("launch", failed, [&] { bench::measure_launch(work, sink); });
  }
  if (asks(a, "remote")) {
    begin("vector add on one GPU, pages of its data on others (2014 paper, figure 7)");
    attempt("remote", failed, [&] { bench::measure_remote(work, sink); });
    if (!document.quiet())
      fmt::print(
          "# the paper, 75 %: 11.7 times slower over PCIe (a speed-up of 0.09); 50 % on its memory network: no "
          "slower\n");
  }
  if (work.scaling || work.measured || work.schedule || work.placement) {
    begin("kernels over several GPUs (2014 paper, figure 19: 13.5 by 16 GPUs)");
    for (const WorkloadKind& kind : work.kinds)
      attempt(kind.name, failed, [&] { bench::measure_workload(work, kind, sink); });
    if (!document.quiet()) print_means(rows);
  }
  const int result = document.finish();
  return failed ? exit_job_failed : result;
}

constexpr const char* vgpu_description =
    "Kernels for one GPU over several: the virtual GPU\n\n"
    "Workloads are those of the 2014 paper's Table II, the same source for one GPU and for several:\n"
    "  launch     an empty kernel: launch and wait, and one of many launches, by calls and recorded\n"
    "  remote     vector add on one GPU with 0, 50, 75 and 100 % of its pages on others\n"
    "  scaling    each workload over more and more parts, beside one GPU that runs the kernels as they are\n"
    "  measured   and split or whole, whichever was measured to take less in the seconds before\n"
    "  schedule   and with blocks that are stolen instead of a chunk each\n"
    "  placement  and with inputs replicated, pages interleaved, all on part 0, or where sampling puts them\n"
    "A run is all of a workload's kernels, from the first launch to the end of the last. Each result is compared with "
    "that\n"
    "of one GPU: `wrong` counts words of 4 bytes. Sums of floats by atomics may differ in their last bits.";

}  // namespace

void add_bench_vgpu(CLI::App& parent, Action& chosen) {
  const auto a = std::make_shared<VgpuArguments>();
  CLI::App* app = parent.add_subcommand("vgpu", vgpu_description);
  app->add_option("--measure", a->measures, "What to measure")
      ->check(words_of({"launch", "remote", "scaling", "measured", "schedule", "placement"}))
      ->type_name("WORDS")
      ->capture_default_str();
  app->add_option("--workloads", a->workloads, "Which [all]:\n" + fmt::format("{}", fmt::join(workload_names(), ", ")))
      ->check(words_of(workload_names()))
      ->type_name("WORDS");
  app->add_option("--parts", a->parts,
                  "Numbers of parts, dealt out to the GPUs there are: more of them share a GPU [1, 2, 4, ... GPUs]")
      ->type_name("N,...");
  app->add_option("--scale", a->scale, "Work, 1 for buffers of some MB [some GiB for each GPU]")
      ->type_name("N")
      ->check(whole_number(1, 1024));
  app->add_option("--time", a->seconds, "Seconds that a row should take, three runs at least")
      ->type_name("S")
      ->check(positive_number())
      ->capture_default_str();
  a->json.add_to(*app, "All rows, with machine, commit, date and command,");
  app->footer(std::string("Examples:\n"
                          "  dcgn bench vgpu\n"
                          "  dcgn bench vgpu --measure remote --json remote.json\n"
                          "  dcgn bench vgpu --measure scaling --workloads vector-add,coulomb --parts 1,2,4,8\n"
                          "  dcgn bench vgpu --measure schedule,placement --scale 4\n\n") +
              exit_codes_help);
  app->callback([a, &chosen] { chosen = [a] { return run(*a); }; });
}

}  // namespace dcgn::tool
