// A line of a measurement: the same for ours, a peer's and the limit.
#pragma once

#include "bench/ping_kernel.hpp"
#include "bench/statistics.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace dcgn::bench {

struct Row {
  std::string whose{};  // "dcgn 0.1.0", "Open MPI 4.1.4", "limit: memcpy"
  std::string path{};   // "cpu-cpu", "cpu-slot", "slot-slot"
  std::string scope{};  // of the slots' calls: "thread", "warp", "block"; else "-"
  std::int64_t bytes = 0;
  std::uint64_t rounds = 0;
  double p50_us = 0, p99_us = 0;  // half a round trip, over blocks of rounds; for a limit, one copy
  double gb_per_s = 0;            // 1e9 bytes, at the median
  std::uint64_t wrong = 0;        // bytes
};

// Fills in what blocks of `rounds` say: `us` has what a message, or a copy, took in each of them.
inline void set_figures(Row& row, const std::vector<double>& us, std::uint64_t rounds) {
  row.rounds = us.size() * rounds;
  row.p50_us = percentile(us, 50);
  row.p99_us = percentile(us, 99);
  row.gb_per_s = row.p50_us > 0 ? static_cast<double>(row.bytes) * 1e-3 / row.p50_us : 0;
}

// The same for the samples of messages to and fro.
inline void set_figures(Row& row, const Samples& s) {
  std::vector<double> us;
  for (std::uint64_t k = 0; k < s.blocks; ++k)
    us.push_back(static_cast<double>(s.ns[k]) * 1e-3 / 2 / static_cast<double>(s.rounds));
  set_figures(row, us, s.rounds);
  row.wrong = s.wrong;
}

}  // namespace dcgn::bench
