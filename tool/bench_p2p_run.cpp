#include "tool/bench_p2p_run.hpp"

#include "bench/peer.hpp"
#include "tool/bench_document.hpp"
#include "tool/bench_table.hpp"
#include "tool/progress.hpp"

#include <dcgn/device.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>

namespace dcgn::tool {

namespace {

using bench::Measure, bench::Path, bench::Row, bench::Scope, bench::ScopeKind, bench::Workload, bench::Soak;

std::vector<std::string> measures_of_pairs(const P2pPlan& plan) {
  std::vector<std::string> measures = plan.measures;
  std::erase_if(measures, [](const std::string& measure) { return !bench::parse_measure(measure); });
  return measures;
}

// Those with a path and a measure in common with what is asked for.
std::vector<std::string> peers_for(const P2pPlan& plan) {
  std::vector<std::string> peers = plan.peers;
  if (measures_of_pairs(plan).empty()) peers.clear();
  std::erase_if(peers, [&](const std::string& peer) {
    return std::ranges::find(plan.paths, bench::path_of_peer(peer),
                             [](Path p) -> std::string { return bench::name_of(p); }) == plan.paths.end();
  });
  return peers;
}

// Says on stderr which peers have nothing beside what is asked for.
void name_idle_peers(const P2pPlan& plan) {
  const std::vector<std::string> busy = peers_for(plan);
  for (const std::string& peer : plan.peers)
    if (std::ranges::find(busy, peer) == busy.end())
      fmt::print(stderr,
                 "dcgn: bench: --peers {}: no rows, expected latency, bandwidth or bidirectional among --measure and "
                 "{} among --pairs\n",
                 peer, bench::path_of_peer(peer));
}

bool is_emulated(const P2pPlan& plan) {
  return Device::count() && Device(0).kind() == DeviceKind::emulated &&
         std::ranges::any_of(plan.paths, [](Path p) { return bench::gpus_of(p) > 0; });
}

class P2pRunner {
 public:
  P2pRunner(const P2pPlan& plan, BenchDocument& document) : plan_(plan), document_(document) {}

  void run() {
    ask_peers();
    if (is_emulated(plan_) && !document_.quiet())
      fmt::print("# emulated GPUs are threads of this host: limits, and our shares of them, say little\n");
    for (const std::string& measure : plan_.measures) {
      if (const std::optional<Measure> of_pairs = bench::parse_measure(measure)) {
        for (const Path path : plan_.paths) pair(*of_pairs, path);
      } else if (measure == "any-source") {
        any_source();
      } else {
        for (const Path path : plan_.paths)
          if (bench::is_of_slots(path)) measure == "rate" ? rate(path) : soak(path);
      }
    }
    for (const Row& row : peers_) add(row);
  }

 private:
  nlohmann::ordered_json& add(const Row& row) { return document_.add(row); }

  Workload work(Path path, const Scope& scope, std::int64_t bytes) const {
    return {.path = path,
            .scope = scope,
            .bytes = bytes,
            .seconds = plan_.seconds,
            .window = plan_.window,
            .slots = plan_.slots,
            .split = plan_.split};
  }

  void ask_peers() {
    for (const std::string& peer : peers_for(plan_))
      std::ranges::move(bench::run_peer(peer, {measures_of_pairs(plan_), plan_.sizes, plan_.window, plan_.seconds}),
                        std::back_inserter(peers_));
  }

  // The peer's row beside ours. Where several blocks carry our message, that of one block.
  const Row* peer_of(Measure measure, const Workload& ours) const {
    const std::string scope = ours.scope.kind == ScopeKind::blocks ? "block" : bench::name_of(ours.scope);
    const auto found = std::ranges::find_if(peers_, [&](const Row& row) {
      return row.measure == bench::name_of(measure) && row.path == bench::name_of(ours.path) &&
             row.bytes == ours.bytes && (row.scope == "-" || row.scope == scope);
    });
    return found == peers_.end() ? nullptr : &*found;
  }
  // One of those that stand beside ours in a table.
  const Row* peer_of_any(Measure measure, Path path, const Scope& scope) const {
    for (const std::int64_t bytes : plan_.sizes)
      if (const Row* peer = peer_of(measure, work(path, scope, bytes))) return peer;
    return nullptr;
  }

