// dcgn sim run
#include "memnet/src/booksim.hpp"
#include "memnet/src/picture.hpp"
#include "memnet/src/run_log.hpp"
#include "memnet/src/trace.hpp"
#include "tool/bench_document.hpp"
#include "tool/commands.hpp"
#include "tool/exit_code.hpp"
#include "tool/progress.hpp"
#include "tool/sim.hpp"
#include "tool/table.hpp"

#include <dcgn/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dcgn::tool {

namespace {

using memnet::Configuration, memnet::LatencySummary, memnet::Result;

struct SimRunArguments {
  SimInput input;
  JsonOption json;
  FileOption csv, links, packets, link_csv, counters;
  std::int64_t window = 0;  // as it is by default
  bool print = false;

  bool logs() const { return packets.given() || link_csv.given() || counters.given(); }
  // Whether rows go to stdout, which then has no table.
  bool quiet() const { return csv.on_stdout() || packets.on_stdout() || link_csv.on_stdout() || counters.on_stdout(); }
};

// An error's line without what it begins with.
std::string message_of(const Error& error) {
  const std::string text = error.what(), prefix = fmt::format("dcgn: {}: ", error.operation());
  return text.rfind(prefix, 0) == 0 ? text.substr(prefix.size()) : text;
}

std::string count_text(double value) {
  return value >= 1e6 ? fmt::format("{:.3g} million", value / 1e6) : fmt::format("{:.0f}", value);
}

void print_latency(const std::vector<std::pair<std::string, LatencySummary>>& rows, double ns_per_cycle) {
  Table table({{"latency, cycles", Table::Align::left}, {"mean"}, {"p50"}, {"p99"}, {"max"}, {"mean ns"}, {"packets"}});
  for (const auto& [name, one] : rows) {
    if (one.packets == 0) {
      table.add({name, "-", "-", "-", "-", "-", "0"});
      continue;
    }
    table.add({name, fmt::format("{:.2f}", one.mean), fmt::format("{:.0f}", one.p50), fmt::format("{:.0f}", one.p99),
               fmt::format("{:.0f}", one.max), fmt::format("{:.1f}", one.mean * ns_per_cycle),
               fmt::to_string(one.packets)});
  }
  fmt::print("\n{}\n", table.text());
}

void print_energy(double active, double idle) {
  fmt::print("energy        {} active, {} idle\n", energy_text(active / 1000), energy_text(idle / 1000));
}

// The channels that carry most.
void print_busiest(const memnet::Topology& topology, const Result& result) {
  std::vector<memnet::ReportRow> rows = memnet::report_loads(topology, result);
  const auto use = [](const memnet::ReportRow& row) { return std::get<double>(row[4].second); };
  std::stable_sort(rows.begin(), rows.end(), [&](const auto& a, const auto& b) { return use(a) > use(b); });
  Table table({{"busiest channels", Table::Align::left}, {"to", Table::Align::left}, {"flits/cycle"}, {"use"}});
  for (std::size_t i = 0; i < std::min<std::size_t>(5, rows.size()); ++i) {
    table.add({memnet::to_text(rows[i][0].second), memnet::to_text(rows[i][1].second),
               fmt::format("{:.3f}", std::get<double>(rows[i][3].second)),
               fmt::format("{:.1f} %", 100 * use(rows[i]))});
  }
  fmt::print("\n{}", table.text());
}

std::string saturation_text(const Result& r) {
  switch (r.saturation_reason) {
    case memnet::SaturationReason::none: return r.saturated ? "yes" : "no";
    case memnet::SaturationReason::throughput: return "yes: what is offered does not all come through";
    case memnet::SaturationReason::latency:
      return fmt::format("yes: the mean latency is above its limit, {:.4g} cycles", r.latency_limit);
    case memnet::SaturationReason::cycles: return "yes: run.max was reached before all that was measured came out";
  }
  return "yes";
}

void print(const Configuration& c, const Result& r) {
  const double sources = static_cast<double>(memnet::Destinations(c.topology, c.traffic).sources().size());
  fmt::print("\n# {}: {}, {} of {} flit{}, {:.4g} flits/cycle from each of {:.0f} sources, seed {}\n", c.title,
             memnet::to_string(c.parameters.routing), memnet::to_string(c.traffic.pattern), c.traffic.flits,
             c.traffic.flits == 1 ? "" : "s", r.rate, sources, c.parameters.seed);
  std::vector<std::pair<std::string, LatencySummary>> rows = {{"from creation", r.latency},
                                                              {"in the network", r.network_latency}};
  for (std::size_t k = 0; k < r.by_class.size(); ++k)
    if (r.by_class[k].packets > 0 && r.by_class[k].packets < r.latency.packets)
      rows.emplace_back(fmt::format("class {}", k), r.by_class[k]);
  print_latency(rows, 1 / c.parameters.clock_ghz);
  const memnet::ReportRow row = memnet::report_row(c, r);
  const auto of = [&row](const char* name) {
    return std::get<double>(
        std::find_if(row.begin(), row.end(), [&](const auto& cell) { return cell.first == name; })->second);
  };
  fmt::print("throughput    {:.4f} flits/cycle of each source, {:.1f} GB/s in all; offered {:.4f}\n", r.accepted,
             of("throughput_gbytes"), r.offered);
  if (r.latency.packets > 0) fmt::print("hops          {:.3f} routers, mean\n", r.hops);
  fmt::print("routes        {}\n", r.routes);
  fmt::print(
      "channel load  {:.4f} flits/cycle at most, {:.4f} mean; into the network {:.4f}, out of it {:.4f} at most\n",
      of("channel_load_max"), of("channel_load_mean"), of("injection_load_max"), of("ejection_load_max"));
  print_energy(r.energy.active_pj, r.energy.idle_pj);
  fmt::print("saturated     {}\n", saturation_text(r));
  fmt::print("simulated     {} cycles: {} of warm-up, {} measured; {} flit-hops, {} a second\n", r.cycles,
             r.warmup_cycles, r.measured_cycles, count_text(static_cast<double>(r.flit_hops)),
             count_text(static_cast<double>(r.flit_hops) / std::max(r.seconds, 1e-9)));
  print_busiest(c.topology, r);
}

void print(const Configuration& c, const memnet::ClosedLoopResult& r) {
  fmt::print("\n# {}: {}, {} requests by {}, windows of {}, seed {}\n", c.title,
             memnet::to_string(c.parameters.routing), r.requests,
             c.plan.terminals.size() == 1 ? "one GPU or CPU" : fmt::format("{} GPUs or CPUs", c.plan.terminals.size()),
             c.plan.window, c.parameters.seed);
  print_latency({{"request to reply", r.latency}}, 1 / c.parameters.clock_ghz);
  const memnet::ReportRow row = memnet::report_row(c, r);
  fmt::print("time          {} cycles, {:.2f} us; {:.3f} cycles a request in the middle of the run\n", r.cycles,
             static_cast<double>(r.cycles) / c.parameters.clock_ghz / 1000, r.cycles_per_request);
  fmt::print("throughput    {:.1f} GB/s, requests and replies\n", std::get<double>(row[5].second));
  fmt::print("hops          {:.3f} routers, there and back, mean\n", r.hops);
  fmt::print("row hits      {:.1f} % of the DRAM accesses\n", 100 * r.row_hit_share);
  print_energy(r.energy.active_pj, r.energy.idle_pj);
  fmt::print("finished      {}\n", r.finished ? "yes" : "no: stopped at run.max");
}

// What is read and opened before the work begins.
struct Inputs {
  std::vector<memnet::Requester> requesters;  // of a closed loop
  std::unique_ptr<base::OutputFile> record;
  memnet::Trace packets;  // of a replay
  base::KernelTrace kernels;
};

Inputs inputs_of(const Configuration& c) {
  Inputs inputs;
  if (c.kind == memnet::RunKind::closed_loop) inputs.requesters = c.requesters();
  if (c.kind == memnet::RunKind::replay) inputs.packets = c.packet_trace();
  if (!c.kernels.trace.empty()) inputs.kernels = c.kernel_trace();
  if (c.plan.record.empty()) return inputs;
  try {
    inputs.record = std::make_unique<base::OutputFile>(c.plan.record);
  } catch (const Error& error) {
    throw Error(error.code(), "configuration", c.places.find("requests.record")->second + ": " + message_of(error));
  }
  return inputs;
}

// The section that says what is simulated.
std::string_view section_of(memnet::RunKind kind) {
  switch (kind) {
    case memnet::RunKind::open_loop: return "traffic";
    case memnet::RunKind::closed_loop: return "requests";
    case memnet::RunKind::kernels: return "kernels";
    case memnet::RunKind::replay: return "replay";
    case memnet::RunKind::system: return "system";
  }
  return "";
}

// Runs `work` with the log that was asked for, or none. Its files are there in full once the work is done, or not at
// all.
void with_log(const Configuration& c, SimRunArguments& a, const std::function<void(memnet::RunObserver*)>& work) {
  if (!a.logs()) return work(nullptr);
  a.packets.stream([&](std::FILE* packets) {
    a.link_csv.stream([&](std::FILE* links) {
      a.counters.stream([&](std::FILE* counters) {
        memnet::RunLog log(c.topology, c.parameters.clock_ghz, {packets, links, counters},
                           a.window > 0 ? a.window : 1000);
        work(&log);
      });
    });
  });
}

// The head comes with the results: stdout has nothing of what is refused.
BenchDocument document_of(const Configuration& c, SimRunArguments& a) {
  BenchDocument document("sim run", a.json, a.quiet());
  document["config"] = c.file;
  document["title"] = c.title;
  document["kind"] = std::string(memnet::to_string(c.kind));
  return document;
}

int run_open_loop(const Configuration& c, SimRunArguments& a) {
  Progress progress("simulating");
  progress.update(0);
  Result result;
  with_log(c, a, [&](memnet::RunObserver* log) {
    result = with_places(c, [&] {
      return memnet::run_open_loop(
          c.topology, c.parameters, c.traffic, c.load, [&](double share) { progress.update(share); }, log);
    });
  });
  BenchDocument document = document_of(c, a);
  const memnet::ReportRow row = memnet::report_row(c, result);
  document.add(to_json(row), 0);
  nlohmann::ordered_json loads = nlohmann::ordered_json::array();
  for (const memnet::ReportRow& one : memnet::report_loads(c.topology, result)) loads.push_back(to_json(one));
  document["loads"] = loads;
  document["routes"] = result.routes;
  document["seconds"] = result.seconds;
  a.csv.write(memnet::to_csv({row}));
  if (a.links.given()) {
    a.links.write(memnet::topology_svg(
        c.topology, fmt::format("{}, {} at {:.4g} flits/cycle", c.title, memnet::to_string(c.traffic.pattern), c.load),
        &result));
  }
  if (!document.quiet()) print(c, result);
  return document.finish();
}

int run_closed_loop(const Configuration& c, SimRunArguments& a, const Inputs& inputs) {
  memnet::Trace record;
  const bool records = inputs.record != nullptr;
  Progress progress("simulating");
  progress.update(0);
  memnet::ClosedLoopResult result;
  with_log(c, a, [&](memnet::RunObserver* log) {
    result = with_places(c, [&] {
      return memnet::run_closed_loop(
          c.topology, c.parameters, c.memory, inputs.requesters, c.parameters.max_cycles, records ? &record : nullptr,
          [&](double share) { progress.update(share); }, log);
    });
  });
  BenchDocument document = document_of(c, a);
  if (records) memnet::write_trace(*inputs.record, record);
  const memnet::ReportRow row = memnet::report_row(c, result);
  document.add(to_json(row), 0);
  a.csv.write(memnet::to_csv({row}));
  if (!document.quiet()) print(c, result);
  return document.finish();
}

int run_replay(const Configuration& c, SimRunArguments& a, const Inputs& inputs) {
  std::vector<memnet::Delivery> deliveries;
  with_log(c, a, [&](memnet::RunObserver* log) {
    deliveries = with_places(c, [&] { return memnet::replay_packets(c.topology, c.parameters, inputs.packets, log); });
  });
  BenchDocument document = document_of(c, a);
  const memnet::ReportRow row = memnet::report_row(c, deliveries);
  document.add(to_json(row), 0);
  a.csv.write(memnet::to_csv({row}));
  if (!document.quiet()) {
    fmt::print("\n# {}: {} packets of {}\n\n", c.title, deliveries.size(), c.packets);
    Table table({{"", Table::Align::left}, {""}});
    for (const auto& [name, cell] : row) {
      const auto* real = std::get_if<double>(&cell);
      table.add({name, real != nullptr ? fmt::format("{:.2f}", *real) : memnet::to_text(cell)});
    }
    fmt::print("{}", table.text());
  }
  return document.finish();
}

// A row for each kernel, in the order of their first launches: the sum of its launches.
std::vector<std::pair<memnet::LaunchResult, int>> by_kernel(const std::vector<memnet::LaunchResult>& launches) {
  std::vector<std::pair<memnet::LaunchResult, int>> all;
  for (const memnet::LaunchResult& launch : launches) {
    const auto its =
        std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.first.kernel == launch.kernel; });
    if (its == all.end()) {
      all.emplace_back(launch, 1);
      continue;
    }
    memnet::LaunchResult& sum = its->first;
    sum.cycles += launch.cycles;
    sum.simulated_cycles += launch.simulated_cycles;
    sum.blocks += launch.blocks;
    sum.simulated_blocks += launch.simulated_blocks;
    sum.requests += launch.requests;
    ++its->second;
  }
  return all;
}

