// dcgn bench gates
#include "tool/bench_gates.hpp"

#include "bench/peer.hpp"
#include "core/bench/ablation.hpp"
#include "tool/bench_options.hpp"
#include "tool/commands.hpp"
#include "tool/exit_code.hpp"
#include "tool/values.hpp"

#include <dcgn/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>

namespace dcgn::tool {

namespace {

using bench::Idea, bench::Measure, bench::Path, bench::Row, bench::Scope, bench::ScopeKind, bench::Workload;

struct GatesArguments {
  std::string what = "p2p", end;
  double seconds = 0.1;
  int repetitions = 9;
  JsonOption json;
};

constexpr Scope thread{.kind = ScopeKind::thread}, warp{.kind = ScopeKind::warp}, block{.kind = ScopeKind::block},
    blocks_16{.kind = ScopeKind::blocks, .blocks = 16}, grid{.kind = ScopeKind::blocks, .blocks = 0};

// What is to be reached on 8 x H200: at most so many microseconds, or at least so many GB/s or million messages a
// second, or such a share of a limit.
struct Gate {
  const char* measure;
  Path path;
  Scope scope;
  std::int64_t bytes;
  double reach;
  const char* share_of = nullptr;
  int senders = 0;
};

const Gate gates[] = {
    {"latency", Path::slot_slot, thread, 8, 0.90},
    {"latency", Path::slot_slot, warp, 8, 0.90},
    {"any-source", Path::slot_slot, warp, 8, 1.3, nullptr, 8},
    {"any-source", Path::slot_slot, warp, 8, 2.5, nullptr, 1055},
    {"latency", Path::slot_slot, block, 4 * kb, 1.4},
    {"latency", Path::slot_slot, block, 64 * kb, 3.0},
    {"bandwidth", Path::slot_slot, block, 1 * mb, 45},
    {"bandwidth", Path::slot_slot, block, 64 * mb, 45},
    {"bandwidth", Path::slot_slot, blocks_16, 64 * mb, 345},
    {"bandwidth", Path::slot_slot, grid, 64 * mb, 0.98, "limit: peer stores"},
    {"bandwidth", Path::device_device, {}, 256 * mb, 0.98, "limit: copy engine"},
    {"bidirectional", Path::slot_slot, grid, 64 * mb, 0.95, "limit: peer stores"},
    {"rate", Path::slot_slot, thread, 8, 300},
    {"latency", Path::cpu_slot, thread, 8, 2.0},  // half of a round trip
    {"bandwidth", Path::slot_slot_staged, grid, 64 * mb, 40},
};
// The latency with deadlines and abort checks is at most so much above that without.
constexpr double most_cost_of_checks = 0.03;

class GatesRunner {
 public:
  GatesRunner(const GatesArguments& arguments, BenchDocument& document)
      : seconds_(arguments.seconds),
        repetitions_(arguments.repetitions),
        largest_(largest_message(arguments.end)),
        document_(document) {}

  void run() {
    ask_peers();
    if (!document_.quiet()) gates_head();
    for (const Gate& gate : gates)
      attempt(fmt::format("{}, {} B, {}", gate.measure, gate.bytes, bench::name_of(gate.path)), failed_,
              [&] { measure(gate); });
    for (const Scope& scope : {thread, warp}) attempt("what checks cost", failed_, [&] { measure_checks(scope); });
    for (const Row& row : peers_) document_.add(row);
    document_["gates"] = lines_;
  }

  bool failed() const { return failed_; }

