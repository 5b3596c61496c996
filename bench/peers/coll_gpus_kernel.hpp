// The frame of the peers' programs whose collectives are between the GPUs of one process, a rank each: memory, streams,
// calls captured in CUDA graphs and their time, and the check of what they brought.
#pragma once

#include "bench/json.hpp"
#include "bench/peers/coll_pattern_kernel.hpp"

#include <cuda_runtime.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace dcgn::bench::peer {

inline void check(cudaError_t code, const char* call) {
  if (code != cudaSuccess) throw std::runtime_error(std::string(call) + ": " + cudaGetErrorString(code));
}

// Holds a stream until the host has counted so far, so that all GPUs begin at once and not one launch after the other.
// Gives up after ten seconds or more.
static __global__ void wait_for(const volatile unsigned* launches, unsigned number) {
  for (int polls = 0; *launches != number && polls < 100'000'000; ++polls) __nanosleep(100);
}

// What a rank has. The end of the process alone releases it: after an error a GPU may wait for another for ever.
struct Gpu {
  int device = 0;
  cudaStream_t stream = nullptr;
  cudaEvent_t begin = nullptr, end = nullptr;
  float *in = nullptr, *out = nullptr;
  unsigned long long* wrong = nullptr;
  cudaGraphExec_t calls = nullptr;
};

class Gpus {
 public:
  // The first `count` GPUs, each with two buffers of so many floats; allocate(bytes) gives memory of the current GPU.
  template <class Allocate>
  Gpus(int count, std::size_t floats, const Allocate& allocate) : gpus_(static_cast<std::size_t>(count)) {
    check(cudaHostAlloc(&launches_, sizeof *launches_, cudaHostAllocPortable), "cudaHostAlloc");
    *launches_ = 0;
    for (int g = 0; g < count; ++g) gpus_[static_cast<std::size_t>(g)].device = g;
    each([&](Gpu& gpu) {
      check(cudaStreamCreateWithFlags(&gpu.stream, cudaStreamNonBlocking), "cudaStreamCreate");
      check(cudaEventCreate(&gpu.begin), "cudaEventCreate");
      check(cudaEventCreate(&gpu.end), "cudaEventCreate");
      for (float** memory : {&gpu.in, &gpu.out}) {
        *memory = static_cast<float*>(allocate(floats * sizeof(float)));
        check(cudaMemset(*memory, 0, floats * sizeof(float)), "cudaMemset");
      }
      check(cudaMalloc(&gpu.wrong, sizeof *gpu.wrong), "cudaMalloc");
      wait_for<<<1, 1, 0, gpu.stream>>>(launches_, 0);  // its code is there before anything waits
      check(cudaGetLastError(), "wait_for");
    });
    synchronize();
  }

  int count() const { return static_cast<int>(gpus_.size()); }

  // work(gpu) for each, which is the current device then.
  template <class Work>
  void each(const Work& work) {
    for (Gpu& gpu : gpus_) {
      check(cudaSetDevice(gpu.device), "cudaSetDevice");
      work(gpu);
    }
  }

  // Waits for all streams, but not for ever: a minute is far more than any block of calls takes.
  void synchronize() const {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    for (const Gpu& gpu : gpus_) {
      cudaError_t code = cudaSuccess;
      while ((code = cudaStreamQuery(gpu.stream)) == cudaErrorNotReady)
        if (std::chrono::steady_clock::now() > deadline)
          throw std::runtime_error("GPU " + std::to_string(gpu.device) + " has not finished its calls after a minute");
      check(code, "cudaStreamQuery");
    }
  }

  // enqueue() puts a call of each GPU into its stream. So many of them make a graph for each GPU, launched once: a
  // first launch costs more, and may wait for the whole GPU.
  template <class Enqueue>
  void capture(std::uint64_t calls, const Enqueue& enqueue) {
    enqueue();  // what is done once is done now
    synchronize();
    each([](Gpu& gpu) {
      if (gpu.calls) check(cudaGraphExecDestroy(gpu.calls), "cudaGraphExecDestroy");
      gpu.calls = nullptr;
      check(cudaStreamBeginCapture(gpu.stream, cudaStreamCaptureModeRelaxed), "cudaStreamBeginCapture");
    });
    for (std::uint64_t i = 0; i < calls; ++i) enqueue();
    each([](Gpu& gpu) {
      cudaGraph_t graph = nullptr;
      check(cudaStreamEndCapture(gpu.stream, &graph), "cudaStreamEndCapture");
      check(cudaGraphInstantiate(&gpu.calls, graph, 0), "cudaGraphInstantiate");
      check(cudaGraphDestroy(graph), "cudaGraphDestroy");
    });
    each([](const Gpu& gpu) { check(cudaGraphLaunch(gpu.calls, gpu.stream), "cudaGraphLaunch"); });
    synchronize();
  }

  // Launches what was captured; the microseconds that it took the GPU that took longest.
  double launch() {
    const unsigned number = *launches_ + 1;
    each([&](const Gpu& gpu) {
      wait_for<<<1, 1, 0, gpu.stream>>>(launches_, number);
      check(cudaGetLastError(), "wait_for");
      check(cudaEventRecord(gpu.begin, gpu.stream), "cudaEventRecord");
      check(cudaGraphLaunch(gpu.calls, gpu.stream), "cudaGraphLaunch");
      check(cudaEventRecord(gpu.end, gpu.stream), "cudaEventRecord");
    });
    std::atomic_ref<unsigned>(*launches_).store(number, std::memory_order_release);
    synchronize();
    float most = 0;
    for (const Gpu& gpu : gpus_) {
      float ms = 0;
      check(cudaEventElapsedTime(&ms, gpu.begin, gpu.end), "cudaEventElapsedTime");
      most = std::max(most, ms);
    }
    return static_cast<double>(most) * 1e3;
  }

