// dcgn sim figure
#include "memnet/src/figure.hpp"
#include "tool/bench_document.hpp"
#include "tool/commands.hpp"
#include "tool/exit_code.hpp"
#include "tool/progress.hpp"
#include "tool/sim.hpp"
#include "tool/table.hpp"
#include "tool/values.hpp"
#if defined(DCGN_HAS_VGPU)
#include "vgpu/bench/record.hpp"
#endif

#include <dcgn/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace dcgn::tool {

namespace {

using memnet::Figure, memnet::FigureRow;

struct SimFigureArguments {
  std::string number;
  bool kernels = false;
  std::int64_t blocks = 6144;  // three times what 4 GPUs of Table I hold
  std::int64_t launches = 16;
  memnet::FigureOptions options;
  std::int64_t seed = 1;
  JsonOption json;
  FileOption csv;
  PlotOption plot;
};

void print(const Figure& figure) {
  fmt::print("\n# Figure {}: {}; {}\n\n", figure.number, figure.title, figure.unit);
  const bool several = !figure.claims.empty() && figure.claims.front().seeds > 1;
  Table table({{"series", Table::Align::left}, {"", Table::Align::left}, {"ours"}, {"paper"}, {"deviation"}});
  for (const FigureRow& row : figure.rows) {
    table.add({row.series, row.label,
               several ? fmt::format("{:.4g} +- {:.2g}", row.ours, row.spread) : fmt::format("{:.4g}", row.ours),
               row.paper ? fmt::format("{:.4g}", *row.paper) : "-",
               row.paper ? fmt::format("{:+.1f} %", 100 * *row.deviation()) : "-"});
  }
  fmt::print("{}", table.text());
  const auto stated = [](const FigureRow& row) { return row.paper.has_value(); };
  if (std::none_of(figure.rows.begin(), figure.rows.end(), stated))
    fmt::print("\nThe paper's text gives orderings only, no numbers.\n");
  if (!figure.claims.empty()) fmt::print("\nWhat the paper says of it:\n");
  for (const memnet::FigureClaim& claim : figure.claims)
    fmt::print("  {:9}  {}{}\n", claim.verdict(), claim.text,
               several && !claim.holds && claim.held > 0
                   ? fmt::format(" (with {} of {} seeds)", claim.held, claim.seeds)
                   : "");
  if (!figure.assumed.empty()) fmt::print("\nAssumed, because the paper does not say it:\n");
  for (const std::string& one : figure.assumed) fmt::print("  {}\n", one);
}

#if defined(DCGN_HAS_VGPU)
// The kernels of a figure, by Table II's abbreviations. Figure 19 has larger problems: 16 times Table II's, or as large
// as a grid and a minute of interpreting allow.
memnet::KernelTraces record_kernels(int number, std::uint64_t blocks, std::uint64_t launches) {
  const std::map<std::string, int, std::less<>> grown = {{"SCAN", 64}, {"SRAD", 16}, {"3DFD", 16},
                                                         {"RAY", 16},  {"CP", 2},    {"BP", 16}};
  ::setenv("DCGN_EMULATED_GPUS", "1", 1);
  memnet::KernelTraces traces;
  const auto& kinds = workloads::workload_kinds();
  Progress progress("recording kernels");
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    progress.update(static_cast<int>(i), static_cast<int>(kinds.size()), kinds[i].name);
    const std::string name = kinds[i].paper;
    if (std::ranges::none_of(memnet::workloads(), [&](const auto& one) { return one.name == name; })) continue;
    const auto larger = grown.find(name);
    if (number == 19 && larger == grown.end() && name != "FWT") continue;
    const int scale = number == 19 && larger != grown.end() ? larger->second : workloads::paper_scale;
    traces.emplace(name, workloads::record(kinds[i], scale, blocks, launches));
  }
  return traces;
}
#endif

int run(SimFigureArguments& a) {
  const int number = std::stoi(a.number);
  if (a.kernels && (number == 12 || number == 18))
    throw Error(
        Code::configuration, "sim",
        fmt::format("figure {} --kernels: expected figure 14, 15, 16, 17 or 19: no kernel is in this one", number));
  a.options.seed = static_cast<std::uint64_t>(a.seed);
  expect_different("sim", {{"--csv", a.csv.name}, {"--plot", a.plot.name}, {"--json", file_of(a.json)}});
  a.csv.open();
  if (const int refused = a.plot.check(); refused != exit_ok) return refused;
  a.json.open();
  Figure figure;
#if defined(DCGN_HAS_VGPU)
  memnet::KernelTraces traces;
  if (a.kernels) {
    // Figure 19 goes up to 16 GPUs.
    traces = record_kernels(number, static_cast<std::uint64_t>(number == 19 ? 4 * a.blocks : a.blocks),
                            static_cast<std::uint64_t>(a.launches));
    a.options.traces = &traces;
  }
#endif
  {
    Progress progress(fmt::format("figure {}", number));
    progress.update(0);
    a.options.progress = [&](double share) { progress.update(share); };
    figure = memnet::figure(number, a.options);
  }
  BenchDocument document("sim figure", a.json, a.csv.on_stdout());
  document["figure"] = figure.number;
  document["kernels"] = a.kernels;
  document["title"] = figure.title;
  document["unit"] = figure.unit;
  nlohmann::ordered_json claims = nlohmann::ordered_json::array(), plain = claims;
  for (const memnet::FigureClaim& claim : figure.claims)
    claims.push_back({{"text", claim.text},
                      {"holds", claim.holds},
                      {"verdict", std::string(claim.verdict())},
                      {"held", claim.held},
                      {"seeds", claim.seeds}});
  document["claims"] = claims;
  document["assumed"] = figure.assumed;
  std::vector<memnet::ReportRow> rows;
  for (const FigureRow& row : figure.rows) {
    rows.push_back(memnet::report_row(figure, row));
    plain.push_back(document.add(to_json(rows.back()), 0));
  }
  a.csv.write(memnet::to_csv(rows));
  if (!document.quiet()) print(figure);
  const nlohmann::ordered_json drawn = {{"what", "sim figure"},
                                        {"figure", figure.number},
                                        {"title", figure.title},
                                        {"unit", figure.unit},
                                        {"rows", plain}};
  const int result = document.finish();
  return result == exit_ok ? a.plot.draw(drawn) : result;
}