 private:
  // At the sizes of the gates of two GPUs.
  void ask_peers() {
    if (Device::count() < 2 || Device(0).kind() != DeviceKind::cuda) return;
    for (const std::string peer : {"nccl", "nvshmem"}) {
      if (!bench::has_peer(peer)) continue;
      std::map<std::string, std::vector<std::int64_t>> sizes;
      for (const Gate& gate : gates) {
        std::vector<std::int64_t>& these = sizes[gate.measure];
        // NVSHMEM's memory is set aside beforehand: what is largest is left to NCCL.
        const bool suits = gate.bytes <= largest_ && (peer == "nccl" || gate.path != Path::device_device);
        if (suits && bench::gpus_of(gate.path) == 2 && std::ranges::find(these, gate.bytes) == these.end())
          these.push_back(gate.bytes);
      }
      for (const Measure measure : bench::all_measures)
        if (const auto& these = sizes[bench::name_of(measure)]; !these.empty())
          attempt(peer, failed_, [&] {
            for (const Row& row : bench::run_peer(
                     peer, {.measures = {bench::name_of(measure)}, .sizes = these, .seconds = seconds_ / 2}))
              peers_.push_back(row);
          });
    }
  }

  // "NVSHMEM 2.142, NCCL 6.300": the same between two GPUs, by a block where there is no row of our scope.
  std::string peers_of(const Row& ours) const {
    std::vector<std::string> texts;
    std::vector<std::string> known;
    for (const char* scope : {ours.scope.c_str(), "-", "block"})
      for (const Row& row : peers_) {
        const std::string name = row.whose.substr(0, row.whose.find(' '));
        if (row.measure != ours.measure || row.bytes != ours.bytes || row.scope != scope ||
            std::ranges::find(known, name) != known.end())
          continue;
        known.push_back(name);
        texts.push_back(name + " " + figure_of(row));
      }
    return fmt::format("{}", fmt::join(texts, ", "));
  }

  std::vector<Row> limits_of(const Gate& gate, Workload work) const {
    work.seconds /= 4;
    if (gate.senders || (gate.bytes <= 8 && gate.measure == std::string("latency"))) {
      const std::optional<Row> flag = bench::limit_of_flag(work);
      return flag ? std::vector{*flag} : std::vector<Row>();
    }
    const std::optional<Measure> measure = bench::parse_measure(gate.measure);
    if (!measure) return {};
    std::vector<Row> limits = bench::limits_of_kernels(work, *measure);
    const std::vector<Row> copies = bench::limits_of_copies(work, *measure);
    limits.insert(limits.end(), copies.begin(), copies.end());
    return limits;
  }

  void measure(const Gate& gate) {
    if (gate.bytes > largest_) return;
    const Path path = bench::path_here(gate.path);
    if (bench::gpus_of(path) > Device::count()) refuse(fmt::format("expected {} GPUs", bench::gpus_of(path)));
    const Workload work{.path = path,
                        .scope = gate.scope,
                        .bytes = gate.bytes,
                        .seconds = seconds_,
                        .senders = std::max(gate.senders, 1)};
    const std::vector<Row> limits = limits_of(gate, work);
    for (const Row& limit : limits) document_.add(limit);
    // Of the staged path the last, which is all the way; else the first, or the one of which a share is to be reached.
    const Row* limit = limits.empty() ? nullptr : path == Path::slot_slot_staged ? &limits.back() : &limits.front();
    const Row ours = measurement_of(gate.measure)(work);
    document_.add(ours);
    const bool at_most = ours.unit == "us" && !has_bandwidth(ours);
    GateLine line{.what = title_of(ours) + ", " + ours.path,
                  .measured = figure_of(ours),
                  .limit = limit ? figure_of(*limit) + " " + name_of_limit(*limit) : "-",
                  .peers = bench::gpus_of(path) == 2 ? peers_of(ours) : "",
                  .wrong = ours.wrong};
    const double figure = value_of(ours);
    if (gate.share_of) {
      line.reach = fmt::format(">= {:.0f}% of limit", 100 * gate.reach);
      const double share = limit && limit->gb_per_s > 0 ? ours.gb_per_s / limit->gb_per_s : 0;
      line.measured += fmt::format(" ({:.1f}%)", 100 * share);
      line.met = share >= gate.reach;
    } else {
      line.reach = fmt::format("{} {:g} {}", at_most ? "<=" : ">=", gate.reach, unit_of(ours));
      line.met = at_most ? figure <= gate.reach : figure >= gate.reach;
    }
    add(line);
  }

