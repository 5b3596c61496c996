// What dcgn demo's equations and dcgn bench stencil take alike.
#pragma once

#include <dcgn/stencil/stepper.hpp>

#include <CLI/CLI.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace dcgn::tool {

// Cells along each dimension, 1024x768 or 256x256x256, or with --parts ranks. Throws Error(configuration) in the name
// of `who`, naming the option.
std::vector<std::int64_t> parse_cells(const char* who, const std::string& text, const char* option = "--size");
std::string cells_text(const std::vector<std::int64_t>& extents);

// --mode's words, in the order in which modes are compared: borders-first, shift, graph, persistent; and auto.
const std::vector<std::string>& mode_words();
Mode mode_of(const std::string& word);
std::string word_of_mode(Mode mode);

// --scheme, --mode and --exchange.
struct StepperWords {
  std::string scheme = "midpoint", mode = "auto", exchange = "stage";

  void add_scheme(CLI::App& app);
  void add_mode(CLI::App& app);
  void add_exchange(CLI::App& app);
  void set(StepperOptions& options) const;
};

}  // namespace dcgn::tool