std::string share_text(std::int64_t part, std::int64_t all) {
  return all > 0 ? fmt::format("{:.1f} %", 100 * static_cast<double>(part) / static_cast<double>(all)) : "-";
}

void print(const Configuration& c, const base::KernelTrace& trace, const memnet::KernelResult& r) {
  fmt::print("\n# {}: {} on {}, blocks by {}, {} routing, seed {}\n\n", c.title, trace.program,
             memnet::counted(static_cast<int>(c.kernels.gpus.size()), "GPU"), memnet::to_string(c.kernels.schedule),
             memnet::to_string(c.parameters.routing), c.parameters.seed);
  Table table(
      {{"kernel", Table::Align::left}, {"launches"}, {"blocks"}, {"simulated"}, {"cycles"}, {"us"}, {"requests"}});
  for (const auto& [launch, count] : by_kernel(r.launches))
    table.add({launch.kernel, fmt::to_string(count), fmt::to_string(launch.blocks),
               fmt::to_string(launch.simulated_blocks), fmt::format("{:.0f}", launch.cycles),
               fmt::format("{:.1f}", launch.cycles / c.parameters.clock_ghz / 1000), count_text(launch.requests)});
  fmt::print("{}", table.text());
  print_latency({{"request to reply", r.network.latency}}, 1 / c.parameters.clock_ghz);
  fmt::print("time          {:.1f} us: {:.0f} cycles\n", r.cycles() / c.parameters.clock_ghz / 1000, r.cycles());
  fmt::print("hits          L1 {}, L2 {} of the lines read\n", share_text(r.l1_hits, r.l1_reads),
             share_text(r.l2_hits, r.l2_reads));
  fmt::print("to memory     {} reads, {} writes, {} atomics\n", r.reads, r.writes, r.atomics);
  fmt::print("hops          {:.3f} routers, there and back, mean\n", r.network.hops);
  print_energy(r.energy.active_pj, r.energy.idle_pj);
}

