// dcgn sim record
#include "base/kernel_trace.hpp"
#include "base/output_file.hpp"

#include "tool/bench_document.hpp"
#include "tool/commands.hpp"
#include "tool/exit_code.hpp"
#include "tool/progress.hpp"
#include "tool/sim.hpp"
#include "tool/table.hpp"
#include "tool/values.hpp"
#include "vgpu/bench/record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

namespace dcgn::tool {

namespace {

using base::KernelStep, base::KernelTrace, base::WarpEvent;

struct SimRecordArguments {
  std::string workload, file, scale = "paper";
  std::int64_t blocks = 0, launches = 0;
  JsonOption json;
};

struct Sums {
  std::uint64_t instructions = 0, accesses = 0, touches = 0, bytes = 0;
};
Sums sums_of(const base::LaunchTrace& launch) {
  Sums sums;
  WarpEvent event;
  for (const base::BlockTrace& block : launch.blocks) {
    sums.bytes += block.bytes.size();
    for (std::size_t warp = 0; warp < block.warps(); ++warp) {
      for (base::WarpReader reader = block.warp(warp); reader.next(event);) {
        if (event.kind == WarpEvent::Kind::issue) sums.instructions += event.count;
        if (event.touches.empty()) continue;
        ++sums.instructions;
        ++sums.accesses;
        sums.touches += event.touches.size();
      }
    }
  }
  return sums;
}

int run(SimRecordArguments& a) {
  const auto& kinds = workloads::workload_kinds();
  const auto kind = std::find_if(kinds.begin(), kinds.end(), [&](const auto& one) { return a.workload == one.name; });
  expect_different("sim", {{"FILE", a.file}, {"--json", file_of(a.json)}});
  base::OutputFile file(a.file);
  a.json.open();
  ::setenv("DCGN_EMULATED_GPUS", "1", 1);  // it is the interpreter that sees what kernels do
  const int scale = a.scale == "paper" ? workloads::paper_scale : std::stoi(a.scale);
  const KernelTrace trace =
      workloads::record(*kind, scale, static_cast<std::uint64_t>(a.blocks), static_cast<std::uint64_t>(a.launches));
  base::write_kernel_trace(file, trace);
  BenchDocument document("sim record", a.json);
  document["workload"] = a.workload;
  document["scale"] = a.scale;
  std::vector<memnet::ReportRow> rows;
  Table table({{"step", Table::Align::left},
               {"blocks"},
               {"recorded"},
               {"warp instructions"},
               {"accesses"},
               {"lines an access"},
               {"bytes"}});
  const auto whole = [](std::uint64_t value) { return static_cast<std::int64_t>(value); };
  for (const KernelStep& step : trace.steps) {
    const bool is_launch = step.kind == KernelStep::Kind::launch;
    const Sums sums = is_launch ? sums_of(step.launch) : Sums{};
    const std::string name = is_launch                               ? step.launch.kernel
                             : step.kind == KernelStep::Kind::to_gpu ? "copy to the GPU"
                                                                     : "copy to the host";
    const std::uint64_t bytes = is_launch ? sums.bytes : step.bytes, blocks = is_launch ? step.launch.block_count() : 0,
                        recorded = step.launch.blocks.size();
    rows.push_back({{"step", name},
                    {"blocks", whole(blocks)},
                    {"recorded", whole(recorded)},
                    {"warp_instructions", whole(sums.instructions)},
                    {"accesses", whole(sums.accesses)},
                    {"lines", whole(sums.touches)},
                    {"bytes", whole(bytes)}});
    document.add(to_json(rows.back()), 0);
    if (is_launch)
      table.add({name, fmt::to_string(blocks), fmt::to_string(recorded), fmt::to_string(sums.instructions),
                 fmt::to_string(sums.accesses),
                 sums.accesses == 0
                     ? "-"
                     : fmt::format("{:.2f}", static_cast<double>(sums.touches) / static_cast<double>(sums.accesses)),
                 fmt::to_string(bytes)});
    else
      table.add({name, "", "", "", "", "", fmt::to_string(bytes)});
  }
  if (!document.quiet())
    fmt::print("\n# {} at scale {}, recorded in {}\n\n{}", a.workload, a.scale, a.file, table.text());
  return document.finish();
}

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const auto& kind : workloads::workload_kinds()) all.emplace_back(kind.name);
  return all;
}

CLI::Validator scale_or_paper() {
  return CLI::Validator(
      [](const std::string& text) {
        const CLI::Validator number = whole_number(0, 1000);
        return text == "paper" || number(text).empty()
                   ? std::string()
                   : fmt::format("'{}': expected paper, or a whole number from 0 to 1000", text);
      },
      "");
}

constexpr const char* sim_record_description =
    "What a kernel does to memory, as a trace that `dcgn sim run` runs on networks\n\n"
    "A workload of the 2014 paper runs on one emulated GPU, instruction by instruction: how many each warp issues\n"
    "between two accesses, the lines of 128 bytes that each access touches, where a result is first used, barriers.\n"
    "For a program of your own: dcgn vgpu run --emulate --record FILE ./program.";

}  // namespace

void add_sim_record(CLI::App& parent, Action& chosen) {
  const auto a = std::make_shared<SimRecordArguments>();
  CLI::App* app = parent.add_subcommand("record", sim_record_description);
  app->add_option("WORKLOAD", a->workload, "Which: " + fmt::format("{}", fmt::join(names(), ", ")))
      ->type_name("")
      ->check(word_of(names()))
      ->required();
  app->add_option("FILE", a->file, "The trace to write")->type_name("")->required();
  app->add_option(
         "--scale", a->scale,
         "How large: paper, as the 2014 paper's Table II; 0: what tests take; 1: buffers of some MB, and larger "
         "ones in proportion")
      ->type_name("N")
      ->check(scale_or_paper())
      ->capture_default_str();
  app->add_option("--blocks", a->blocks, "Blocks of a launch that are kept, about; the others run, too; 0: all")
      ->type_name("N")
      ->check(whole_number(0, std::int64_t{1} << 40))
      ->capture_default_str();
  app->add_option("--launches", a->launches,
                  "Launches of a kernel in one size that are kept, at most; the others run, too; 0: all")
      ->type_name("N")
      ->check(whole_number(0, std::int64_t{1} << 40))
      ->capture_default_str();
  a->json.add_to(*app, "A row a step, with machine, commit, date and command,");
  app->footer(std::string("Examples:\n"
                          "  dcgn sim record k-means kmeans.kernels\n"
                          "  dcgn sim record walsh walsh.kernels --scale paper --blocks 4096\n\n") +
              exit_codes_help);
  app->callback([a, &chosen] { chosen = [a] { return run(*a); }; });
}

}  // namespace dcgn::tool
