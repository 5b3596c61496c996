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
#include <optional>
#include <set>

namespace dcgn::tool {

namespace {

using bench::Collective, bench::CollRanks, bench::Row, bench::Scope, bench::ScopeKind;

// What a gate is held to: a time, or a peer in the same run.
enum class Against { time, nccl, best_peer };

// What is to be reached on 2 and 4 GPUs, H100 or H200.
struct CollGate {
  Collective op;
  std::int64_t bytes;  // for each rank, of all_to_all that are held to a time
  // time: at most so many microseconds; nccl: at least so many times its bus bandwidth; best_peer: less than its time.
  Against against = Against::best_peer;
  double reach = 1;
  bool many = false;  // a slot a multiprocessor, not one a GPU
};

const CollGate coll_gates[] = {
    {Collective::barrier, 0, Against::time, 1.1},
    {Collective::barrier, 0, Against::time, 3.0, true},
    {Collective::all_reduce, 8, Against::time, 1.3},
    {Collective::all_reduce, 8 * kb, Against::time, 2.4},
    {Collective::all_reduce, 64 * kb, Against::time, 4.5},
    {Collective::all_reduce, 512 * kb, Against::time, 8.5},
    {Collective::all_reduce, 4 * mb, Against::time, 26},
    {Collective::all_reduce, 64 * mb, Against::nccl, 1.03},
    {Collective::all_reduce, 256 * mb, Against::nccl, 1.03},
    {Collective::broadcast, 64 * kb, Against::time, 3.8},
    {Collective::all_to_all, 64 * kb, Against::time, 5.5},
    {Collective::all_to_all, 256 * mb, Against::nccl, 1.03},
    {Collective::all_gather, 8},
    {Collective::all_gather, 8 * kb},
    {Collective::all_gather, 64 * kb},
    {Collective::all_gather, 1 * mb},
    {Collective::reduce_scatter, 8},
    {Collective::reduce_scatter, 8 * kb},
    {Collective::reduce_scatter, 64 * kb},
    {Collective::reduce_scatter, 1 * mb},
    {Collective::scan, 8},
    {Collective::scan, 8 * kb},
    {Collective::scan, 64 * kb},
    {Collective::scan, 1 * mb},
};

// A pair's part is as large as the gate says where a time is to be reached.
std::int64_t size_of(const CollGate& gate, int ranks) {
  const bool of_pair = gate.op == Collective::all_to_all && gate.against == Against::time;
  return bench::sizes_of(gate.op, {of_pair ? gate.bytes * ranks : gate.bytes}, ranks).front();
}

std::string reach_of(const CollGate& gate) {
  switch (gate.against) {
    case Against::time: return fmt::format("<= {:g} us", gate.reach);
    case Against::nccl: return fmt::format(">= {:g} x NCCL", gate.reach);
    case Against::best_peer: break;
  }
  return "< best peer";
}

// Those that a user would try; the best counts.
std::vector<Scope> scopes_for(std::int64_t bytes) {
  constexpr Scope warp{.kind = ScopeKind::warp}, block{.kind = ScopeKind::block},
      block_256{.kind = ScopeKind::block, .threads = 256}, grid{.kind = ScopeKind::blocks, .blocks = 0},
      grid_128{.kind = ScopeKind::blocks, .blocks = 0, .threads = 128},
      grid_256{.kind = ScopeKind::blocks, .blocks = 0, .threads = 256},
      grid_512{.kind = ScopeKind::blocks, .blocks = 0, .threads = 512};
  if (Device(0).kind() == DeviceKind::emulated) return {warp};  // where blocks take long
  if (bytes <= 8) return {warp, block};
  if (bytes < 64 * kb) return {block, block_256};
  if (bytes < 4 * mb) return {block, block_256, grid_128, grid_256};
  return {grid, grid_128, grid_256, grid_512};
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

  // Nothing where there is no peer to compare with.
  static std::optional<bool> is_met(const CollGate& gate, const Row& ours, const std::map<std::string, Row>& peers) {
    switch (gate.against) {
      case Against::time: return ours.p50_us <= gate.reach;
      case Against::nccl: {
        const auto nccl = peers.find("NCCL");
        if (nccl == peers.end()) return std::nullopt;
        return bench::bus_gb_per_s(ours) >= gate.reach * bench::bus_gb_per_s(nccl->second);
      }
      case Against::best_peer: break;
    }
    if (peers.empty()) return std::nullopt;
    return std::ranges::all_of(peers, [&](const auto& peer) { return ours.p50_us < peer.second.p50_us; });
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
    const auto figure = [&](const Row& row) {
      return gate.against == Against::nccl ? fmt::format("{:.1f} GB/s bus", bench::bus_gb_per_s(row))
                                           : fmt::format("{:.3f} us", row.p50_us);
    };
    const std::map<std::string, Row> peers = peers_of(best);
    std::vector<std::string> texts;
    texts.reserve(peers.size());
    for (const auto& [name, row] : peers) texts.push_back(fmt::format("{} {}", name, figure(row)));
    const std::optional<bool> met = is_met(gate, best, peers);
    const GateLine line{
        .what = fmt::format("{}{}, {}, {}", best.measure, bytes ? " " + bytes_text(static_cast<double>(bytes)) : "",
                            best.scope, best.path),
        .reach = reach_of(gate),
        .measured = figure(best),
        .limit = "-",
        .peers = fmt::format("{}", fmt::join(texts, ", ")),
        .wrong = wrong,
        .met = met.value_or(false)};
    lines_.push_back(to_json(line));
    if (!met) lines_.back()["met"] = nullptr;
    if (document_.quiet()) return;
    if (met)
      gates_line(line);
    else
      fmt::print("# {}: {}; {}: neither met nor missed, since no such peer was measured\n", line.what, line.measured,
                 line.reach);
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
