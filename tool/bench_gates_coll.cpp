// dcgn bench gates coll
#include "tool/bench_gates.hpp"

#include "core/bench/coll_peer.hpp"
#include "tool/bench_options.hpp"
#include "tool/bench_table.hpp"
#include "tool/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

namespace dcgn::tool {

namespace {

using bench::Collective, bench::CollRanks, bench::Row, bench::Scope, bench::ScopeKind;

// What is to be reached on 8 x H200: at most so many microseconds, or as much bus bandwidth as NCCL in the same run.
struct CollGate {
  Collective op;
  std::int64_t bytes;  // for each rank, of all_to_all that are given in µs
  double reach_us;     // 0: NCCL
  bool many = false;   // a slot a multiprocessor, not one a GPU
};

const CollGate coll_gates[] = {
    {Collective::barrier, 0, 1.0},         {Collective::barrier, 0, 4.0, true},  {Collective::all_reduce, 8, 1.3},
    {Collective::all_reduce, 8 * kb, 2.5}, {Collective::all_reduce, 64 * kb, 5}, {Collective::all_reduce, 512 * kb, 10},
    {Collective::all_reduce, 4 * mb, 30},  {Collective::all_reduce, 64 * mb, 0}, {Collective::all_reduce, 256 * mb, 0},
    {Collective::broadcast, 64 * kb, 5},   {Collective::all_to_all, 64 * kb, 8}, {Collective::all_to_all, 256 * mb, 0},
};

// A pair's part is as large as the gate says where a time is to be reached.
std::int64_t size_of(const CollGate& gate, int ranks) {
  const bool of_pair = gate.op == Collective::all_to_all && gate.reach_us > 0;
  return bench::sizes_of(gate.op, {of_pair ? gate.bytes * ranks : gate.bytes}, ranks).front();
}

// Those that a user would try; the best counts.
std::vector<Scope> scopes_for(std::int64_t bytes) {
  constexpr Scope warp{.kind = ScopeKind::warp}, block{.kind = ScopeKind::block},
      block_256{.kind = ScopeKind::block, .threads = 256},
      blocks_16{.kind = ScopeKind::blocks, .blocks = 16, .threads = 512}, grid{.kind = ScopeKind::blocks, .blocks = 0},
      grid_256{.kind = ScopeKind::blocks, .blocks = 0, .threads = 256},
      grid_512{.kind = ScopeKind::blocks, .blocks = 0, .threads = 512};
  if (Device(0).kind() == DeviceKind::emulated) return {warp};  // where blocks take long
  if (bytes <= 8) return {warp, block};
  if (bytes < 64 * kb) return {block, block_256};
  if (bytes < 4 * mb) return {block, blocks_16, grid_256, grid_512};
  return {blocks_16, grid, grid_256, grid_512};
}

class GatesCollRunner {
 public:
  GatesCollRunner(const GatesPlan& plan, BenchDocument& document)
      : seconds_(plan.seconds), largest_(plan.largest), gpus_(Device::count()), document_(document) {}

  nlohmann::ordered_json run() {
    ask_peers();
    if (!document_.quiet()) gates_head();
    for (const CollGate& gate : coll_gates)
      attempt(fmt::format("{} of {} B", bench::name_of(gate.op), gate.bytes), failed_, [&] { measure(gate); });
    for (const Row& row : peers_) document_.add(row);
    return lines_;
  }

  bool failed() const { return failed_; }

 private:
  void ask_peers() {
    if (gpus_ < 2 || Device(0).kind() != DeviceKind::cuda) return;
    std::set<Collective> ops;
    for (const CollGate& gate : coll_gates) ops.insert(gate.op);
    for (const std::string& peer : bench::coll_peers()) {
      if (peer == "mpi" || !bench::has_peer(peer, bench::collectives_of_peers)) continue;
      for (const Collective op : ops) {
        std::vector<std::int64_t> sizes;
        for (const CollGate& gate : coll_gates)
          if (gate.op == op && size_of(gate, gpus_) <= largest_) sizes.push_back(size_of(gate, gpus_));
        if (sizes.empty() || !bench::coll_peer_has(peer, {.gpus = gpus_}, {op})) continue;
        attempt(peer, failed_, [&] {
          std::ranges::move(bench::run_coll_peer(peer, {{op}, sizes, gpus_, seconds_ / 2}), std::back_inserter(peers_));
        });
      }
    }
  }

  // Of each peer the fastest of its forms.
  std::map<std::string, Row> peers_of(const Row& ours) const {
    std::map<std::string, Row> fastest;
    for (const Row& row : peers_) {
      if (row.measure != ours.measure || row.bytes != ours.bytes || row.ranks != ours.ranks) continue;
      const auto [known, is_new] = fastest.try_emplace(row.whose.substr(0, row.whose.find(' ')), row);
      if (!is_new && row.p50_us < known->second.p50_us) known->second = row;
    }
    return fastest;
  }

  void measure(const CollGate& gate) {
    const CollRanks ranks{.gpus = gpus_, .slots = gate.many ? Device(0).properties().multiprocessors : 1};
    const std::int64_t bytes = size_of(gate, ranks.count());
    if (bytes > largest_) return;
    std::uint64_t wrong = 0;
    Row best;
    for (const Scope& scope : scopes_for(bytes)) {
      const Row row = bench::measure_collective(
          {.op = gate.op, .ranks = ranks, .scope = scope, .bytes = bytes, .seconds = seconds_});
      document_.add(row);
      wrong += row.wrong;
      if (best.ranks == 0 || row.p50_us < best.p50_us) best = row;
    }
    const bool by_time = gate.reach_us > 0;
    const auto figure = [&](const Row& row) {
      return by_time ? fmt::format("{:.3f} us", row.p50_us) : fmt::format("{:.1f} GB/s bus", bench::bus_gb_per_s(row));
    };
    const std::map<std::string, Row> peers = peers_of(best);
    std::vector<std::string> texts;
    texts.reserve(peers.size());
    for (const auto& [name, row] : peers) texts.push_back(fmt::format("{} {}", name, figure(row)));
    const auto nccl = peers.find("NCCL");
    const GateLine line{
        .what = fmt::format("{}{}, {}, {}", best.measure, bytes ? " " + bytes_text(static_cast<double>(bytes)) : "",
                            best.scope, best.path),
        .reach = by_time ? fmt::format("<= {:g} us", gate.reach_us) : ">= NCCL",
        .measured = figure(best),
        .limit = "-",
        .peers = fmt::format("{}", fmt::join(texts, ", ")),
        .wrong = wrong,
        .met = by_time ? best.p50_us <= gate.reach_us : nccl != peers.end() && best.p50_us <= nccl->second.p50_us};
    lines_.push_back(to_json(line));
    if (!document_.quiet()) gates_line(line);
  }

  double seconds_;
  std::int64_t largest_;
  int gpus_;
  BenchDocument& document_;
  std::vector<Row> peers_;
  nlohmann::ordered_json lines_ = nlohmann::ordered_json::array();
  bool failed_ = false;
};

}  // namespace

bool measure_collective_gates(const GatesPlan& plan, BenchDocument& document) {
  GatesCollRunner runner(plan, document);
  document["gates"] = runner.run();
  return !runner.failed();
}

}  // namespace dcgn::tool
