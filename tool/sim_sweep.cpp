// dcgn sim sweep
#include "base/text.hpp"
#include "tool/bench_document.hpp"
#include "tool/commands.hpp"
#include "tool/exit_code.hpp"
#include "tool/progress.hpp"
#include "tool/sim.hpp"
#include "tool/values.hpp"

#include <dcgn/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace dcgn::tool {

namespace {

using memnet::Configuration, memnet::Result;

struct SimSweepArguments {
  SimInput input;
  std::string loads = "0.05:0.5:0.05";
  int threads = 0;
  bool saturation = false;
  double resolution = 0.01;
  JsonOption json;
  FileOption csv;
  PlotOption plot;
};

[[noreturn]] void refuse_loads(const std::string& text) {
  throw Error(Code::configuration, "sim",
              fmt::format("--load {}: expected FIRST:LAST:STEP or numbers separated by commas, in flits per source and "
                          "cycle, at most 1000 of them, as in 0.05:0.5:0.05",
                          text));
}

double number_of(const std::string& word, const std::string& text) {
  double value = 0;
  if (!base::parse(word, value) || !(value >= 0 && value <= 1024)) refuse_loads(text);
  return value;
}

std::vector<double> loads_of(const std::string& text) {
  std::vector<double> loads;
  const std::vector<std::string> range = split(text, ':');
  if (range.size() == 3) {
    const double first = number_of(range[0], text), last = number_of(range[1], text), step = number_of(range[2], text);
    if (!(step > 0) || last < first || (last - first) / step > 999) refuse_loads(text);
    const auto steps = static_cast<int>(std::floor((last - first) / step + 1e-6));
    // 0.05 * 3 is to be 0.15, as it would be typed.
    for (int i = 0; i <= steps; ++i) loads.push_back(std::round((first + i * step) * 1e9) / 1e9);
  } else if (range.size() == 1) {
    for (const std::string& word : split(text, ',')) loads.push_back(number_of(word, text));
  } else {
    refuse_loads(text);
  }
  if (loads.size() > 1000) refuse_loads(text);
  return loads;
}

// A run for each load, each from the configuration's seed: a point is what `sim run` gives at its load, whatever the
// other points and the number of threads.
std::vector<Result> sweep(const Configuration& c, const std::vector<double>& loads, int threads) {
  std::vector<Result> results(loads.size());
  std::vector<std::exception_ptr> errors(loads.size());
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  int done = 0;
  Progress progress("simulating");
  const auto work = [&] {
    for (std::size_t i = next++; i < loads.size(); i = next++) {
      try {
        results[i] = memnet::run_open_loop(c.topology, c.parameters, c.traffic, loads[i]);
      } catch (...) {
        errors[i] = std::current_exception();
      }
      const std::scoped_lock lock(mutex);
      progress.update(++done, static_cast<int>(loads.size()));
    }
  };
  const std::size_t wanted = threads > 0 ? static_cast<std::size_t>(threads) : std::thread::hardware_concurrency();
  {
    std::vector<std::jthread> others;
    for (std::size_t t = 1; t < std::min(wanted, loads.size()); ++t) others.emplace_back(work);
    work();
  }
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
  return results;
}

void head(const Configuration& c) {
  fmt::print("\n# {}: {}, {}, seed {}; latencies in cycles, loads in flits per source and cycle\n", c.title,
             memnet::to_string(c.parameters.routing), memnet::to_string(c.traffic.pattern), c.parameters.seed);
  fmt::print("#{:>8} {:>9} {:>10} {:>9} {:>8} {:>8} {:>8} {:>7} {:>9} {:>9}\n", "load", "offered", "throughput", "GB/s",
             "mean", "p50", "p99", "hops", "max load", "saturated");
}

void line(const Configuration& c, const Result& r) {
  const double gbytes = std::get<double>(memnet::report_row(c, r)[3].second);
  const double most = r.channel_load.empty() ? 0 : *std::max_element(r.channel_load.begin(), r.channel_load.end());
  const auto of_packets = [&](double value, int digits) {
    return r.latency.packets > 0 ? fmt::format("{:.{}f}", value, digits) : std::string("-");
  };
  fmt::print(" {:>8.4g} {:>9.4f} {:>10.4f} {:>9.1f} {:>8} {:>8} {:>8} {:>7} {:>9.3f} {:>9}\n", r.rate, r.offered,
             r.accepted, gbytes, of_packets(r.latency.mean, 2), of_packets(r.latency.p50, 0),
             of_packets(r.latency.p99, 0), of_packets(r.hops, 3), most, r.saturated ? "yes" : "no");
}

int run(SimSweepArguments& a) {
  Configuration c = a.input.read();
  if (c.kind != memnet::RunKind::open_loop)
    throw Error(Code::configuration, "sim",
                fmt::format("sweep of {}: expected an open loop, without [requests], [kernels], [replay] and [system]",
                            c.file));
  const std::vector<double> loads = loads_of(a.loads);
  if (a.saturation && a.resolution >= 1) {
    throw Error(Code::configuration, "sim",
                fmt::format("--resolution {}: expected more than 0, less than 1", a.resolution));
  }
  c.places["traffic.load"] = "--load " + a.loads;  // the file's is not what runs
  expect_apart(c, {{"--csv", a.csv.name}, {"--plot", a.plot.name}, {"--json", file_of(a.json)}});
  a.csv.open();
  if (const int refused = a.plot.check(); refused != exit_ok) return refused;
  a.json.open();
  const std::vector<Result> results = with_places(c, [&] { return sweep(c, loads, a.threads); });
  BenchDocument document("sim sweep", a.json, a.csv.on_stdout());
  document["config"] = c.file;
  document["title"] = c.title;
  std::vector<memnet::ReportRow> rows;
  nlohmann::ordered_json plain = nlohmann::ordered_json::array();
  if (!document.quiet()) head(c);
  for (const Result& result : results) {
    rows.push_back(memnet::report_row(c, result));
    plain.push_back(document.add(to_json(rows.back()), 0));
    if (!document.quiet()) line(c, result);
  }
  nlohmann::ordered_json drawn = {{"what", "sim sweep"}, {"title", c.title}, {"rows", plain}};
  if (a.saturation) {
    Progress progress("searching");
    const memnet::Saturation found = with_places(c, [&] {
      return memnet::find_saturation(c.topology, c.parameters, c.traffic, a.resolution, 3,
                                     [&](double share) { progress.update(share); });
    });
    document["saturation"] = {{"found", found.found},
                              {"load", found.rate},
                              {"resolution", a.resolution},
                              {"latency_at_zero", found.latency_at_zero},
                              {"runs", found.points.size()}};
    drawn["saturation"] = document["saturation"];
    if (!document.quiet())
      fmt::print(
          "\nsaturation {} {:.4f} flits per source and cycle, to {:.4f}: {} runs; {:.2f} cycles near zero load\n",
          found.found ? "at" : "none up to", found.rate, a.resolution, found.points.size(), found.latency_at_zero);
  }
  a.csv.write(memnet::to_csv(rows));
  const int result = document.finish();
  return result == exit_ok ? a.plot.draw(drawn) : result;
}

constexpr const char* sim_sweep_description =
    "Latency and throughput over the load\n\n"
    "A run for each load, several at once; a line, and a row of JSON or CSV, for each. A point is what `dcgn sim run`\n"
    "gives at its load: rows do not depend on the number of threads. A run past saturation ends, with a flag.";

}  // namespace

