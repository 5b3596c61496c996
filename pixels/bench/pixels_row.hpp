// A line of `dcgn bench pixels`.
#pragma once

#include "bench/statistics.hpp"

#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace dcgn::bench {

struct PixelsRow {
  std::string whose{};      // "dcgn 0.1.0", "limit: memcpy"
  std::string measure{};    // "read-back", "upload", "frame", "stream", "output", "compression"
  std::string path{};       // "copy", "pinned", "interop"; of compression: "lossless", "jpeg 90"
  std::string scope = "-";  // of a frame: "tiles of 4M"; of compression: "scene", "noise"
  std::int64_t bytes = 0;
  std::uint64_t rounds = 0;
  double p50_us = 0, p99_us = 0;
  std::uint64_t wrong = 0;  // bytes
  // Of an output: the ranks, and what a frame takes them to compute and to bring together; medians.
  int ranks = 0;
  double compute_us = 0, network_us = 0, efficiency = 0;
  // Of compression, for a byte of pixels.
  double ratio = 0, compress_ns = 0, decompress_ns = 0;
};

inline void set_figures(PixelsRow& row, const std::vector<double>& us) {
  row.rounds = us.size();
  row.p50_us = percentile(us, 50);
  row.p99_us = percentile(us, 99);
}

// Of an output, too: a pixel has 4 bytes.
inline double gb_per_s(const PixelsRow& row) {
  return row.p50_us > 0 ? static_cast<double>(row.bytes) * 1e-3 / row.p50_us : 0;
}
inline double gpixels_per_s(const PixelsRow& row) { return gb_per_s(row) / 4; }

// The link on which compressing costs as much as it saves, where the three steps follow each other, in GB/s.
inline double break_even_gb_per_s(const PixelsRow& row) {
  const double ns = row.compress_ns + row.decompress_ns;
  return ns > 0 && row.ratio < 1 ? (1 - row.ratio) / ns : 0;
}

// The model of Lawlor 2009: time = latency + bytes / bandwidth, with the least squares of relative errors.
struct LatencyFit {
  double latency_us = 0, gb_per_s = 0;
};
inline LatencyFit fit_latency(const std::vector<std::pair<double, double>>& bytes_and_us) {
  double w = 0, wx = 0, wy = 0, wxx = 0, wxy = 0;
  for (const auto& [x, y] : bytes_and_us) {
    const double weight = 1 / (y * y);
    w += weight;
    wx += weight * x;
    wy += weight * y;
    wxx += weight * x * x;
    wxy += weight * x * y;
  }
  const double determinant = w * wxx - wx * wx;
  if (bytes_and_us.size() < 2 || determinant <= 0) return {};
  const double us_per_byte = (w * wxy - wx * wy) / determinant;
  return {(wy - us_per_byte * wx) / w, us_per_byte > 0 ? 1e-3 / us_per_byte : 0};
}

inline nlohmann::ordered_json to_json(const PixelsRow& r) {
  nlohmann::ordered_json j = {{"whose", r.whose}, {"measure", r.measure}, {"path", r.path},  {"scope", r.scope},
                              {"bytes", r.bytes}, {"rounds", r.rounds},   {"p50", r.p50_us}, {"p99", r.p99_us},
                              {"unit", "us"},     {"GBps", gb_per_s(r)},  {"wrong", r.wrong}};
  if (r.ranks)
    j.update({{"ranks", r.ranks},
              {"compute_us", r.compute_us},
              {"network_us", r.network_us},
              {"Gpixps", gpixels_per_s(r)},
              {"efficiency", r.efficiency}});
  if (r.ratio > 0)
    j.update({{"ratio", r.ratio},
              {"compress_ns", r.compress_ns},
              {"decompress_ns", r.decompress_ns},
              {"break_even_GBps", break_even_gb_per_s(r)}});
  return j;
}

}  // namespace dcgn::bench
