// What the subcommands of dcgn sim have in common: the configuration, rows as JSON and as CSV, files to write.
#pragma once

#include "base/output_file.hpp"
#include "memnet/src/config.hpp"
#include "memnet/src/report.hpp"
#include "tool/values.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace dcgn::tool {

// CONFIG.toml or a booksim2 CONFIG.cfg, --set and, for open loops, --load.
struct SimInput {
  std::string config, load;
  std::vector<std::string> settings;

  void add_to(CLI::App& app, bool with_load);
  // Throws Error(configuration) with file, line and key; Error(io).
  memnet::Configuration read() const;
};

// memnet::load_configuration(), with a line on stderr for each key of a booksim2 configuration that is ignored.
memnet::Configuration load_configuration(const std::string& file, const std::vector<std::string>& settings);

// An option that names a file, which is known to be writable before the work; - is stdout.
struct FileOption {
  std::string name;
  std::optional<base::OutputFile> output;

  CLI::Option* add_to(CLI::App& app, const std::string& option, const std::string& help, const std::string& type);
  bool given() const { return !name.empty(); }
  bool on_stdout() const { return name == "-"; }
  // Throws Error(io).
  void open() {
    if (given() && !on_stdout()) output.emplace(name);
  }
  // Calls `work` with the file to write to as it goes, null where none was named. What `work` throws leaves no file.
  void stream(const std::function<void(std::FILE*)>& work) {
    if (output) return output->write(work);
    work(on_stdout() ? stdout : nullptr);
  }
  void write(const std::string& content) {
    if (on_stdout()) fmt::print("{}", content);
    if (output) output->write(content);
  }
};

// What --json names, for expect_different(); stdout is "-".
inline std::string file_of(const JsonOption& json) { return json.on_stdout() ? "-" : json.file; }

// An option or a key, and the file that it names.
using NamedFile = std::pair<std::string, std::string>;
// Throws Error(configuration) where two of the files are one: the configuration, those of its keys and the outputs.
void expect_apart(const memnet::Configuration& configuration, const std::vector<NamedFile>& outputs);

nlohmann::ordered_json to_json(const memnet::Cell& cell);
nlohmann::ordered_json to_json(const memnet::ReportRow& row);

// Calls `work`; an error about the configuration gets the place in the file that it is about.
template <class Work>
auto with_places(const memnet::Configuration& configuration, Work&& work) {
  try {
    return work();
  } catch (const Error& error) {
    throw configuration.explain(error);
  }
}

// Names of pictures that are SVG.
CLI::Validator svg_file();

// "12.3 uJ" from nanojoules.
std::string energy_text(double nanojoules);

// The picture of a document by python/dcgn/sim.py: --plot.
struct PlotOption {
  std::string name;

  void add_to(CLI::App& app, const std::string& help);
  // Whether it can be drawn, before the work: an exit code, and if it is not 0, a line on stderr that says why.
  int check() const;
  int draw(const nlohmann::ordered_json& document) const;
};

}  // namespace dcgn::tool