constexpr const char* sim_figure_description =
    "The figures of the 2014 paper, simulated again, with the paper's values beside\n\n"
    "Ours, what the paper's text states, the deviation, whether the orderings that it states hold, and which inputs\n"
    "are assumed. GPU kernels are not run: a workload is the traffic that its problem's size makes. With --kernels "
    "they\n"
    "are, on an emulated GPU, and what they do to memory is what is simulated (see dcgn sim record).\n"
    "  12  channels of dFBFLY and sFBFLY              14  run times on PCIe, CMN, GMN, UMN\n"
    "  15  minimal and adaptive routing               16  run times on sliced networks\n"
    "  17  their energy                               18  the host's part, with the overlay\n"
    "  19  speedup over the number of GPUs";

}  // namespace

void add_sim_figure(CLI::App& parent, Action& chosen) {
  const auto a = std::make_shared<SimFigureArguments>();
  CLI::App* app = parent.add_subcommand("figure", sim_figure_description);
  app->add_option("NUMBER", a->number, "12, 14, 15, 16, 17, 18 or 19")
      ->type_name("")
      ->check(word_of({"12", "14", "15", "16", "17", "18", "19"}))
      ->required();
#if defined(DCGN_HAS_VGPU)
  app->add_flag("--kernels", a->kernels,
                "Run kernels in place of the traffic models of figures 14 to 17 and 19; takes minutes");
  app->add_option(
         "--blocks", a->blocks,
         "With --kernels: blocks of each launch that are simulated, about; four times as many for figure 19; 0: all")
      ->type_name("N")
      ->check(whole_number(0, std::int64_t{1} << 40))
      ->capture_default_str();
  app->add_option("--launches", a->launches,
                  "With --kernels: launches of a kernel in one size that are simulated, at most; the rest takes "
                  "their mean; 0: all")
      ->type_name("N")
      ->check(whole_number(0, std::int64_t{1} << 40))
      ->capture_default_str();
  app->add_option(
         "--requests", a->options.kernel_requests,
         "With --kernels: requests to memory of each GPU, on average, at which a launch is cut off; or 1024 times "
         "as many instructions and lines; 0: all")
      ->type_name("N")
      ->check(whole_number(0, std::int64_t{1} << 40))
      ->capture_default_str();
#endif
  app->add_option("--samples", a->options.sample_requests,
                  "Requests of each GPU that are simulated; the rest is scaled")
      ->type_name("N")
      ->check(whole_number(10, 1000000000))
      ->capture_default_str();
  app->add_option("--seed", a->seed, "Of all random numbers")
      ->type_name("N")
      ->check(whole_number(0, std::int64_t{1} << 52))
      ->capture_default_str();
  app->add_option(
         "--seeds", a->options.seeds,
         "Simulations of each row, with seeds from --seed on: rows are means with their standard deviation, and a "
         "claim is undecided where seeds differ")
      ->type_name("N")
      ->check(whole_number(1, 1000))
      ->capture_default_str();
  a->options.threads = 0;
  app->add_option("--threads", a->options.threads, "Simulations at once; 0: as many as the machine has cores")
      ->type_name("N")
      ->check(whole_number(0, 1024))
      ->capture_default_str();
  a->json.add_to(*app, "Rows, claims and assumptions, with machine, commit, date and command,");
  a->csv.add_to(*app, "--csv", "The rows, under a line of names", "FILE");
  a->plot.add_to(*app, "A picture, the paper's values as black marks");
  app->footer(std::string("Examples:\n"
                          "  dcgn sim figure 12\n"
                          "  dcgn sim figure 16 --plot figure16.png\n"
                          "  dcgn sim figure 15 --seeds 10\n"
                          "  dcgn sim figure 19 --samples 500 --json figure19.json\n"
                          "  dcgn sim figure 17 --kernels\n\n") +
              exit_codes_help);
  app->callback([a, &chosen] { chosen = [a] { return run(*a); }; });
}

}  // namespace dcgn::tool
