#include "tool/stencil_options.hpp"

#include "tool/values.hpp"

#include <dcgn/error.hpp>

#include <fmt/format.h>

namespace dcgn::tool {

std::vector<std::int64_t> parse_cells(const char* who, const std::string& text, const char* option) {
  std::vector<std::string> parts = split(text, 'x');
  std::string wrong;
  if (parts.size() != 2 && parts.size() != 3)
    wrong = fmt::format("expected two or three numbers, as in {}",
                        std::string_view(option) == "--parts" ? "2x2 or 1x2x2" : "1024x1024 or 128x128x128");
  const CLI::Validator extent = whole_number(1, 1 << 20);
  std::vector<std::int64_t> extents;
  for (std::string& part : parts) {
    if (wrong.empty()) wrong = extent(part);
    if (wrong.empty()) extents.push_back(std::stoll(part));
  }
  if (!wrong.empty()) throw Error(Code::configuration, who, fmt::format("{} {}: {}", option, text, wrong));
  return extents;
}

std::string cells_text(const std::vector<std::int64_t>& extents) { return fmt::format("{}", fmt::join(extents, "x")); }

const std::vector<std::string>& mode_words() {
  static const std::vector<std::string> words{"borders-first", "shift", "graph", "persistent", "auto"};
  return words;
}

std::string word_of_mode(Mode mode) {
  switch (mode) {
    case Mode::automatic: return "auto";
    case Mode::borders_first: return "borders-first";
    case Mode::shift: return "shift";
    case Mode::graph: return "graph";
    case Mode::persistent: return "persistent";
  }
  return {};
}

Mode mode_of(const std::string& word) {
  for (const Mode mode : {Mode::borders_first, Mode::shift, Mode::graph, Mode::persistent})
    if (word == word_of_mode(mode)) return mode;
  return Mode::automatic;
}

void StepperWords::add_scheme(CLI::App& app) {
  app.add_option("--scheme", scheme, "In time: euler; midpoint, Runge-Kutta of second order; rk4, of fourth")
      ->type_name("WORD")
      ->check(tool::word_of({"euler", "midpoint", "rk4"}))
      ->capture_default_str();
}

void StepperWords::add_mode(CLI::App& app) {
  app.add_option(
         "--mode", mode,
         "How halos travel: borders-first, the paper's algorithm A; shift, its algorithm B; graph; persistent,\n"
         "one kernel for many steps; or auto, which measures them")
      ->type_name("WORD")
      ->check(tool::word_of(mode_words()))
      ->capture_default_str();
}

void StepperWords::add_exchange(CLI::App& app) {
  app.add_option("--exchange", exchange, "Halos once a stage of the scheme, or wider ones once a step")
      ->type_name("WORD")
      ->check(tool::word_of({"stage", "step"}))
      ->capture_default_str();
}

void StepperWords::set(StepperOptions& options) const {
  for (const Scheme known : {Scheme::euler, Scheme::midpoint, Scheme::rk4})
    if (scheme == to_string(known)) options.scheme = known;
  options.mode = mode_of(mode);
  options.exchange = exchange == "step" ? Exchange::each_step : Exchange::each_stage;
}

}  // namespace dcgn::tool
