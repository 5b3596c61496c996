// dcgn bench sim
#include "bench/program.hpp"
#include "memnet/src/booksim.hpp"
#include "memnet/src/config.hpp"
#include "memnet/src/simulation.hpp"
#include "tool/bench_document.hpp"
#include "tool/bench_gates.hpp"
#include "tool/bench_options.hpp"
#include "tool/commands.hpp"
#include "tool/exit_code.hpp"
#include "tool/progress.hpp"
#include "tool/values.hpp"

#include <dcgn/error.hpp>
#include <dcgn/version.hpp>

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

namespace dcgn::tool {

namespace {

struct SimBenchArguments {
  std::string booksim, networks;
  int rounds = 3;
  JsonOption json;
};

// What both simulators run: a booksim2 configuration.
struct SimBenchNetwork {
  const char* name;
  const char* text;
  std::vector<double> loads;  // flits a node and cycle
};

const std::vector<SimBenchNetwork>& sim_bench_networks() {
  static const std::vector<SimBenchNetwork> all = {
      {"mesh", "topology = mesh; k = 8; n = 2; routing_function = dor; sample_period = 5000;", {0.05, 0.2, 0.35}},
      {"torus", "topology = torus; k = 8; n = 2; routing_function = dim_order; sample_period = 5000;", {0.2, 0.4}},
      {"flatfly",
       "topology = flatfly; k = 4; n = 2; c = 4; x = 4; y = 4; xr = 2; yr = 2; routing_function = ran_min; "
       "sample_period = 5000;",
       {0.1, 0.5}},
      {"dragonfly",
       "topology = dragonflynew; k = 2; n = 1; routing_function = min; num_vcs = 2; sample_period = 5000;",
       {0.1, 0.2}},
      {"large-mesh", "topology = mesh; k = 32; n = 2; routing_function = dor; sample_period = 1000;", {0.02, 0.08}},
  };
  return all;
}

// Single flits of uniform traffic; routers as booksim2's documentation has them, with one iteration of allocation.
std::string booksim_text(const SimBenchNetwork& network, double load) {
  return fmt::format(
      "num_vcs = 8; vc_buf_size = 8; wait_for_tail_credit = 0; alloc_iters = 1; vc_allocator = islip; "
      "sw_allocator = islip;\ncredit_delay = 2; routing_delay = 0; vc_alloc_delay = 1; sw_alloc_delay = 1; "
      "st_final_delay = 1;\nsim_type = latency; sim_count = 1; warmup_periods = 3; max_samples = 10; "
      "traffic = uniform; packet_size = 1;\n{}\ninjection_rate = {};\n",
      network.text, load);
}

struct SimBenchRow {
  std::string whose, network;
  double load = 0;
  int nodes = 0;
  std::int64_t cycles = 0;
  double latency = 0, hops = 0, flit_hops = 0, seconds = 0;
  double ratio = 0;  // of flit-hops a second: ours over the peer's
  std::uint64_t wrong = 0;

