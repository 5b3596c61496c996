// dcgn bench plot: hands its arguments to the package python/dcgn, which draws.
#include "tool/bench_python.hpp"
#include "tool/commands.hpp"
#include "tool/exit_code.hpp"

#include <memory>
#include <string>
#include <vector>

namespace dcgn::tool {

namespace {

struct PlotArguments {
  std::vector<std::string> files;
  std::string output, measures;
  bool fit = false;
};

// Becomes python3, whose exit code and lines on stderr are as this command's.
[[noreturn]] void run(const PlotArguments& a) {
  std::vector<std::string> words;
  if (!a.output.empty()) words.push_back("--output=" + a.output);
  if (!a.measures.empty()) words.push_back("--measure=" + a.measures);
  if (a.fit) words.push_back("--fit");
  words.push_back("--");
  words.insert(words.end(), a.files.begin(), a.files.end());
  become_python("bench: plot", "dcgn.plot", words);
}

}  // namespace

void add_bench_plot(CLI::App& parent, Action& chosen) {
  const auto a = std::make_shared<PlotArguments>();
  CLI::App* app = parent.add_subcommand(
      "plot",
      "Pictures of what the others wrote by --json\n\n"
      "Draws a panel for each measure in the files: ours as solid lines, peers dashed with markers, limits dotted. "
      "The\n"
      "title names machine and commit. Needs matplotlib in the first python3 of PATH. Files with wrong bytes are "
      "refused.");
  app->add_option("FILE", a->files, "Documents that dcgn bench wrote; several go into one picture")
      ->type_name("...")
      ->required();
  app->add_option("-o,--output", a->output, "The picture; its ending says which kind [the first FILE's name, .png]")
      ->type_name("OUT");
  app->add_option("--measure", a->measures, "Only these, separated by commas: latency, bandwidth, ...")
      ->type_name("NAME,...");
  app->add_flag("--fit", a->fit, "Fit latency + bytes / bandwidth to each series: a table, and thin lines");
  app->footer(std::string("Examples:\n"
                          "  dcgn bench p2p --json p2p.json && dcgn bench plot p2p.json\n"
                          "  dcgn bench plot bench/results/p2p-h200-one-gpu.json --fit -o p2p.svg\n\n") +
              exit_codes_help);
  app->callback([a, &chosen] { chosen = [a]() -> int { run(*a); }; });
}

}  // namespace dcgn::tool
