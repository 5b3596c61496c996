// What the options take. Each validator names the value and what was expected; dcgn says so in one line.
#pragma once

#include "base/output_file.hpp"

#include <CLI/CLI.hpp>

#include <dcgn/placement.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace dcgn::tool {

CLI::Validator whole_number(std::int64_t least, std::int64_t most);
CLI::Validator finite_number();
CLI::Validator positive_number();
// One of `words`.
CLI::Validator word_of(std::vector<std::string> words);
// One of `words`, or several, separated by commas.
CLI::Validator words_of(std::vector<std::string> words);

std::vector<std::string> split(const std::string& text, char separator);

// The --size of a picture, WIDTHxHEIGHT in pixels. Throws Error(configuration) in the name of `who`.
struct Extent {
  int width, height;
};
Extent parse_extent(const char* who, const std::string& text);

// --cpus, --gpus, --slots and --nodes. What is not given is chosen once the devices are known.
struct ShapeOptions {
  int cpus = 2, gpus = -1, slots = -1, nodes = 1;

  void add_to(CLI::App& app);
  NodeShape shape() const;
  // In a job of so many processes, which share the GPUs that they see: the node that each of them is, `count` of them.
  // Throws Error(configuration) where there cannot be such.
  NodeShape shape_of_each(int processes) const;
};

// Throws Error(configuration) where two of the files that a command reads and writes are one; each comes with its
// option. Devices and empty names are no files.
void expect_different(const char* who, const std::vector<std::pair<std::string, std::string>>& files);

// Throws Error(configuration) where the file that an option names has another ending than this one, such as ".png".
void expect_ending(const char* who, const std::string& option, const std::string& file, const std::string& ending);

// --json [FILE]; - is stdout, as no file is.
struct JsonOption {
  CLI::Option* option = nullptr;
  std::string file;
  std::optional<base::OutputFile> output;  // once it is open, where there is a FILE
  int kept_stdout = -1;                    // until it is written, where there is none

  void add_to(CLI::App& app, const std::string& what);
  // Whether the document goes to stdout, which then has nothing else.
  bool on_stdout() const { return option->count() > 0 && (file.empty() || file == "-"); }
  bool given() const { return option->count() > 0; }
  std::string path() const { return on_stdout() ? "" : file; }
  // Throws Error(io) where the file cannot be written, before the work. Until write(), what programs print that are
  // started from here goes to stderr, where stdout is the document's.
  void open();
  // Prints or writes `document`.
  void write(const std::string& document);
};

// --trace FILE: what DCGN_TRACE=FILE says.
void add_trace_option(CLI::App& app);
// What it names, or DCGN_TRACE; empty where there is no trace.
std::string trace_file();

}  // namespace dcgn::tool
