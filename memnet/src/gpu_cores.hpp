// GPUs that run recorded kernels (base/kernel_trace.hpp): section III.B's static assignment of blocks, Table I's cores
// with an L1 cache each, and an L2 cache a GPU; what the caches let through are requests to the memory network.
//
// A core issues one instruction of a warp each cycle of its clock, in turns. A warp goes on past its loads until it
// needs what they bring. Stores go through both caches and take no line (section III.D); atomics empty the line and are
// done in the memory. Caches are empty when a kernel begins: nothing keeps those of several GPUs alike.
#pragma once

#include "base/kernel_trace.hpp"

#include "memnet/src/endpoint.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace dcgn::memnet {

// Table I, and what it does not say: "assumed".
struct GpuCores {
  int cores = 64;
  int blocks_per_core = 8;
  int threads_per_core = 1024;
  int shared_bytes_per_core = 48 * 1024;
  double clock_ghz = 1.4;
  int issue_gap = 4;  // assumed: cycles from one instruction of a warp to its next
  int l1_bytes = 32 * 1024;
  int l1_ways = 4;
  int l1_latency = 20;      // assumed, of a hit, in cycles of the core
  int l1_misses = 32;       // assumed: lines that a core waits for at once, and as many writes
  double crossbar_ns = 10;  // assumed: from core to L2 or back
  int l2_bytes = 2 * 1024 * 1024;
  int l2_ways = 16;
  int l2_banks = 8;  // assumed: each takes a request a cycle
  double l2_clock_ghz = 0.7;
  int l2_latency = 20;    // assumed, in cycles of the L2
  int outstanding = 512;  // assumed: requests to memory of a GPU

  // Throws Error(configuration) that names the field and the value.
  void validate() const;
};

enum class BlockSchedule : std::uint8_t {
  chunks,   // GPU g of n has the g-th n-th of the blocks
  stealing  // and takes from the one with the most left when it has none
};
std::string_view to_string(BlockSchedule schedule) noexcept;

// Of one launch. Where its trace is a sample, what was not recorded is taken to go on at the pace of what was. A launch
// of which nothing was recorded takes the mean of its kernel's launches in its size, and has no simulated blocks.
struct LaunchResult {
  std::string kernel;
  double cycles = 0;  // of the network's clock, for all blocks
  std::int64_t simulated_cycles = 0;
  std::uint64_t blocks = 0, simulated_blocks = 0;  // of a launch that is cut off: those that began
  double requests = 0;                             // to memory, for all blocks
};

struct KernelResult {
  std::vector<LaunchResult> launches;
  std::int64_t instructions = 0;  // of warps, simulated
  std::int64_t l1_reads = 0, l1_hits = 0, l2_reads = 0, l2_hits = 0;
  std::int64_t reads = 0, writes = 0, atomics = 0;  // requests to memory, simulated
  ClosedLoopResult network;
  Energy energy;  // of the network, for all blocks

  double cycles() const;  // of all launches, for all their blocks
  double all_requests() const;
};

// Runs all launches of a trace, one after the other, on `gpus`: terminals of the topology, of which GPU g has placement
// g, or all have the one that there is. With `most_requests`, a launch is cut off when GPUs have made so many requests
// each, on average, or done 1024 times as much as that in instructions and lines: what is left goes at the pace of the
// second half. Throws Error(configuration) for a block that no core has room for, for a
// trace that has not ended by `max_cycles` of the network, and what run_closed_loop() throws.
KernelResult run_kernels(const Topology& topology, const Parameters& parameters, const MemorySystem& memory,
                         const std::vector<int>& gpus, const GpuCores& cores, const base::KernelTrace& trace,
                         BlockSchedule schedule = BlockSchedule::chunks, const Progress& progress = {},
                         std::int64_t max_cycles = 100'000'000, std::int64_t most_requests = 0);

}  // namespace dcgn::memnet