void add_sim_sweep(CLI::App& parent, Action& chosen) {
  const auto a = std::make_shared<SimSweepArguments>();
  CLI::App* app = parent.add_subcommand("sweep", sim_sweep_description);
  a->input.add_to(*app, false);
  app->add_option("--load", a->loads, "Flits per source and cycle: a range, or a list with commas")
      ->type_name("FIRST:LAST:STEP")
      ->capture_default_str();
  app->add_option("--threads", a->threads, "Runs at once; 0: as many as the machine has cores")
      ->type_name("N")
      ->check(whole_number(0, 1024))
      ->capture_default_str();
  CLI::Option* saturation = app->add_flag(
      "--saturation", a->saturation,
      "Also search the load above which the network saturates, or its latency is three times that near zero");
  app->add_option("--resolution", a->resolution, "Of that search, in flits per source and cycle")
      ->type_name("LOAD")
      ->needs(saturation)
      ->check(positive_number())
      ->capture_default_str();
  a->json.add_to(*app, "All rows, with machine, commit, date and command,");
  a->csv.add_to(*app, "--csv", "All rows, under a line of names", "FILE");
  a->plot.add_to(*app, "A picture of latency and throughput over the load");
  app->footer(
      std::string("Examples:\n"
                  "  dcgn sim sweep examples/sim/mesh_8x8.toml --load 0.05:0.45:0.05 --saturation\n"
                  "  dcgn sim sweep examples/sim/sfbfly_4gpu.toml --load 0.5:7.5:0.5 --plot sweep.svg\n"
                  "  dcgn sim sweep examples/sim/mesh_8x8.toml --set routing.algorithm=ugal --csv ugal.csv\n\n") +
      exit_codes_help);
  app->callback([a, &chosen] { chosen = [a] { return run(*a); }; });
}

}  // namespace dcgn::tool