  // One more call, by enqueue(), whose result is looked at. How many elements were wrong on all GPUs.
  template <class Enqueue>
  std::uint64_t count_wrong(const CollRound& round, const Enqueue& enqueue) {
    constexpr unsigned blocks = 256, threads = 256;
    each([&](const Gpu& gpu) {
      fill_collective<<<blocks, threads, 0, gpu.stream>>>(round, gpu.device, gpu.in, gpu.out);
      check(cudaGetLastError(), "fill_collective");
      check(cudaMemsetAsync(gpu.wrong, 0, sizeof *gpu.wrong, gpu.stream), "cudaMemsetAsync");
    });
    synchronize();
    enqueue();
    synchronize();
    std::uint64_t sum = 0;
    each([&](const Gpu& gpu) {
      count_wrong_collective<<<blocks, threads, 0, gpu.stream>>>(round, gpu.device, gpu.out, gpu.wrong);
      check(cudaGetLastError(), "count_wrong_collective");
      unsigned long long wrong = 0;
      check(cudaMemcpyAsync(&wrong, gpu.wrong, sizeof wrong, cudaMemcpyDeviceToHost, gpu.stream), "cudaMemcpyAsync");
      check(cudaStreamSynchronize(gpu.stream), "cudaStreamSynchronize");
      sum += wrong;
    });
    return sum;
  }

 private:
  std::vector<Gpu> gpus_;
  unsigned* launches_ = nullptr;  // that the host has let go
};

// Calls of one kind in CUDA graphs, so that a launch from the host is paid once a block of calls.
template <class Enqueue>
class GraphedCalls {
 public:
  GraphedCalls(Gpus& gpus, Enqueue enqueue) : gpus_(gpus), enqueue_(std::move(enqueue)) {}

  // Does so many calls; the microseconds that they took the GPU that took longest.
  double run(std::uint64_t calls) {
    if (calls != calls_) gpus_.capture(calls, enqueue_);
    calls_ = calls;
    return gpus_.launch();
  }

 private:
  Gpus& gpus_;
  Enqueue enqueue_;
  std::uint64_t calls_ = 0;  // in the graphs
};

// A row of calls by run(calls), which gives what they took.
template <class Run>
Row row_of_gpus(const CollRound& round, double seconds, const std::string& whose, const Run& run) {
  Row row = time_collective(round, seconds, run, [](double value) { return value; });
  row.whose = whose;
  row.path = path_of(round.ranks, "GPU");
  return row;
}

// Blocks that are tried, of a GPU that has so many multiprocessors, where there are so many words: a warp of each block
// has one a lane.
inline std::vector<unsigned> block_counts(std::int64_t words, int multiprocessors) {
  std::vector<unsigned> counts{1};
  for (const unsigned blocks : {8u, 32u, 128u})
    if (blocks <= static_cast<unsigned>(multiprocessors) && 32 * static_cast<std::int64_t>(blocks) <= words)
      counts.push_back(blocks);
  return counts;
}

inline constexpr unsigned most_block_threads = 512;
// Whole warps, and no more than have a word.
inline unsigned block_threads(std::int64_t words, unsigned blocks) {
  const std::int64_t each = (words + blocks - 1) / blocks;
  return static_cast<unsigned>(std::clamp<std::int64_t>((each + 31) / 32 * 32, 32, most_block_threads));
}

// The one of these ways that makes calls fastest: run(way, calls) gives what they take.
template <class Way, class Run>
Way fastest_of(const std::vector<Way>& ways, std::int64_t bytes, const Run& run) {
  const std::uint64_t calls = bytes <= 1 << 20 ? 50 : 3;
  std::size_t best = 0;
  double least = 0;
  for (std::size_t i = 0; i < ways.size(); ++i) {
    run(ways[i], calls);  // warm
    const double us = std::min(run(ways[i], calls), run(ways[i], calls));
    if (i && us >= least) continue;
    least = us;
    best = i;
  }
  return ways.at(best);
}

// Prints the rows that measure(arguments) gives; an exit code. Ends the process at once: see Gpu.
template <class Measure>
[[noreturn]] void run_coll_program(const char* name, int argc, char** argv, const Measure& measure) {
  int code = 0;
  try {
    const CollArguments arguments = parse_coll(argc, argv);
    int devices = 0;
    check(cudaGetDeviceCount(&devices), "cudaGetDeviceCount");
    if (devices < arguments.ranks)
      throw std::runtime_error(std::to_string(devices) + " GPUs: expected " + std::to_string(arguments.ranks) +
                               " or more");
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    for (const Row& row : measure(arguments)) rows.push_back(to_json(row));
    if (std::puts(rows.dump().c_str()) < 0) throw std::runtime_error("the rows could not be printed");
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s: %s\n", name, e.what());
    code = 1;
  }
  std::fflush(stdout);
  std::_Exit(code);
}

}  // namespace dcgn::bench::peer
