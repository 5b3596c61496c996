// dcgn bench coll
#include "bench/sizes.hpp"
#include "core/bench/coll.hpp"
#include "core/bench/coll_peer.hpp"
#include "tool/bench_document.hpp"
#include "tool/bench_options.hpp"
#include "tool/bench_table.hpp"
#include "tool/commands.hpp"
#include "tool/exit_code.hpp"
#include "tool/progress.hpp"
#include "tool/values.hpp"

#include <dcgn/device.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <set>
#include <utility>

namespace dcgn::tool {

namespace {

using bench::Collective, bench::CollRanks, bench::CollWork, bench::Row, bench::Scope;

constexpr const char* by_size = "by-size";
constexpr const char* all_scopes = "thread,warp,block,grid";

struct CollArguments {
  std::string ops = "barrier,broadcast,all_reduce,all_to_all", sizes, begin, end, scopes = by_size, slots = "1";
  std::string peers = "none";
  int factor = 2, cpus = -1, gpus = -1;
  unsigned threads = 0;
  double seconds = 0.2;
  JsonOption json;
};

struct CollPlan {
  std::vector<Collective> ops{};
  std::vector<std::int64_t> sizes{};
  std::vector<CollRanks> ranks{};
  std::vector<Scope> scopes{};  // none: by size
  unsigned threads = 0;
  std::vector<std::string> peers{};
  double seconds = 0;
};

std::vector<std::int64_t> sizes_of(const CollArguments& a) {
  std::vector<std::int64_t> sizes;
  if (!a.begin.empty() || !a.end.empty()) {
    if (!a.sizes.empty()) refuse(fmt::format("--sizes {}: expected either this, or -b and -e", a.sizes));
    const std::string begin_text = a.begin.empty() ? "8" : a.begin;
    const std::int64_t begin = parse_message_bytes("-b", begin_text), end = largest_message(a.end);
    if (begin > end) refuse(fmt::format("-b {}: expected no more than -e {}", begin_text, bench::size_text(end)));
    return bench::size_range(begin, end, a.factor);
  }
  const bool real = Device::count() && Device(0).kind() == DeviceKind::cuda;
  for (const std::string& word : split(!a.sizes.empty() ? a.sizes : real ? "8,8K,64K,512K,4M,64M" : "8,8K,64K", ',')) {
    sizes.push_back(parse_message_bytes("--sizes", word));
    if (sizes.back() % static_cast<std::int64_t>(sizeof(float)))
      refuse(fmt::format("--sizes {}: expected multiples of 4, the bytes of a float", word));
  }
  return sizes;
}

// What is not asked for is chosen: GPUs, all of them, unless CPU ranks are asked for.
std::vector<CollRanks> ranks_of(const CollArguments& a) {
  const int devices = Device::count();
  const int gpus = a.gpus >= 0 ? a.gpus : a.cpus > 0 ? 0 : devices;
  const int cpus = a.cpus >= 0 ? a.cpus : gpus > 0 ? 0 : 2;
  if (gpus > devices)
    refuse(fmt::format("--gpus {}: this machine has {} GPUs; DCGN_EMULATED_GPUS={} gives it emulated ones", gpus,
                       devices, gpus));
  std::vector<CollRanks> all;
  for (const int slots : parse_numbers("--slots", a.slots, 1, 1 << 16)) {
    const CollRanks ranks{.cpus = cpus, .gpus = gpus, .slots = gpus ? slots : 1};
    if (ranks.count() < 1 || ranks.count() > bench::most_collective_ranks)
      refuse(fmt::format("--cpus {} --gpus {} --slots {}: {} ranks: expected 1 to {}", cpus, gpus, slots, ranks.count(),
                         bench::most_collective_ranks));
    if (std::ranges::find(all, ranks) == all.end()) all.push_back(ranks);
  }
  return all;
}

CollPlan plan_of(const CollArguments& a) {
  CollPlan plan{.sizes = sizes_of(a),
                .ranks = ranks_of(a),
                .threads = a.threads,
                .peers = parse_peers(a.peers, bench::coll_peers()),
                .seconds = a.seconds};
  const std::vector<std::string> names = split(a.ops, ',');
  for (const Collective op : bench::all_collectives)
    if (a.ops == "all" || std::ranges::find(names, bench::name_of(op)) != names.end()) plan.ops.push_back(op);
  if (a.scopes != by_size) plan.scopes = parse_scopes(a.scopes == "all" ? all_scopes : a.scopes, a.threads);
  return plan;
}

class CollRunner {
 public:
  CollRunner(const CollPlan& plan, BenchDocument& document) : plan_(plan), document_(document) {}

