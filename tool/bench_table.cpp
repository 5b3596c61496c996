#include "tool/bench_table.hpp"

#include "bench/json.hpp"
#include "bench/sizes.hpp"
#include "tool/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <string_view>

namespace dcgn::tool {

namespace {

using bench::Row;

std::string what(const Row& row) {
  if (row.measure == "bandwidth") return fmt::format("windows of at most {} messages one way", row.window);
  if (row.measure == "bidirectional")
    return fmt::format("windows of at most {} messages both ways at once, GB/s of each way", row.window);
  return "half a round trip";
}

// "block scope, 1 block of 1024 threads"; nothing without slots.
std::string who(const Row& row) {
  if (!row.blocks) return {};
  return fmt::format(", {} scope, {} block{} of {} threads", row.scope, row.blocks, row.blocks == 1 ? "" : "s",
                     row.threads);
}

std::size_t limit_width(const Row& limit) { return std::max<std::size_t>(name_of_limit(limit).size(), 9); }

void print_flag(const Row* flag) {
  if (flag) fmt::print("# {}, {}, half a round trip: {:.3f} us\n", flag->whose, flag->path, flag->p50_us);
}

}  // namespace

std::string title_of(const Row& row) {
  std::string title = fmt::format("{} {}", row.measure, bytes_text(static_cast<double>(row.bytes)));
  if (row.scope != "-") title += ", " + row.scope;
  if (row.senders) title += fmt::format(", {} senders", row.senders);
  return title;
}

bool has_bandwidth(const Row& row) { return row.measure == "bandwidth" || row.measure == "bidirectional"; }

const char* unit_of(const Row& row) { return has_bandwidth(row) ? "GB/s" : row.unit.c_str(); }

double value_of(const Row& row) { return has_bandwidth(row) ? row.gb_per_s : bench::in_unit(row, row.p50_us); }

std::string figure_of(const Row& row) {
  const double value = value_of(row);
  return fmt::format("{:.{}f} {}", value, value < 10 ? 3 : 1, unit_of(row));
}

std::string name_of_limit(const Row& limit) { return limit.whose.substr(std::string_view("limit: ").size()); }

void PairTable::head(const Row& ours, const std::vector<Row>& limits, const Row* flag, const Row* peer) {
  with_peer_ = peer != nullptr;
  if (quiet_) return;
  fmt::print("\n# {}, {}: {}{}\n", ours.measure, ours.path, what(ours), who(ours));
  print_flag(flag);
  fmt::print("#{:>7}  {:>46}", "", ours.whose);
  for (const Row& limit : limits) fmt::print("  {:>{}}", name_of_limit(limit), limit_width(limit));
  if (!limits.empty() && with_peer_) fmt::print(" {:>5}", "");
  if (with_peer_) fmt::print("  {:>36}", peer->whose + (peer->scope == "-" ? "" : ", " + peer->scope));
  fmt::print("\n#{:>7}  {:>9} {:>9} {:>9} {:>9} {:>6}", "bytes", "rounds", "p50 us", "p99 us", "GB/s", "wrong");
  for (const Row& limit : limits) fmt::print("  {:>{}}", "GB/s", limit_width(limit));
  if (!limits.empty()) fmt::print(" {:>5}", "ours");
  if (with_peer_) fmt::print("  {:>9} {:>9} {:>9} {:>6}", "p50 us", "p99 us", "GB/s", "wrong");
  fmt::print("\n");
}

void PairTable::line(const Row& ours, const std::vector<Row>& limits, const Row* peer) const {
  if (quiet_) return;
  fmt::print("{:>8}  {:>9} {:>9.3f} {:>9.3f} {:>9.3f} {:>6}", bench::size_text(ours.bytes), ours.rounds, ours.p50_us,
             ours.p99_us, ours.gb_per_s, ours.wrong);
  for (const Row& limit : limits) fmt::print("  {:>{}.3f}", limit.gb_per_s, limit_width(limit));
  if (!limits.empty()) fmt::print(" {:>4.0f}%", 100 * ours.gb_per_s / limits.front().gb_per_s);
  if (with_peer_ && peer)
    fmt::print("  {:>9.3f} {:>9.3f} {:>9.3f} {:>6}", peer->p50_us, peer->p99_us, peer->gb_per_s, peer->wrong);
  fmt::print("\n");
  std::fflush(stdout);
}

void rate_head(const Row& row) {
  fmt::print("\n# rate, {}: {} streams of {} B, {}\n", row.path, row.slots, row.bytes, row.whose);
  fmt::print("#{:>7}  {:>9} {:>12} {:>9} {:>9} {:>9} {:>6}\n", "scope", "threads", "messages", "M/s", "slow M/s",
             "GB/s", "wrong");
}

void rate_line(const Row& row) {
  fmt::print("{:>8}  {:>9} {:>12} {:>9.3f} {:>9.3f} {:>9.3f} {:>6}\n", row.scope, row.threads, row.rounds,
             1 / row.p50_us, 1 / row.p99_us, row.gb_per_s, row.wrong);
  std::fflush(stdout);
}

void any_source_head(const Row& row, const Row* flag) {
  fmt::print("\n# any-source, {}: half a round trip{}, {}\n", row.path, who(row), row.whose);
  print_flag(flag);
  fmt::print("#{:>7}  {:>9} {:>9} {:>9} {:>6}\n", "senders", "rounds", "p50 us", "p99 us", "wrong");
}

void any_source_line(const Row& row) {
  fmt::print("{:>8}  {:>9} {:>9.3f} {:>9.3f} {:>6}\n", row.senders, row.rounds, row.p50_us, row.p99_us, row.wrong);
  std::fflush(stdout);
}

void coll_head(bench::Collective op, const bench::CollRanks& ranks) {
  fmt::print("\n# {}, {}: {} rank{}, medians of calls one after the other\n", bench::name_of(op), bench::name_of(ranks),
             ranks.count(), ranks.count() == 1 ? "" : "s");
  fmt::print("#{:>7} {:>10} {:<5} {:<5} {:>4}  {:<30} {:<13} {:>9} {:>9} {:>8} {:>8} {:>6}\n", "size", "count", "type",
             "redop", "root", "by", "scope", "p50 us", "p99 us", "algbw", "busbw", "wrong");
  std::fflush(stdout);
}

void coll_line(const Row& row) {
  const bench::Collective op = bench::parse_collective(row.measure).value();
  const bool data = op != bench::Collective::barrier;
  const auto of_data = [&](double gb_per_s) { return data ? fmt::format("{:.3f}", gb_per_s) : "-"; };
  const std::string scope = row.threads > 32 ? fmt::format("{} {}", row.scope, row.threads) : row.scope;
  fmt::print("{:>8} {:>10} {:<5} {:<5} {:>4}  {:<30} {:<13} {:>9.3f} {:>9.3f} {:>8} {:>8} {:>6}\n",
             bench::size_text(row.bytes), bench::count_of(op, row.bytes, row.ranks), data ? "float" : "-",
             bench::has_operation(op) ? "sum" : "-", bench::has_root(op) ? "0" : "-", row.whose, scope, row.p50_us,
             row.p99_us, of_data(row.gb_per_s), of_data(bench::bus_gb_per_s(row)), row.wrong);
  std::fflush(stdout);
}

void ablation_head(bench::Path path, int repetitions) {
  fmt::print("\n# ablation, {}: medians of {} repetitions; factor: time without the idea by time with it\n",
             bench::name_of(path), repetitions);
  fmt::print("#{:<12} {:<32} {:>14} {:>14} {:>7} {:>15} {:>6}\n", " idea", "row", "with", "without", "factor", "range",
             "wrong");
}

void ablation_line(const bench::Effect& effect) {
  const auto& [with, without, factor, least, most] = effect;
  fmt::print(" {:<12} {:<32} {:>14} {:>14} {:>7.3f} {:>15} {:>6}\n", without.without, title_of(with), figure_of(with),
             figure_of(without), factor, fmt::format("{:.3f}-{:.3f}", least, most), with.wrong + without.wrong);
  std::fflush(stdout);
}

void gates_head() {
  fmt::print("\n#{:<52} {:<16} {:<22} {:<26} {:<42} {}\n", " what", "reach", "measured", "limit", "peers", "met");
}

void gates_line(const GateLine& line) {
  fmt::print(" {:<52} {:<16} {:<22} {:<26} {:<42} {}{}\n", line.what, line.reach, line.measured, line.limit, line.peers,
             line.met ? "yes" : "no", line.wrong ? fmt::format(", {} wrong", line.wrong) : "");
  std::fflush(stdout);
}

void print_soak(const Row& row, const bench::Soak& s) {
  fmt::print("\n# soak, {}: {} streams of {} B{}, {}\n", row.path, row.slots, row.bytes, who(row), row.whose);
  fmt::print("#{:>13} {:>10} {:>10} {:>10} {:>10} {:>10} {:>9}\n", "messages", "lost", "duplicates", "reordered",
             "damaged", "seconds", "M/s");
  fmt::print("{:>14} {:>10} {:>10} {:>10} {:>10} {:>10.3f} {:>9.3f}\n", s.messages, s.lost, s.duplicates, s.reordered,
             s.damaged, s.seconds, 1 / row.p50_us);
  std::fflush(stdout);
}

}  // namespace dcgn::tool
