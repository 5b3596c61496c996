// How long a job takes to open, to run kernels that do nothing, and to close: measure_start [ROUNDS]. Medians, in
// milliseconds.
#include "support.hpp"

#include <dcgn/gpu/launch.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <vector>

namespace {

double since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::max(1, std::atoi(argv[1])) : 9;
  std::printf("%4s %4s %5s %10s %10s %10s\n", "cpus", "gpus", "slots", "open", "run", "close");
  for (const dcgn::NodeShape& shape : {dcgn::NodeShape{.cpus = 2, .gpus = 0, .slots = 0},
                                       {.cpus = 0, .gpus = 1, .slots = 1},
                                       {.cpus = 1, .gpus = 1, .slots = 1},
                                       {.cpus = 0, .gpus = 2, .slots = 1},
                                       {.cpus = 2, .gpus = 2, .slots = 2},
                                       {.cpus = 10, .gpus = 1, .slots = 10},
                                       {.cpus = 0, .gpus = 2, .slots = 100}}) {
    if (shape.gpus > dcgn::Device::count()) continue;
    std::vector<double> open, run, close;
    for (int i = 0; i < rounds; ++i) {
      auto begin = std::chrono::steady_clock::now();
      std::optional<dcgn::Job> job(std::in_place, dcgn::test::config_of({shape}, 20));
      open.push_back(since(begin));
      job->cpu([](dcgn::Comm&) {});
      if (shape.gpus) job->gpu({.grid = dcgn::one_block_per_slot, .block = 32}, dcgn::test::Nothing{});
      begin = std::chrono::steady_clock::now();
      job->run();
      run.push_back(since(begin));
      begin = std::chrono::steady_clock::now();
      job.reset();
      close.push_back(since(begin));
    }
    std::printf("%4d %4d %5d %10.2f %10.2f %10.2f\n", shape.cpus, shape.gpus, shape.slots, median(open), median(run),
                median(close));
  }
}