  void measure_checks(const Scope& scope) {
    const Workload work{.path = bench::path_here(Path::slot_slot), .scope = scope, .seconds = seconds_ / 2};
    const bench::Effect effect = bench::ablate(bench::measure_latency, work, {Idea::checks}, repetitions_).front();
    document_.add(effect.with);
    document_.add(effect.without)["factor"] = effect.factor;
    const double cost = 1 / effect.factor - 1;
    add({.what = "deadlines and abort checks, " + title_of(effect.with),
         .reach = fmt::format("< {:.0f}%", 100 * most_cost_of_checks),
         .measured = fmt::format("{:.1f}%", 100 * cost),
         .limit = figure_of(effect.without) + " without",
         .peers = "",
         .wrong = effect.with.wrong + effect.without.wrong,
         .met = cost < most_cost_of_checks});
  }

  void add(const GateLine& line) {
    lines_.push_back(to_json(line));
    if (!document_.quiet()) gates_line(line);
  }

  double seconds_;
  int repetitions_;
  std::int64_t largest_;
  BenchDocument& document_;
  std::vector<Row> peers_;
  nlohmann::ordered_json lines_ = nlohmann::ordered_json::array();
  bool failed_ = false;
};

int run(GatesArguments& a) {
  const std::int64_t largest = largest_message(a.end);  // a bad one is told before anything is printed
  const bool collectives = a.what == "coll";
  if (collectives && Device::count() == 0)
    refuse("gates coll: this machine has no GPU; DCGN_EMULATED_GPUS=2 gives it emulated ones");
  BenchDocument document("gates", a.json);
  if (collectives) {
    const bool measured = measure_collective_gates({.largest = largest, .seconds = a.seconds}, document);
    const int code = document.finish();
    return measured ? code : exit_job_failed;
  }
  GatesRunner runner(a, document);
  runner.run();
  const int code = document.finish();
  return runner.failed() ? exit_job_failed : code;
}

}  // namespace

void add_bench_gates(CLI::App& parent, Action& chosen) {
  const auto a = std::make_shared<GatesArguments>();
  CLI::App* app = parent.add_subcommand(
      "gates",
      "What is to be reached, and what is\n\n"
      "One table of the figures that Decagon is held to: what is measured, what is to be reached, the limit in the\n"
      "same run, the peers that are built, and whether it is met. Messages are between two GPUs, held to what 8 x "
      "H200\n"
      "give: latencies are half a round trip, medians of 10,000 rounds or more; GB/s of both directions at once is of\n"
      "each. On other machines the same is measured, with one GPU in place of two. Collectives are of all GPUs: the\n"
      "fastest scope counts, held to a time, to a multiple of NCCL's bus bandwidth or to the best peer. The exit\n"
      "code does not say whether all are met.");
  app->add_option("WHAT", a->what, "p2p: messages, two GPUs at a time; coll: collectives, of all GPUs [p2p]")
      ->type_name("")
      ->check(word_of({"p2p", "coll"}));
  app->add_option("-e,--end", a->end, "The largest message; rows of larger ones are left out [1G; emulated 64K]")
      ->type_name("SIZE");
  app->add_option("--time", a->seconds, "Seconds that a row should take; never fewer rounds than a median needs")
      ->type_name("S")
      ->check(positive_number())
      ->capture_default_str();
  app->add_option("--repeat", a->repetitions, "How often latencies are measured with and without checks, in turn")
      ->type_name("N")
      ->check(whole_number(1, 1000))
      ->capture_default_str();
  a->json.add_to(*app, "The table, and all rows, with machine, commit, date and command,");
  app->footer(std::string("Examples:\n"
                          "  dcgn bench gates\n"
                          "  dcgn bench gates coll --json gates.json\n\n") +
              exit_codes_help);
  app->callback([a, &chosen] { chosen = [a] { return run(*a); }; });
}

}  // namespace dcgn::tool
