// A line of `dcgn bench apps`: the same for ours and for a peer's.
#pragma once

#include "bench/statistics.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace dcgn::bench {

struct AppRow {
  std::string whose{};  // "dcgn 0.1.0", "Open MPI 4.1.4, GPU as slave"
  std::string app{};    // "nbody", "cannon", "mandelbrot"
  int size = 0;         // bodies; rows and columns; pixels in a row
  int gpus = 0;
  std::uint64_t steps = 0;        // that were timed: steps, products or pictures
  double p50_us = 0, p99_us = 0;  // of one
  double figure = 0;              // by the median, in `unit`
  std::string unit{};
  double efficiency = 0;    // the speed-up over one GPU in the same form by the number of GPUs; 0: not known
  std::uint64_t wrong = 0;  // bodies, rows or pixels
  int lines = 0;            // of code: see lines.cmake
};

// `each` is how many of the unit a step has.
inline void set_figures(AppRow& row, const std::vector<double>& us, double each, const char* unit) {
  row.steps = us.size();
  row.p50_us = percentile(us, 50);
  row.p99_us = percentile(us, 99);
  row.figure = row.p50_us > 0 ? each / (row.p50_us * 1e-6) : 0;
  row.unit = unit;
}

inline constexpr const char* interactions_unit = "G interactions/s";
inline constexpr const char* flop_unit = "GFLOP/s";
inline constexpr const char* pixels_unit = "M pixels/s";
inline double interactions(int bodies) { return 1e-9 * bodies * bodies; }
inline double flop(int size) { return 2e-9 * size * size * size; }
inline double pixels(int width, int height) { return 1e-6 * width * height; }

inline nlohmann::ordered_json to_json(const AppRow& r) {
  return {{"whose", r.whose},
          {"app", r.app},
          {"size", r.size},
          {"gpus", r.gpus},
          {"steps", r.steps},
          {"p50", r.p50_us},
          {"p99", r.p99_us},
          {"unit", "us"},
          {"figure", r.figure},
          {"of", r.unit},
          {"efficiency", r.efficiency},
          {"wrong", r.wrong},
          {"lines", r.lines}};
}

inline AppRow app_row_from(const nlohmann::ordered_json& j) {
  return {.whose = j.at("whose"),
          .app = j.at("app"),
          .size = j.at("size"),
          .gpus = j.at("gpus"),
          .steps = j.at("steps"),
          .p50_us = j.at("p50"),
          .p99_us = j.at("p99"),
          .figure = j.at("figure"),
          .unit = j.at("of"),
          .efficiency = j.value("efficiency", 0.0),
          .wrong = j.at("wrong"),
          .lines = j.value("lines", 0)};
}

}  // namespace dcgn::bench