  double million_a_second() const { return flit_hops / seconds / 1e6; }
};

nlohmann::ordered_json to_json(const SimBenchRow& row) {
  return {{"whose", row.whose},         {"network", row.network},
          {"load", row.load},           {"nodes", row.nodes},
          {"cycles", row.cycles},       {"latency", row.latency},
          {"hops", row.hops},           {"flit_hops", row.flit_hops},
          {"processor_s", row.seconds}, {"million_flit_hops_per_s", row.million_a_second()},
          {"ratio", row.ratio},         {"wrong", row.wrong}};
}

SimBenchRow run_ours(const SimBenchNetwork& network, double load) {
  const std::string name = fmt::format("{}.cfg", network.name);
  const memnet::BooksimConfiguration read = memnet::read_booksim(booksim_text(network, load), name);
  const memnet::Configuration configuration = memnet::parse_configuration(read.toml, name, {}, false);
  const std::clock_t begin = std::clock();
  const memnet::Result result = memnet::run_open_loop(configuration.topology, configuration.parameters,
                                                      configuration.traffic, configuration.load);
  SimBenchRow row;
  row.seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  row.whose = "dcgn " + std::string(version);
  row.network = network.name;
  row.load = load;
  row.nodes = static_cast<int>(configuration.topology.terminals().size());
  row.cycles = result.cycles;
  row.latency = result.latency.mean;
  row.hops = result.hops;
  row.flit_hops = static_cast<double>(result.flit_hops);
  row.wrong = std::abs(result.accepted / load - 1) > 0.03 ? 1 : 0;
  return row;
}

double seconds_of_children() {
  rusage usage{};
  ::getrusage(RUSAGE_CHILDREN, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// The number behind the last `name` in the text.
double number_behind(const std::string& text, const std::string& name) {
  const std::size_t at = text.rfind(name);
  const char* begin = at == std::string::npos ? nullptr : text.c_str() + at + name.size();
  char* end = nullptr;
  const double value = begin ? std::strtod(begin, &end) : 0;
  if (!begin || end == begin)
    throw Error(Code::io, "bench sim", "booksim2 printed no \"" + name + "\", expected its statistics of a run");
  return value;
}

// A new folder of this user's own, while the object is there.
class PrivateFolder {
 public:
  PrivateFolder() : path_((std::filesystem::temp_directory_path() / "dcgn_bench_sim_XXXXXX").string()) {
    if (::mkdtemp(path_.data()) == nullptr)
      throw Error(Code::io, "bench sim", fmt::format("{}: {}: expected a new folder", path_, std::strerror(errno)));
  }
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;
  ~PrivateFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Flit-hops are counted from what it prints: of all its cycles, at the rate of those that it has measured.
SimBenchRow run_booksim(const std::string& program, const SimBenchNetwork& network, const SimBenchRow& ours) {
  const PrivateFolder folder;
  const std::string file = folder.path() + "/network.cfg";
  std::ofstream(file) << booksim_text(network, ours.load);
  const double before = seconds_of_children();
  // It ends with -1 where all went well.
  const std::string text = bench::output_of(
      fmt::format("{} {} 2>&1", bench::quoted(std::filesystem::absolute(program).string()), bench::quoted(file)), 600,
      "booksim2: ", {255});
  SimBenchRow row = ours;
  row.whose = "booksim2";
  row.seconds = std::max(seconds_of_children() - before, 1e-6);
  row.cycles = static_cast<std::int64_t>(number_behind(text, "Time taken is "));
  row.latency = number_behind(text, "Packet latency average = ");
  row.hops = number_behind(text, "Hops average = ");
  row.flit_hops =
      number_behind(text, "Accepted flit rate average = ") * row.nodes * row.hops * static_cast<double>(row.cycles);
  row.wrong = 0;
  return row;
}

void keep_faster(SimBenchRow& fastest, const SimBenchRow& row) {
  if (fastest.seconds == 0 || row.seconds < fastest.seconds) fastest = row;
}

void print_line(const SimBenchRow& row) {
  fmt::print(" {:<12} {:>5} {:>5.2f}  {:<14} {:>8} {:>8.2f} {:>6.3f} {:>10.2f} {:>10.3f} {:>12.2f} {:>7} {:>5}\n",
             row.network, row.nodes, row.load, row.whose, row.cycles, row.latency, row.hops, row.flit_hops / 1e6,
             row.seconds, row.million_a_second(), row.ratio > 0 ? fmt::format("{:.1f}", row.ratio) : "-", row.wrong);
  std::fflush(stdout);
}

int run(SimBenchArguments& a) {
  std::error_code unread;
  if (!a.booksim.empty() &&
      (!std::filesystem::is_regular_file(a.booksim, unread) || ::access(a.booksim.c_str(), X_OK) != 0))
    refuse(fmt::format("sim: --booksim '{}': expected the path of its program", a.booksim));
  BenchDocument document("sim", a.json);
  if (!document.quiet())
    fmt::print("\n#{:<12} {:>5} {:>5}  {:<14} {:>8} {:>8} {:>6} {:>10} {:>10} {:>12} {:>7} {:>5}\n", "network", "nodes",
               "load", "", "cycles", "latency", "hops", "M fl.hops", "cpu s", "M fl.hops/s", "ratio", "wrong");
  const std::vector<std::string> asked = split(a.networks, ',');
  bool failed = false;
  for (const SimBenchNetwork& network : sim_bench_networks()) {
    if (std::ranges::find(asked, network.name) == asked.end()) continue;
    for (const double load : network.loads) {
      attempt(network.name, failed, [&] {
        Progress progress(fmt::format("{} at {}", network.name, load));
        SimBenchRow ours, peer;
        for (int round = 0; round < a.rounds; ++round) {
          keep_faster(ours, run_ours(network, load));
          if (!a.booksim.empty()) keep_faster(peer, run_booksim(a.booksim, network, ours));
        }
        std::vector<SimBenchRow> rows;
        if (!a.booksim.empty()) {
          ours.ratio = ours.million_a_second() / peer.million_a_second();
          if (std::abs(ours.latency / peer.latency - 1) > 0.03) ours.wrong = 1;
          rows.push_back(peer);
        }
        rows.insert(rows.begin(), ours);
        for (const SimBenchRow& row : rows) {
          document.add(to_json(row), row.wrong);
          if (!document.quiet()) print_line(row);
        }
      });
    }
  }
  const int result = document.finish();
  return failed ? exit_job_failed : result;
}

std::vector<std::string> sim_bench_names() {
  std::vector<std::string> names;
  for (const SimBenchNetwork& network : sim_bench_networks()) names.emplace_back(network.name);
  return names;
}

constexpr const char* sim_bench_description =
    "How fast networks are simulated: flit-hops a second\n\n"
    "Single flits of uniform traffic, by one thread: a flit-hop is a flit through a router's switch. Seconds are those "
    "of "
    "the\nprocessor, so that another program's work counts less. With --booksim the public simulator runs the same\n"
    "configurations. `wrong` is 1 where less than 97 % of the load came through, or the mean latencies differ by more\n"
    "than 3 %.";

}  // namespace

void add_bench_sim(CLI::App& parent, Action& chosen) {
  const auto a = std::make_shared<SimBenchArguments>();
  CLI::App* app = parent.add_subcommand("sim", sim_bench_description);
  a->networks = fmt::format("{}", fmt::join(sim_bench_names(), ","));
  app->add_option("--networks", a->networks, "Which")
      ->check(words_of(sim_bench_names()))
      ->type_name("WORDS")
      ->capture_default_str();
  app->add_option("--booksim", a->booksim, "The program of booksim2, to stand beside")->type_name("FILE");
  app->add_option("--rounds", a->rounds, "Runs of each, in turns, of which the fastest counts")
      ->type_name("N")
      ->check(whole_number(1, 100))
      ->capture_default_str();
  a->json.add_to(*app, "All rows, with machine, commit, date and command,");
  app->footer(std::string("Examples:\n"
                          "  dcgn bench sim\n"
                          "  dcgn bench sim --networks mesh --booksim ~/booksim2/src/booksim --json sim.json\n\n") +
              exit_codes_help);
  app->callback([a, &chosen] { chosen = [a] { return run(*a); }; });
}

}  // namespace dcgn::tool
