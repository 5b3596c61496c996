#include "apps/mandelbrot/mandelbrot.hpp"

#include <dcgn/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace dcgn::mandelbrot {

namespace {

[[noreturn]] void refuse(const std::string& what) { throw Error(Code::configuration, "mandelbrot", what); }

void check_count(const char* what, std::int64_t value, std::int64_t least, std::int64_t most) {
  if (value < least || value > most) refuse(fmt::format("{} is {}, expected {}..{}", what, value, least, most));
}

void check_interval(const char* axis, double from, double to) {
  // The difference too must be finite: it is computed with.
  if (!std::isfinite(from) || !std::isfinite(to) || !std::isfinite(to - from) || !(from < to))
    refuse(
        fmt::format("the region's {} goes from {} to {}, expected finite numbers in ascending order", axis, from, to));
}

}  // namespace

int strip_pixels(const Options& options) {
  const int row = options.task.width;
  return options.pieces > 1 ? (row + options.pieces - 1) / options.pieces
                            : row * std::min(options.strip, options.task.height);
}

void validate(const Options& options) {
  const Task& t = options.task;
  check_count("the width", t.width, 1, 1 << 15);
  check_count("the height", t.height, 1, 1 << 15);
  check_count("the iteration limit", t.iterations, 1, 1 << 30);
  check_count("the strip height", options.strip, 1, 1 << 15);
  check_count("the number of a row's strips", options.pieces, 1, options.strip == 1 ? t.width : 1);
  check_count("the number of threads", options.threads, 1, 1024);
  check_interval("x", t.region.xmin, t.region.xmax);
  check_interval("y", t.region.ymin, t.region.ymax);
  const NodeShape& n = options.nodes;
  if (n.cpus < 1) refuse(fmt::format("{} CPU ranks: rank 0, the master, is one, expected at least 1", n.cpus));
  if (Placement({n}).size() < 2) refuse("1 rank: expected at least 2, the master and a worker");
}

}  // namespace dcgn::mandelbrot