int run_kernels(const Configuration& c, SimRunArguments& a, const base::KernelTrace& trace) {
  memnet::KernelResult result;
  {
    Progress progress("simulating");
    progress.update(0);
    result = with_places(c, [&] {
      return memnet::run_kernels(c.topology, c.parameters, c.memory, c.kernels.gpus, c.kernels.cores, trace,
                                 c.kernels.schedule, [&](double share) { progress.update(share); });
    });
  }
  BenchDocument document = document_of(c, a);
  document["program"] = trace.program;
  const memnet::ReportRow row = memnet::report_row(c, result);
  document.add(to_json(row), 0);
  nlohmann::ordered_json launches = nlohmann::ordered_json::array();
  for (const memnet::LaunchResult& one : result.launches) launches.push_back(to_json(memnet::report_row(c, one)));
  document["kernels"] = launches;
  a.csv.write(memnet::to_csv({row}));
  if (!document.quiet()) print(c, trace, result);
  return document.finish();
}

int run_system(const Configuration& c, SimRunArguments& a, const base::KernelTrace& trace) {
  const memnet::SystemPlan& plan = c.system;
  Progress progress("simulating");
  std::vector<std::pair<std::string, memnet::Phase>> phases;
  progress.update(0, 3);
  const bool traced = !c.kernels.trace.empty();
  const double in = traced ? memnet::copied(trace, base::KernelStep::Kind::to_gpu) : plan.workload.copied_in;
  const double out = traced ? memnet::copied(trace, base::KernelStep::Kind::to_host) : plan.workload.copied_out;
  phases.emplace_back("copy in", copy_phase(plan.organisation, plan.model, in, true));
  progress.update(1, 3);
  phases.emplace_back("kernel", traced ? kernel_phase(plan.organisation, plan.model, c.kernels.cores, trace).phase
                                       : kernel_phase(plan.organisation, plan.model, plan.workload));
  progress.update(2, 3);
  phases.emplace_back("copy out", copy_phase(plan.organisation, plan.model, out, false));
  progress.update(3, 3);
  BenchDocument document = document_of(c, a);
  memnet::Phase total;
  for (const auto& [name, phase] : phases) {
    total.ns += phase.ns;
    total.requests += phase.requests;
    total.energy.active_pj += phase.energy.active_pj;
    total.energy.idle_pj += phase.energy.idle_pj;
  }
  phases.emplace_back("total", total);
  std::vector<memnet::ReportRow> rows;
  Table table({{"phase", Table::Align::left}, {"us"}, {"requests"}, {"latency, cycles"}, {"hops"}, {"energy"}});
  for (const auto& [name, phase] : phases) {
    rows.push_back(memnet::report_row(plan, name, phase));
    document.add(to_json(rows.back()), 0);
    const bool sampled = phase.sampled.requests > 0;
    table.add({name, fmt::format("{:.1f}", phase.ns / 1000), count_text(phase.requests),
               sampled ? fmt::format("{:.1f}", phase.sampled.latency.mean) : "-",
               sampled ? fmt::format("{:.2f}", phase.sampled.hops) : "-",
               energy_text((phase.energy.active_pj + phase.energy.idle_pj) / 1000)});
  }
  if (!traced) document["assumed"] = std::string(plan.workload.assumed);
  a.csv.write(memnet::to_csv(rows));
  if (!document.quiet()) {
    fmt::print("\n# {}: {} on {}, {} and a CPU\n", c.title,
               traced ? trace.program : fmt::format("{} ({})", plan.workload.name, plan.workload.problem),
               memnet::to_string(plan.organisation), memnet::counted(plan.model.gpus, "GPU"));
    if (!traced)
      fmt::print("# {} requests of each GPU simulated, the rest scaled; assumed of the workload: {}\n",
                 plan.model.sample_requests, plan.workload.assumed);
    fmt::print("\n{}", table.text());
  }
  return document.finish();
}

