// The Mandelbrot set by a dynamic work queue: the paper's test of unpredictable communication (Stuart and Owens 2009,
// section 4). Rank 0, a CPU rank, hands out strips by any-source receives; slots and the other CPU ranks compute.
#pragma once

#include "apps/mandelbrot/pixel.hpp"

#include <dcgn/job.hpp>
#include <dcgn/placement.hpp>

#include <cstdint>
#include <functional>
#include <vector>

namespace dcgn::mandelbrot {

struct Options {
  Task task{.region = {-2.4, 1.2, -1.2, 1.2}, .width = 1200, .height = 800, .iterations = 2000};
  int strip = 8;      // rows of a strip,
  int pieces = 1;     // or a row's strips, where it has one row
  NodeShape nodes;    // `count` of them, all alike; in several processes as many as these
  int threads = 128;  // in a slot's block
};

// What one rank did; for the master nothing but its messages.
struct RankWork {
  RankReport report;
  int strips = 0;
  int pixels = 0;
};

// In several processes that of process 0; the others have the ranks alone.
struct Outcome {
  std::vector<Pixel> pixels;  // height x width, from the top left
  std::vector<int> owners;    // the rank that computed each strip, from the top
  std::vector<RankWork> ranks;
  double elapsed_s = 0;
  double work_s = 0;  // of them, from the first request to the last strip
};

// Pixels of a strip.
int strip_pixels(const Options& options);

// Throws Error(configuration), naming the value, where the options make no sense.
void validate(const Options& options);

// Runs the job, in all its processes. progress(rows done, rows) is called by the master's thread after each strip.
// Throws what Job does.
Outcome run(const Options& options, const std::function<void(int, int)>& progress = {});

// How many pixels differ from those that this thread computes one after the other.
std::int64_t count_wrong(const Task& task, const std::vector<Pixel>& pixels);

}  // namespace dcgn::mandelbrot
