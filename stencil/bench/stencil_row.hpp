// A line of `dcgn bench stencil`: the same for ours and for a peer's.
#pragma once

#include "bench/statistics.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace dcgn::bench {

struct StencilRow {
  std::string whose{};     // "dcgn 0.1.0", "Open MPI 4.1.4, GPU as slave"
  std::string equation{};  // "cahn-hilliard", "jacobi"
  std::vector<std::int64_t> size{};
  int devices = 0;                // GPUs, or CPU ranks where there are none
  std::string mode{};             // "borders-first", ...; "-" for peers
  std::string note{};             // what auto measured
  std::uint64_t steps = 0;        // that were timed
  double p50_us = 0, p99_us = 0;  // of one
  double gb_per_s = 0;            // by the least bytes that a step must read and write: least_bytes()
  double share = 0;               // of what plain copies on all the devices reach; 0: not known
  double efficiency = 0;    // the speed-up over one device in the same form by the number of devices; 0: not known
  std::uint64_t wrong = 0;  // cells of those that were looked at
};

// Bytes that a step of floats must move between memory and processor: each stage of a scheme reads the field that it
// looks at and, where that is another one, the one that it starts from, and writes one; all else may come from caches.
// Jacobi's step is one stage, 8 bytes a cell; a midpoint step two, of 8 and 12.
inline double least_bytes(const StencilRow& row) {
  double cells = 1;
  for (const std::int64_t extent : row.size) cells *= static_cast<double>(extent);
  return cells * (row.equation == "jacobi" ? 8 : 20);
}

// From the microseconds that a step took, in each of several runs of many; `steps` in all.
inline void set_figures(StencilRow& row, const std::vector<double>& us, std::uint64_t steps) {
  row.steps = steps;
  row.p50_us = percentile(us, 50);
  row.p99_us = percentile(us, 99);
  row.gb_per_s = least_bytes(row) / row.p50_us * 1e-3;
}

inline nlohmann::ordered_json to_json(const StencilRow& r) {
  return {{"whose", r.whose},
          {"equation", r.equation},
          {"size", r.size},
          {"devices", r.devices},
          {"mode", r.mode},
          {"note", r.note},
          {"steps", r.steps},
          {"p50", r.p50_us},
          {"p99", r.p99_us},
          {"unit", "us"},
          {"GBps", r.gb_per_s},
          {"share", r.share},
          {"efficiency", r.efficiency},
          {"wrong", r.wrong}};
}

inline StencilRow stencil_row_from(const nlohmann::ordered_json& j) {
  return {.whose = j.at("whose"),
          .equation = j.at("equation"),
          .size = j.at("size"),
          .devices = j.at("devices"),
          .mode = j.at("mode"),
          .note = j.value("note", ""),
          .steps = j.at("steps"),
          .p50_us = j.at("p50"),
          .p99_us = j.at("p99"),
          .gb_per_s = j.at("GBps"),
          .share = j.value("share", 0.0),
          .efficiency = j.value("efficiency", 0.0),
          .wrong = j.at("wrong")};
}

}  // namespace dcgn::bench
