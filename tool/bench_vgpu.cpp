// dcgn bench vgpu
#include "bench/vgpu.hpp"

#include "tool/bench_document.hpp"
#include "tool/bench_options.hpp"
#include "tool/commands.hpp"
#include "tool/exit_code.hpp"
#include "tool/values.hpp"

#include <dcgn/device.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

namespace dcgn::tool {

namespace {

using bench::VgpuRow, bench::VgpuWork, workloads::WorkloadKind, workloads::workload_kinds;

struct Arguments {
  std::string measures = "remote,scaling,schedule,placement,launch", workloads, parts;
  int scale = 0;
  double seconds = 0.2;
  JsonOption json;
};

std::vector<std::string> workload_names() {
  std::vector<std::string> names;
  for (const WorkloadKind& kind : workload_kinds()) names.emplace_back(kind.name);
  return names;
}

VgpuWork work_of(const Arguments& a) {
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
  return work;
}

void head(const std::string& measure) {
  const auto title = [&] {
    if (measure == "remote") return "vector add on one GPU, its data dealt out to several (2014 paper, figure 7)";
    if (measure == "scaling") return "kernels over more and more GPUs (2014 paper, figure 19)";
    if (measure == "schedule") return "chunks of blocks, and blocks that are stolen";
    if (measure == "placement") return "where pages lie";
    return "what a launch costs";
  }();
  fmt::print("\n# {}: {}\n", measure, title);
  fmt::print("#{:<29} {:>5} {:>7} {:<18} {:<9} {:>7} {:>12} {:>12} {:>9} {:>8} {:>9}  {:<20} {:>6}\n", " workload",
             "parts", "devices", "placement", "schedule", "rounds", "p50 us", "p99 us", "GB/s", "speed-up", "limit",
             "by", "wrong");
  std::fflush(stdout);
}

void line(const VgpuRow& row) {
  const auto number = [](double value) { return value > 0 ? fmt::format("{:.2f}", value) : std::string("-"); };
  fmt::print(" {:<29} {:>5} {:>7} {:<18} {:<9} {:>7} {:>12.2f} {:>12.2f} {:>9} {:>8} {:>9}  {:<20} {:>6}\n",
             row.workload, row.parts, row.devices, row.placement, row.schedule, row.rounds, row.p50_us, row.p99_us,
             number(gb_per_s(row)), number(row.speedup), number(row.limit), row.limited_by, row.wrong);
  std::fflush(stdout);
}

// Over the workloads, as the paper sums up its figure 19.
void print_means(const std::vector<VgpuRow>& rows, const std::vector<int>& parts) {
  for (const int count : parts) {
    double logarithms = 0;
    int found = 0;
    for (const VgpuRow& row : rows)
      if (row.parts == count) {
        logarithms += std::log(row.speedup);
        ++found;
      }
    if (found > 1)
      fmt::print("# geometric mean of {} workloads, {} parts: {:.2f}\n", found, count, std::exp(logarithms / found));
  }
}

int run(Arguments& a) {
  const VgpuWork work = work_of(a);
  BenchDocument document("vgpu", a.json);
  for (const std::string& measure : split(a.measures, ',')) {
    if (!document.quiet()) head(measure);
    std::vector<VgpuRow> rows;
    const auto sink = [&](const VgpuRow& row) {
      rows.push_back(row);
      document.add(bench::to_json(row), row.wrong);
      if (!document.quiet()) line(row);
    };
    if (measure == "remote") bench::measure_remote(work, sink);
    if (measure == "scaling") bench::measure_scaling(work, sink);
    if (measure == "schedule") bench::measure_schedule(work, sink);
    if (measure == "placement") bench::measure_placement(work, sink);
    if (measure == "launch") bench::measure_launch(work, sink);
    if (measure == "scaling" && !document.quiet()) print_means(rows, work.parts);
  }
  return document.finish();
}

constexpr const char* description =
    "Kernels for one GPU over several: the virtual GPU\n\n"
    "Each measure is a table. Workloads are those of the 2014 paper's Table II, the same source for one GPU and for "
    "several:\n"
    "  remote     vector add on part 0 alone, its pages dealt out to 1, 2, 4 GPUs: 0, 50, 75 % remote\n"
    "  scaling    each workload over more and more parts, beside one GPU that runs the kernels as they are\n"
    "  schedule   a chunk of blocks each, and blocks that are stolen\n"
    "  placement  chunked, inputs replicated, interleaved, all on part 0\n"
    "  launch     an empty kernel: launch and wait, and one of many launches\n"
    "A run is all of a workload's kernels, from the first launch to the end of the last. Each result is compared with "
    "that\n"
    "of one GPU: `wrong` counts bytes, or floats where atomics add them in whatever order.";

}  // namespace

void add_bench_vgpu(CLI::App& parent, Action& chosen) {
  const auto a = std::make_shared<Arguments>();
  CLI::App* app = parent.add_subcommand("vgpu", description);
  app->add_option("--measure", a->measures, "What to measure")
      ->check(words_of({"remote", "scaling", "schedule", "placement", "launch"}))
      ->type_name("WORDS")
      ->capture_default_str();
  app->add_option("--workloads", a->workloads,
                  "Which [all]:\n" + fmt::format("{}", fmt::join(workload_names(), ", ")))
      ->check(words_of(workload_names()))
      ->type_name("WORDS");
  app->add_option("--parts", a->parts,
                  "Numbers of parts, dealt out to the GPUs there are: more of them share a GPU [1, 2, 4, ... GPUs]")
      ->type_name("N,...");
  app->add_option("--scale", a->scale, "Work, 1 for buffers of some MB [some GiB]")
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
