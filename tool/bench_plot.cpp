// dcgn bench plot: hands its arguments to the package python/dcgn, which draws.
#include "tool/commands.hpp"
#include "tool/exit_code.hpp"

#include <dcgn/error.hpp>

#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace dcgn::tool {

namespace {

struct Arguments {
  std::vector<std::string> files;
  std::string output, measures;
  bool fit = false;
};

// The folder that holds the package: beside the installed command, else in the source tree that it was built from.
std::string package_folder() {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::string installed = (self.parent_path() / DCGN_PYTHON_INSTALLED).lexically_normal().string();
  for (const std::string& folder : {installed, std::string(DCGN_PYTHON_SOURCE)})
    if (std::filesystem::exists(folder + "/dcgn/plot.py", error)) return folder;
  throw Error(Code::io, "bench",
              fmt::format("plot: there is no dcgn/plot.py: expected it in {} or {}", installed, DCGN_PYTHON_SOURCE));
}

// Becomes python3, whose exit code and lines on stderr are as this command's.
int run(const Arguments& a) {
  std::vector<std::string> words = {"python3", "-m", "dcgn.plot"};
  if (!a.output.empty()) words.insert(words.end(), {"--output=" + a.output});
  if (!a.measures.empty()) words.insert(words.end(), {"--measure=" + a.measures});
  if (a.fit) words.push_back("--fit");
  words.push_back("--");
  words.insert(words.end(), a.files.begin(), a.files.end());
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);

  std::string path = package_folder();
  if (const char* others = std::getenv("PYTHONPATH"); others && *others) path += std::string(":") + others;
  // The package may be where nothing can or should be written.
  if (::setenv("PYTHONPATH", path.c_str(), 1) != 0 || ::setenv("PYTHONDONTWRITEBYTECODE", "1", 1) != 0)
    throw Error(Code::io, "bench", std::string("plot: the environment cannot be set: ") + std::strerror(errno));
  ::execvp(argv[0], argv.data());
  throw Error(Code::io, "bench", std::string("plot: python3 cannot be run: ") + std::strerror(errno));
}

}  // namespace

void add_bench_plot(CLI::App& parent, Action& chosen) {
  const auto a = std::make_shared<Arguments>();
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
  app->callback([a, &chosen] { chosen = [a] { return run(*a); }; });
}

}  // namespace dcgn::tool