  // The limits at each size.
  using Limits = std::vector<std::vector<Row>>;
  template <class Limit>
  Limits limits_of(Limit limit, Measure measure, Path path, const Scope& scope) {
    Limits limits;
    for (const std::int64_t bytes : plan_.sizes) {
      Workload quick = work(path, scope, bytes);
      quick.seconds /= 4;
      for (const Row& row : limits.emplace_back(limit(quick, measure))) add(row);
    }
    return limits;
  }

  // Measured once on a path.
  const std::optional<Row>& flag_of(Path path) {
    const auto [known, is_new] = flags_.try_emplace(path);
    if (is_new) {
      Workload quick = work(path, {}, 8);
      quick.seconds /= 4;
      known->second = bench::limit_of_flag(quick);
      if (known->second) add(*known->second);
    }
    return known->second;
  }

  void pair(Measure measure, Path path) {
    const std::optional<Row> flag = measure == Measure::latency ? flag_of(path) : std::nullopt;
    const bool has_slots = path == Path::cpu_slot || bench::is_of_slots(path);
    const std::vector<Scope> scopes = has_slots ? plan_.scopes : std::vector{Scope()};
    const Limits copies = limits_of(bench::limits_of_copies, measure, path, {});
    for (const Scope& scope : scopes) {
      Limits limits = limits_of(bench::limits_of_kernels, measure, path, scope);
      for (std::size_t i = 0; i < limits.size(); ++i)
        limits[i].insert(limits[i].end(), copies[i].begin(), copies[i].end());
      PairTable table(document_.quiet());
      for (std::size_t i = 0; i < plan_.sizes.size(); ++i) {
        const Workload s = work(path, scope, plan_.sizes[i]);
        const Row ours = measure == Measure::latency ? bench::measure_latency(s) : bench::measure_windows(s, measure);
        if (i == 0) table.head(ours, limits[i], flag ? &*flag : nullptr, peer_of_any(measure, path, scope));
        table.line(ours, limits[i], peer_of(measure, s));
        add(ours);
      }
    }
  }

  void rate(Path path) {
    bool first = true;
    for (const Scope& scope : plan_.stream_scopes) {
      const Row row = bench::measure_rate(work(path, scope, plan_.sizes.front()));
      add(row);
      if (document_.quiet()) continue;
      if (first) rate_head(row);
      rate_line(row);
      first = false;
    }
  }

  void any_source() {
    const std::optional<Row>& flag = flag_of(bench::path_here(Path::slot_slot));
    for (const Scope& scope : plan_.stream_scopes) {
      bool first = true;
      for (const int senders : plan_.senders) {
        Workload s = work(bench::path_here(Path::slot_slot), scope, 8);
        s.senders = senders;
        const Row row = bench::measure_any_source(s);
        add(row);
        if (document_.quiet()) continue;
        if (first) any_source_head(row, flag ? &*flag : nullptr);
        any_source_line(row);
        first = false;
      }
    }
  }

  void soak(Path path) {
    for (const Scope& scope : plan_.stream_scopes) {
      const Workload s = work(path, scope, plan_.sizes.front());
      Soak result;
      {
        Progress bar("soak");
        constexpr int steps = 1000;
        result = bench::soak(s, plan_.messages, [&](std::uint64_t received) {
          bar.update(static_cast<int>(std::min(received, plan_.messages) * steps / plan_.messages), steps);
        });
      }
      const Row row = bench::row_of(s, result);
      add(row).update({{"messages", result.messages},
                       {"lost", result.lost},
                       {"duplicates", result.duplicates},
                       {"reordered", result.reordered},
                       {"damaged", result.damaged},
                       {"seconds", result.seconds}});
      if (!document_.quiet()) print_soak(row, result);
    }
  }

  const P2pPlan& plan_;
  BenchDocument& document_;
  std::vector<Row> peers_;
  std::map<Path, std::optional<Row>> flags_;
};

}  // namespace

int run_p2p(const P2pPlan& plan, JsonOption& json) {
  for (const std::string& peer : peers_for(plan)) bench::find_peer(peer);
  BenchDocument document("p2p", json);
  name_idle_peers(plan);
  P2pRunner(plan, document).run();
  return document.finish();
}

}  // namespace dcgn::tool
