// A line of a measurement: the same for ours, a peer's and the limit.
#pragma once

#include "bench/collective.hpp"
#include "bench/ping_kernel.hpp"
#include "bench/statistics.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dcgn::bench {

struct Row {
  std::string whose{};  // "dcgn 0.1.0", "Open MPI 4.1.4", "limit: memcpy"
  std::string measure = "latency";
  std::string path{};   // "cpu-cpu", "cpu-slot", "slot-slot"
  std::string scope{};  // of the slots' calls: "thread", "warp", "block", "blocks:8", "grid"; else "-"
  std::int64_t bytes = 0;
  std::uint64_t rounds = 0;
  double p50_us = 0, p99_us = 0;     // for a message, over blocks of rounds, half a round trip; for a limit, one copy
  std::string unit = "us";           // of the document; "M/s": messages, 1 / us
  double gb_per_s = 0;               // 1e9 bytes, at the median
  std::uint64_t wrong = 0;           // bytes; messages of a rate
  unsigned blocks = 0, threads = 0;  // of a slot, and of each block; 0: no slots
  int window = 0;                    // messages under way, in windows
  int slots = 0, senders = 0;        // of each GPU, in a rate or a collective; of any-source
  int ranks = 0;                     // of a collective
  std::string without{};             // what ours did without
};

// Of a collective: the size by the median, times what the busiest link carries for each byte of it.
inline double bus_gb_per_s(const Row& row) {
  const std::optional<Collective> op = parse_collective(row.measure);
  return op ? row.gb_per_s * bus_factor(*op, row.ranks) : 0;
}

// Fills in what blocks of `rounds` say: `us` has what a message, or a copy, took in each of them.
inline void set_figures(Row& row, const std::vector<double>& us, std::uint64_t rounds) {
  row.rounds = us.size() * rounds;
  row.p50_us = percentile(us, 50);
  row.p99_us = percentile(us, 99);
  row.gb_per_s = row.p50_us > 0 ? static_cast<double>(row.bytes) * 1e-3 / row.p50_us : 0;
}

// The same for samples of rounds of so many messages, one after the other.
inline void set_figures_of_rounds(Row& row, const Samples& s, int messages) {
  std::vector<double> us;
  for (std::uint64_t k = 0; k < s.blocks; ++k)
    us.push_back(static_cast<double>(s.ns[k]) * 1e-3 / messages / static_cast<double>(s.rounds));
  set_figures(row, us, s.rounds);
  row.wrong = s.wrong;
}

// The same for messages to and fro.
inline void set_figures(Row& row, const Samples& s) { set_figures_of_rounds(row, s, 2); }

}  // namespace dcgn::bench
