#include "tool/sim.hpp"

#include "tool/bench_python.hpp"
#include "tool/exit_code.hpp"

#include <fmt/format.h>

namespace dcgn::tool {

void SimInput::add_to(CLI::App& app, bool with_load) {
  app.add_option("CONFIG", config,
                 "What to simulate: a TOML file, as those in examples/sim, or a booksim2 configuration, FILE.cfg")
      ->type_name("")
      ->required();
  app.add_option("--set", settings, "In place of what the file says: any key, as in router.stages=3; again for more")
      ->type_name("KEY=VALUE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  if (with_load) {
    app.add_option("--load", load, "Flits per source and cycle, or as in \"8 GB/s\": traffic.load")->type_name("LOAD");
  }
}

memnet::Configuration SimInput::read() const {
  std::vector<std::string> all = settings;
  if (load.empty()) return load_configuration(config, all);
  all.push_back("traffic.load=" + load);
  const std::string place = "--load " + load;
  try {
    memnet::Configuration made = load_configuration(config, all);
    made.places["traffic.load"] = place;
    return made;
  } catch (const Error& error) {
    // To the reader of settings it is one of them.
    const std::string text = error.what(), named = "--set: traffic.load";
    const std::size_t at = text.find(named);
    if (at == std::string::npos) throw;
    const std::size_t means = text.find(": ", at + named.size());
    throw Error(error.code(), error.operation(), place + text.substr(means));
  }
}

memnet::Configuration load_configuration(const std::string& file, const std::vector<std::string>& settings) {
  memnet::Configuration made = memnet::load_configuration(file, settings);
  for (const std::string& one : made.ignored) fmt::print(stderr, "dcgn: {}\n", one);
  return made;
}

void expect_apart(const memnet::Configuration& configuration, const std::vector<NamedFile>& outputs) {
  std::vector<NamedFile> all = {{"CONFIG", configuration.file}};
  all.insert(all.end(), configuration.files.begin(), configuration.files.end());
  all.insert(all.end(), outputs.begin(), outputs.end());
  expect_different("sim", all);
}

CLI::Option* FileOption::add_to(CLI::App& app, const std::string& option, const std::string& help,
                                const std::string& type) {
  return app.add_option(option, name, help)->type_name(type);
}

nlohmann::ordered_json to_json(const memnet::Cell& cell) {
  return std::visit(
      [](const auto& value) -> nlohmann::ordered_json {
        if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::monostate>) {
          return nullptr;
        } else {
          return value;
        }
      },
      cell);
}

nlohmann::ordered_json to_json(const memnet::ReportRow& row) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const auto& [name, cell] : row) json[name] = to_json(cell);
  return json;
}

CLI::Validator svg_file() {
  return CLI::Validator(
      [](const std::string& name) {
        const bool svg = name.size() > 4 && name.compare(name.size() - 4, 4, ".svg") == 0;
        return svg || name.rfind("/dev/", 0) == 0 ? std::string()
                                                  : fmt::format("'{}': expected a name that ends in .svg", name);
      },
      "");
}

std::string energy_text(double nanojoules) {
  constexpr const char* units[] = {"nJ", "uJ", "mJ", "J", "kJ"};
  int unit = 0;
  for (; nanojoules >= 1000 && unit < 4; ++unit) nanojoules /= 1000;
  return fmt::format("{:.4g} {}", nanojoules, units[unit]);
}

void PlotOption::add_to(CLI::App& app, const std::string& help) {
  app.add_option("--plot", name, help + "; the ending says which kind. Needs matplotlib in the first python3 of PATH")
      ->type_name("FILE.png|svg|...");
}

int PlotOption::check() const {
  return name.empty() ? exit_ok : run_python("sim: plot", "dcgn.sim", {"--check", "--output=" + name}, "");
}

int PlotOption::draw(const nlohmann::ordered_json& document) const {
  return name.empty() ? exit_ok : run_python("sim: plot", "dcgn.sim", {"--output=" + name}, document.dump());
}

}  // namespace dcgn::tool
