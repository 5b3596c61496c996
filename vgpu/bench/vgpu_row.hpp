// A line of `dcgn bench vgpu`.
#pragma once

#include "bench/statistics.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace dcgn::bench {

struct VgpuRow {
  std::string whose{};     // "dcgn 0.1.0", "limit: copies"
  std::string measure{};   // "remote", "scaling", "schedule", "placement", "launch"
  std::string workload{};  // as workload_kinds() has it; "empty kernel"
  std::string
      placement{};  // "chunked", "no copies", "interleaved", "on part 0", "inputs replicated", "sampled"; "0 % remote"
  std::string schedule{};  // "fixed", "stealing", "part 0"
  int parts = 1, devices = 1;
  double bytes = 0;  // that a run moves at least; 0: computing takes longer
  std::uint64_t rounds = 0;
  double p50_us = 0, p99_us = 0;  // a run, from the first launch to the end of the last
  double speedup = 0;             // over one GPU with the kernels as they are; 0: not asked
  double limit = 0;               // of the speed-up, or in us where there is none
  std::string limited_by{};
  std::size_t copied_bytes = 0;  // over links by copies that were made by themselves, in all rounds
  std::uint64_t wrong = 0;       // words of 4 bytes that differ from what one GPU computed
};

inline void set_figures(VgpuRow& row, const std::vector<double>& us) {
  row.rounds = us.size();
  row.p50_us = percentile(us, 50);
  row.p99_us = percentile(us, 99);
}

inline double gb_per_s(const VgpuRow& row) { return row.p50_us > 0 ? row.bytes * 1e-3 / row.p50_us : 0; }

inline nlohmann::ordered_json to_json(const VgpuRow& r) {
  return {{"whose", r.whose},
          {"measure", r.measure},
          {"workload", r.workload},
          {"placement", r.placement},
          {"schedule", r.schedule},
          {"parts", r.parts},
          {"devices", r.devices},
          {"bytes", r.bytes},
          {"rounds", r.rounds},
          {"p50", r.p50_us},
          {"p99", r.p99_us},
          {"unit", "us"},
          {"GBps", gb_per_s(r)},
          {"speedup", r.speedup},
          {"limit", r.limit},
          {"limited_by", r.limited_by},
          {"copied_bytes", r.copied_bytes},
          {"wrong", r.wrong}};
}

}  // namespace dcgn::bench