// A booksim2 configuration as one of this simulator.
int print_configuration(const SimRunArguments& a) {
  if (!memnet::is_booksim(a.input.config)) {
    throw Error(Code::configuration, "sim",
                fmt::format("--print {}: expected a booksim2 configuration, whose name ends in .cfg", a.input.config));
  }
  const memnet::BooksimConfiguration made = memnet::load_booksim(a.input.config, a.input.settings);
  if (!made.own.empty()) {
    throw Error(Code::configuration, "sim",
                fmt::format("--print --set {}: expected a key of booksim2; set others when what is printed runs",
                            made.own.front()));
  }
  memnet::parse_configuration(made.toml, a.input.config, {}, false);  // that it is one
  fmt::print("# {}\n", a.input.config);
  for (const memnet::BooksimNote& note : made.notes) {
    fmt::print("#   {} = {}: {}\n", note.key, note.value, note.taken ? "taken" : "ignored: " + note.reason);
  }
  fmt::print("\n{}", made.toml);
  return exit_ok;
}

int run(SimRunArguments& a) {
  if (a.print) return print_configuration(a);
  const Configuration c = a.input.read();
  if (a.links.given() && c.kind != memnet::RunKind::open_loop) {
    throw Error(Code::configuration, "sim",
                fmt::format("--links {}: expected a configuration without [{}]", a.links.name, section_of(c.kind)));
  }
  if (a.logs() && (c.kind == memnet::RunKind::kernels || c.kind == memnet::RunKind::system)) {
    const auto& [option, file] = a.packets.given()    ? std::pair("--packets", a.packets.name)
                                 : a.link_csv.given() ? std::pair("--link-csv", a.link_csv.name)
                                                      : std::pair("--counters", a.counters.name);
    throw Error(Code::configuration, "sim",
                fmt::format("{} {}: expected a configuration without [{}]", option, file, section_of(c.kind)));
  }
  if (a.window > 0 && !a.link_csv.given() && !a.counters.given()) {
    throw Error(Code::configuration, "sim",
                fmt::format("--window {}: expected --link-csv or --counters beside it", a.window));
  }
  expect_apart(c, {{"--csv", a.csv.name},
                   {"--links", a.links.name},
                   {"--packets", a.packets.name},
                   {"--link-csv", a.link_csv.name},
                   {"--counters", a.counters.name},
                   {"--json", file_of(a.json)}});
  a.csv.open();
  a.links.open();
  a.packets.open();
  a.link_csv.open();
  a.counters.open();
  const Inputs inputs = inputs_of(c);
  a.json.open();
  switch (c.kind) {
    case memnet::RunKind::open_loop: return run_open_loop(c, a);
    case memnet::RunKind::closed_loop: return run_closed_loop(c, a, inputs);
    case memnet::RunKind::kernels: return run_kernels(c, a, inputs.kernels);
    case memnet::RunKind::replay: return run_replay(c, a, inputs);
    case memnet::RunKind::system: return run_system(c, a, inputs.kernels);
  }
  return exit_job_failed;
}