  void run() {
    for (const CollRanks& ranks : plan_.ranks) {
      const std::vector<Row> peers = ask_peers(ranks);
      for (const Collective op : plan_.ops) table(op, ranks, peers);
    }
  }

 private:
  std::vector<Row> ask_peers(const CollRanks& ranks) {
    std::vector<Row> rows;
    for (const std::string& peer : plan_.peers)
      if (bench::coll_peer_has(peer, ranks, plan_.ops)) {
        Progress bar(peer);
        bar.update(0, 1);
        std::ranges::move(bench::run_coll_peer(peer, {plan_.ops, plan_.sizes, ranks.count(), plan_.seconds}),
                          std::back_inserter(rows));
      }
    return rows;
  }

  std::vector<Scope> scopes_for(const CollRanks& ranks, std::int64_t bytes) const {
    if (!ranks.gpus) return {Scope()};
    if (!plan_.scopes.empty()) return plan_.scopes;
    Scope usual = bench::usual_scope(bytes);
    usual.threads = std::min(plan_.threads, bench::most_threads(usual.kind));
    return {usual};
  }

  // Ours by size and scope, and peers after them at each size.
  void table(Collective op, const CollRanks& ranks, const std::vector<Row>& peers) {
    if (!document_.quiet()) coll_head(op, ranks);
    for (const std::int64_t bytes : bench::sizes_of(op, plan_.sizes, ranks.count())) {
      for (const Scope& scope : scopes_for(ranks, bytes)) {
        const CollWork work{.op = op, .ranks = ranks, .scope = scope, .bytes = bytes, .seconds = plan_.seconds};
        Row row;
        {
          Progress bar(fmt::format("{} {}, {}", bench::name_of(op), bench::size_text(bytes), bench::name_of(scope)));
          bar.update(0, 1);
          row = bench::measure_collective(work);
        }
        add(row);
      }
      for (const Row& peer : peers)
        if (peer.measure == bench::name_of(op) && peer.bytes == bytes) add(peer);
    }
  }

  void add(const Row& row) {
    document_.add(row);
    if (!document_.quiet()) coll_line(row);
  }

