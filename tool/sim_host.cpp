// dcgn sim host
#include "memnet/src/nvlink_host.hpp"
#include "tool/bench_document.hpp"
#include "tool/commands.hpp"
#include "tool/exit_code.hpp"
#include "tool/sim.hpp"
#include "tool/table.hpp"
#include "tool/values.hpp"

#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

namespace dcgn::tool {

namespace {

struct SimHostArguments {
  std::int64_t seed = 1;
  JsonOption json;
  FileOption csv;
};

int run(SimHostArguments& a) {
  a.csv.open();
  BenchDocument document("sim host", a.json);
  std::vector<memnet::ReportRow> rows;
  Table table({{"what", Table::Align::left},
               {"measured"},
               {"model"},
               {"", Table::Align::left},
               {"deviation"},
               {"", Table::Align::left}});
  for (const memnet::HostRow& row : memnet::nvlink_host_rows({}, static_cast<std::uint64_t>(a.seed))) {
    rows.push_back({{"what", row.what},
                    {"measured", row.measured},
                    {"model", row.model},
                    {"unit", row.unit},
                    {"deviation", row.deviation()},
                    {"calibrates", row.calibrates}});
    document.add(to_json(rows.back()), 0);
    table.add({row.what, fmt::format("{:.4g}", row.measured), fmt::format("{:.4g}", row.model), row.unit,
               fmt::format("{:+.1f} %", 100 * row.deviation()), row.calibrates ? "calibrates" : "predicted"});
  }
  a.csv.write(memnet::to_csv(rows));
  if (!document.quiet()) fmt::print("\n# 8 H200 on NVLink through NVSwitches\n\n{}", table.text());
  return document.finish();
}

}  // namespace

void add_sim_host(CLI::App& parent, Action& chosen) {
  const auto a = std::make_shared<SimHostArguments>();
  CLI::App* app = parent.add_subcommand(
      "host",
      "A model of a real host, 8 H200 on NVLink, beside what was measured there\n\n"
      "A few measured figures calibrate the model, the others it predicts: rings, all-to-alls, collectives.");
  app->add_option("--seed", a->seed, "Of all random numbers")
      ->type_name("N")
      ->check(whole_number(0, std::int64_t{1} << 52))
      ->capture_default_str();
  a->json.add_to(*app, "The rows, with machine, commit, date and command,");
  a->csv.add_to(*app, "--csv", "The rows, under a line of names", "FILE");
  app->footer(std::string("Examples:\n"
                          "  dcgn sim host\n\n") +
              exit_codes_help);
  app->callback([a, &chosen] { chosen = [a] { return run(*a); }; });
}

}  // namespace dcgn::tool
