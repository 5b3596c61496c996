// dcgn sim topo, dcgn sim keys
#include "memnet/src/booksim.hpp"
#include "memnet/src/config_keys.hpp"
#include "memnet/src/picture.hpp"
#include "memnet/src/routing.hpp"
#include "tool/bench_document.hpp"
#include "tool/commands.hpp"
#include "tool/exit_code.hpp"
#include "tool/sim.hpp"
#include "tool/table.hpp"

#include <dcgn/error.hpp>

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace dcgn::tool {

namespace {

using memnet::Configuration, memnet::Topology;

struct TopoArguments {
  std::string what;
  std::vector<std::string> settings;
  JsonOption json;
  FileOption csv, svg;
};

constexpr const char* short_forms =
    "mesh:8x8, torus:4x4x4, flattened_butterfly:4x4:4 (nodes a router), dragonfly:P,A,H, fat_tree:ARITY,LEVELS, "
    "butterfly:ARITY,LEVELS, pcie_tree:GPUS,PER_SWITCH, nvlink_switch:GPUS,PLANES,LINKS; sFBFLY:GPUS,CPUS,HMCS and so "
    "dDFLY, dFBFLY, sMESH, sTORUS, sMESH-2x, sTORUS-2x, overlay";

Configuration read_topology(const TopoArguments& a) {
  // A file's name may have a colon, too.
  const std::string text = memnet::configuration_of(a.what);
  if (!text.empty()) return memnet::parse_configuration(text, a.what, a.settings, false);
  // A kind without its numbers is no file, unless there is one of that name.
  const std::string form = memnet::short_form_of(a.what.substr(0, a.what.find(':')));
  if (!form.empty() && !std::filesystem::exists(a.what))
    throw Error(Code::configuration, "sim", fmt::format("{}: expected {}; or a TOML file", a.what, form));
  if (a.what.substr(0, a.what.find(':')) == "graph" && !std::filesystem::exists(a.what))
    throw Error(Code::configuration, "sim", fmt::format("{}: a graph has no short form, expected a TOML file", a.what));
  if (a.what.find(':') != std::string::npos && a.what.find('/') == std::string::npos &&
      a.what.find(".toml") == std::string::npos && !memnet::is_booksim(a.what))
    throw Error(Code::configuration, "sim", fmt::format("{}: expected a TOML file, or one of {}", a.what, short_forms));
  return load_configuration(a.what, a.settings);
}

nlohmann::ordered_json graph_of(const Topology& topology) {
  nlohmann::ordered_json routers = nlohmann::ordered_json::array(), channels = routers, terminals = routers;
  for (const memnet::Router& r : topology.routers())
    routers.push_back({{"name", r.name}, {"cluster", r.cluster}, {"slice", r.slice}, {"x", r.x}, {"y", r.y}});
  for (std::size_t c = 0; c < topology.channels().size(); c += 2) {
    const memnet::Channel& channel = topology.channels()[c];
    channels.push_back({{"from", channel.from},
                        {"to", channel.to},
                        {"bandwidth", channel.link.bandwidth},
                        {"extra_latency", channel.link.extra_latency},
                        {"serdes", channel.link.serdes},
                        {"pass_through", channel.link.pass_through},
                        {"one_way", topology.channels()[c + 1].missing}});
  }
  for (const memnet::Terminal& t : topology.terminals()) {
    nlohmann::ordered_json ports = nlohmann::ordered_json::array(), exits = ports;
    for (const memnet::Port& port : t.ports) {
      ports.push_back(port.router);
      exits.push_back(port.exit);
    }
    terminals.push_back(
        {{"name", t.name}, {"kind", std::string(to_string(t.kind))}, {"ports", ports}, {"exits", exits}});
  }
  return {{"routers", routers}, {"channels", channels}, {"terminals", terminals}};
}

// How the packets of a run go; or why none can.
std::string routes_of(const Configuration& c) {
  try {
    return memnet::RouteTable(c.topology, c.parameters).description();
  } catch (const Error& error) {
    const std::string text = error.what(), prefix = "dcgn: " + error.operation() + ": ";
    return "none: " + text.substr(prefix.size(), text.find(", expected") - prefix.size());
  }
}

int run(TopoArguments& a) {
  const Configuration c = read_topology(a);
  expect_apart(c, {{"--csv", a.csv.name}, {"--svg", a.svg.name}, {"--json", file_of(a.json)}});
  a.csv.open();
  a.svg.open();
  BenchDocument document("sim topo", a.json, a.csv.on_stdout());
  const memnet::TopologySummary s = memnet::summarize(c.topology);
  const std::string routes = routes_of(c);
  memnet::ReportRow row = memnet::report_row(s);
  row.emplace_back("routes", routes);
  document.add(to_json(row), 0);
  if (a.json.given()) document["graph"] = graph_of(c.topology);
  a.csv.write(memnet::to_csv({row}));
  if (a.svg.given()) a.svg.write(memnet::topology_svg(c.topology, c.title));
  if (!document.quiet()) {
    const double gbytes = c.parameters.flits_to_gbytes();
    fmt::print("\n# {}\n\n", s.name);
    fmt::print("routers              {}, of {} channels at most\n", s.routers, s.largest_radix);
    fmt::print("channels             {}{} between routers", s.channels, c.topology.one_way() ? " one-way" : "");
    if (s.intra_cluster_channels > 0) fmt::print(", {} of them within clusters", s.intra_cluster_channels);
    fmt::print("; {} of nodes and processors\n", s.terminal_channels);
    fmt::print("terminals            {}\n", s.terminals);
    fmt::print("diameter             {}, in channels between routers\n", s.diameter);
    fmt::print("mean hops            {:.4f} routers, over all that may talk\n", s.mean_hops);
    fmt::print("routes               {}\n", routes);
    if (s.channels > 0)
      fmt::print("bisection            {}{} channels: {:.1f} GB/s each way\n", s.bisection_exact ? "" : "at most ",
                 s.bisection, gbytes * s.bisection_flits);
  }
  return document.finish();
}

struct KeysArguments {
  std::string section;
  bool markdown = false;
  JsonOption json;
};

std::string with_commas(std::string_view choices) {
  std::string text;
  for (const char c : choices) text += c == '|' ? std::string(", ") : std::string(1, c);
  return text;
}

// "topology, network, ...": those that keys have.
std::string sections() {
  std::string text;
  std::string_view last;
  for (const memnet::Key& key : memnet::config_keys()) {
    if (key.section() == last) continue;
    last = key.section();
    text += (text.empty() ? "" : ", ") + std::string(last);
  }
  return text;
}

int run(KeysArguments& a) {
  a.json.open();
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  Table table({{"key", Table::Align::left},
               {"value", Table::Align::left},
               {"default", Table::Align::left},
               {"meaning", Table::Align::left}});
  std::string markdown = "| key | value | default | meaning |\n|---|---|---|---|\n";
  for (const memnet::Key& key : memnet::config_keys()) {
    if (!a.section.empty() && key.section() != a.section) continue;
    const std::string value(to_string(key.type)), fallback(key.fallback);
    std::string meaning(key.meaning);
    if (!key.choices.empty()) meaning += ": " + with_commas(key.choices);
    all.push_back({{"key", std::string(key.name)},
                   {"value", value},
                   {"default", fallback},
                   {"expected", memnet::expected_value(key)},
                   {"meaning", meaning}});
    table.add({std::string(key.name), value, fallback, meaning});
    markdown += fmt::format("| `{}` | {} | {} | {} |\n", key.name, value,
                            fallback.empty() ? fallback : fmt::format("`{}`", fallback), meaning);
  }
  if (all.empty())
    throw Error(Code::configuration, "sim", fmt::format("keys {}: expected one of {}", a.section, sections()));
  if (a.json.given()) a.json.write(nlohmann::ordered_json({{"what", "sim keys"}, {"rows", all}}).dump(1));
  if (!a.json.on_stdout()) fmt::print("{}", a.markdown ? markdown : table.text());
  return exit_ok;
}

}  // namespace

void add_sim_topo(CLI::App& parent, Action& chosen) {
  const auto a = std::make_shared<TopoArguments>();
  CLI::App* app = parent.add_subcommand(
      "topo",
      std::string("What a topology is: routers, channels, terminals, diameter, mean hops, bisection; and a picture\n\n"
                  "Of a TOML file, a booksim2 configuration (FILE.cfg), or a topology in short:\n") +
          "mesh:8x8, torus:4x4x4, flattened_butterfly:4x4:4 (nodes a router), dragonfly:P,A,H,\n"
          "fat_tree:ARITY,LEVELS, butterfly:ARITY,LEVELS, pcie_tree:GPUS,PER_SWITCH,\n"
          "nvlink_switch:GPUS,PLANES,LINKS; sFBFLY:GPUS,CPUS,HMCS (of a cluster) and so dDFLY, dFBFLY,\n"
          "sMESH, sTORUS, sMESH-2x, sTORUS-2x, overlay. The bisection is over halves of the routers, those\n"
          "of a GPU together; \"at most\" where it is the best that was found.\n"
          "--set topology.KEY=VALUE changes the rest.");
  app->add_option("TOPOLOGY", a->what, "A file, or KIND:ARGUMENTS")->type_name("")->required();
  app->add_option("--set", a->settings, "As for dcgn sim run; again for more")
      ->type_name("KEY=VALUE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  a->svg.add_to(*app, "--svg", "A picture of it", "FILE.svg")->check(svg_file());
  a->csv.add_to(*app, "--csv", "The row, under a line of names", "FILE");
  a->json.add_to(*app, "The row and the whole graph, with machine, commit, date and command,");
  app->footer(std::string("Examples:\n"
                          "  dcgn sim topo sFBFLY:4 --svg sfbfly.svg\n"
                          "  dcgn sim topo dFBFLY:8 --set topology.channels_per_hmc=0\n"
                          "  dcgn sim topo examples/sim/mesh_8x8.toml --json\n\n") +
              exit_codes_help);
  app->callback([a, &chosen] { chosen = [a] { return run(*a); }; });
}

void add_sim_keys(CLI::App& parent, Action& chosen) {
  const auto a = std::make_shared<KeysArguments>();
  CLI::App* app = parent.add_subcommand(
      "keys",
      "Every key of a configuration, with its unit, its default and what it means\n\n"
      "Quantities are numbers in the unit that is shown, or texts with one: channel_bandwidth = 20 or \"20 GB/s\".\n"
      "Which sections a file has says what is simulated: [requests] a closed loop, [replay] a trace, [system] a\n"
      "workload on an organisation, none of these an open loop. Keys that mean nothing for that are refused.");
  app->add_option("SECTION", a->section, "Of this section only")->type_name("");
  app->add_flag("--markdown", a->markdown, "As the table that the guide has");
  a->json.add_to(*app, "The same");
  app->footer(std::string("Examples:\n"
                          "  dcgn sim keys\n"
                          "  dcgn sim keys router\n\n") +
              exit_codes_help);
  app->callback([a, &chosen] { chosen = [a] { return run(*a); }; });
}

}  // namespace dcgn::tool