  const CollPlan& plan_;
  BenchDocument& document_;
};

int run(CollArguments& a) {
  const CollPlan plan = plan_of(a);
  for (const std::string& peer : plan.peers)
    if (std::ranges::any_of(plan.ranks, [&](const CollRanks& r) { return bench::coll_peer_has(peer, r, plan.ops); }))
      bench::find_peer(peer, bench::collectives_of_peers);
  BenchDocument document("coll", a.json);
  CollRunner(plan, document).run();
  return document.finish();
}

constexpr const char* coll_description =
    "Collectives between ranks, beside other systems\n\n"
    "The ranks are slots, --slots of each of --gpus GPUs, whose running kernels make the calls, --cpus CPU ranks, or "
    "both.\n"
    "Each collective is a table, a line a size and scope, with the columns of nccl-tests:\n"
    "  size    of the largest buffer of a rank; of all parts where there is one for each rank (all_gather, gather,\n"
    "          reduce_scatter, scatter, all_to_all). all_to_all of 512K by 8 ranks is 64K a pair\n"
    "  count   floats that a rank gives, or of a part\n"
    "  time    of one call, p50 and p99 over up to 50 repetitions, all within one launch of a kernel. A repetition "
    "begins\n"
    "          with a barrier and is many calls one after the other with nothing between them: what they took the rank "
    "that\n"
    "          took longest, by its own clock, divided by their number. So a root that sends may run ahead\n"
    "  algbw   GB/s: size / time\n"
    "  busbw   GB/s: algbw x 2(n-1)/n for all_reduce, (n-1)/n where there are parts, 1 elsewhere\n"
    "  wrong   elements of one more call, at all ranks, which are not what they must be: sums of integers, and which "
    "rank's\n"
    "          element where they only move\n"
    "Calls are not in place, but for broadcast; the root is rank 0, operations are sums.";

}  // namespace

void add_bench_coll(CLI::App& parent, Action& chosen) {
  const auto a = std::make_shared<CollArguments>();
  CLI::App* app = parent.add_subcommand("coll", coll_description);
  std::vector<std::string> words = names_of(bench::all_collectives);
  words.emplace_back("all");
  app->add_option("--op", a->ops,
                  "Which: barrier, broadcast, reduce, all_reduce, reduce_scatter, all_gather, gather, scatter,\n"
                  "all_to_all, scan; or all")
      ->check(words_of(words))
      ->type_name("WORDS")
      ->capture_default_str();
  app->add_option(
         "--sizes", a->sizes,
         "Sizes, multiples of 4; K, M and G are powers of 1024 [8,8K,64K,512K,4M,64M; emulated, or no GPU: 8,8K,64K]")
      ->type_name("SIZE,...");
  app->add_option("-b,--begin", a->begin, "Or a range of them, in whole floats: from this [8]")->type_name("SIZE");
  app->add_option("-e,--end", a->end, "to this [1G; emulated 64K]")->type_name("SIZE");
  app->add_option("-f,--factor", a->factor, "from one to the next")
      ->type_name("N")
      ->check(whole_number(2, 1024))
      ->capture_default_str();
  app->add_option("--gpus", a->gpus, "GPUs [all; none where --cpus is given]")
      ->type_name("N")
      ->check(whole_number(0, 1 << 16));
  app->add_option("--slots", a->slots, "Slots of each GPU; several numbers are so many tables")
      ->type_name("N,...")
      ->capture_default_str();
  app->add_option("--cpus", a->cpus, "CPU ranks, which come first [none; 2 where there is no GPU]")
      ->type_name("N")
      ->check(whole_number(0, 1 << 12));
  app->add_option("--scope", a->scopes,
                  "Who makes a slot's calls: thread, warp, block, blocks:N, or grid, a block for each multiprocessor,\n"
                  "shared by its GPU's slots; all: thread,warp,block,grid; by-size: warp to 8 B, grid from 256K on,\n"
                  "block between")
      ->check(scopes_of_slots({by_size, "all"}))
      ->type_name("WORDS")
      ->capture_default_str();
  app->add_option(
         "--threads", a->threads,
         "Threads of a block, where all of them take part; 32 elsewhere [512; 1024 of several blocks; emulated 128]")
      ->type_name("N")
      ->check(whole_number(1, 1024));
  app->add_option("--time", a->seconds, "Seconds that a row should take; never fewer calls than a median needs")
      ->type_name("S")
      ->check(positive_number())
      ->capture_default_str();
  std::vector<std::string> peers = bench::coll_peers();
  peers.emplace_back("none");
  app->add_option("--peers", a->peers,
                  "The same by others, beside ours: nccl, in CUDA graphs, plain and with symmetric windows, and its\n"
                  "device API in a kernel; custom, the all_reduce of inference servers, in CUDA graphs; torch,\n"
                  "PyTorch's symmetric memory, in CUDA graphs; nvshmem, called in a kernel by one block; mpi, from\n"
                  "host memory. A rank of theirs is a GPU, a process for mpi: beside one slot a GPU, mpi beside CPU\n"
                  "ranks alone, too")
      ->check(words_of(peers))
      ->type_name("WORDS")
      ->capture_default_str();
  a->json.add_to(*app, "All rows, with machine, commit, date and command,");
  app->footer(std::string("Examples:\n"
                          "  dcgn bench coll\n"
                          "  dcgn bench coll --cpus 4 --peers mpi\n"
                          "  dcgn bench coll --op barrier --slots 1,132\n"
                          "  dcgn bench coll --op all_reduce -e 1G -f 8 --scope block,grid --peers nccl,custom,torch\n"
                          "  dcgn bench coll --op all --peers nccl,nvshmem,mpi --json coll.json\n"
                          "With --json alone, stdout has the document and nothing else.\n\n") +
              exit_codes_help);
  app->callback([a, &chosen] { chosen = [a] { return run(*a); }; });
}

}  // namespace dcgn::tool