constexpr const char* sim_run_description =
    "One run of a network that a TOML file describes\n\n"
    "With [traffic], or none of these, an open loop: packets at a rate. With [requests] a closed loop: processors\n"
    "that read and write memory, so many requests at once. With [kernels] the blocks of a kernel trace, on the cores "
    "of\n"
    "GPUs with caches. With [replay] the packets of a trace. With [system] a workload of the paper, or a kernel "
    "trace,\n"
    "on one of its organisations. Latencies are in cycles of the network's clock. `dcgn sim keys` "
    "explains\n"
    "every key. A file whose name ends in .cfg is a configuration of booksim2; --set takes its keys, too.\n"
    "The same seed gives the same result.";

}  // namespace

void add_sim_run(CLI::App& parent, Action& chosen) {
  const auto a = std::make_shared<SimRunArguments>();
  CLI::App* app = parent.add_subcommand("run", sim_run_description);
  a->input.add_to(*app, true);
  a->json.add_to(*app, "The row and each channel's load, with machine, commit, date and command,");
  a->csv.add_to(*app, "--csv", "The row, under a line of names", "FILE");
  a->links
      .add_to(*app, "--links", "A picture of an open loop's network, its channels coloured by their load", "FILE.svg")
      ->check(svg_file());
  a->packets.add_to(*app, "--packets", "A row for each packet: where, when, how long; written as the run goes", "FILE");
  a->link_csv.add_to(*app, "--link-csv", "A row for each link and window: flits and use", "FILE");
  a->counters.add_to(*app, "--counters", "Use of links, queues and latency over windows, for ui.perfetto.dev",
                     "FILE.json");
  app->add_option("--window", a->window, "Cycles of a window of --link-csv and --counters, by default 1000")
      ->type_name("CYCLES")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40));
  CLI::Option* print = app->add_flag(
      "--print", a->print, "Print a booksim2 configuration as TOML, with what became of each key; run nothing");
  for (const char* other :
       {"--load", "--json", "--csv", "--links", "--packets", "--link-csv", "--counters", "--window"})
    print->excludes(other);
  app->footer(
      std::string("Examples:\n"
                  "  dcgn sim run examples/sim/mesh_8x8.toml\n"
                  "  dcgn sim run mesh.cfg --set injection_rate=0.2\n"
                  "  dcgn sim run examples/sim/mesh_8x8.toml --load 0.3 --set traffic.pattern=transpose --links "
                  "loads.svg\n"
                  "  dcgn sim run examples/sim/sfbfly_4gpu.toml --set router.vcs_per_class=2 --json run.json\n"
                  "  dcgn sim run examples/sim/umn_kmn.toml\n\n") +
      exit_codes_help);
  app->callback([a, &chosen] { chosen = [a] { return run(*a); }; });
}

}  // namespace dcgn::tool
