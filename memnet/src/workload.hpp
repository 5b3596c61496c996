// Table II's workloads as traffic models. The kernels themselves are not run: what they move and compute is derived
// from the problem's size and its algorithm. workload.cpp says for each what is derived and what is assumed.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace dcgn::memnet {

// Bytes and operations are of a whole run, over all GPUs together.
struct Workload {
  std::string_view name;     // as Table II abbreviates it
  std::string_view problem;  // its input
  double copied_in = 0;      // bytes, host to GPUs, before and between kernels
  double copied_out = 0;     // bytes, GPUs to host
  double read = 0;           // bytes that kernels read from memory: what the caches let through, in whole lines
  double written = 0;        // bytes that kernels write to memory: caches write through
  int write_bytes = 128;     // of one write: 128 coalesced, 32 scattered
  double operations = 0;     // issue slots of a thread each, those included that diverging warps leave empty
  int launches = 1;          // of kernels, each of which waits for the one before
  double blocks = 0;         // CTAs of a launch, of the kernel that takes longest
  int block_lines = 8;       // lines that a resident CTA has outstanding: 8 for coalesced warps, else one a thread
  double random = 0;         // share of accesses to random lines; the rest walk through arrays
  double imbalance = 1;      // traffic of the busiest HMC over that of the least busy
  double host_misses = 0;    // cache lines that the host's part reads; 0 where the host computes next to nothing
  int host_window = 1;       // lines that the host has outstanding
  std::string_view assumed;  // what the problem's size does not say
};

// All 14, in Table II's order.
const std::vector<Workload>& workloads();
// Throws Error(configuration) that lists the names there are.
const Workload& workload(std::string_view name);

// Table I's GPU.
struct GpuModel {
  int cores = 64;
  int lanes = 32;
  int blocks_per_core = 8;
  double clock_ghz = 1.4;
  double issue_share = 0.5;  // assumed: of issue slots that a kernel fills
  int lines = 512;           // assumed: outstanding to memory, of a GPU
};

// How long one of `gpus` GPUs computes, in ns, were memory without delay: operations over issue slots, and a whole
// number of CTAs a core.
double compute_ns(const Workload& workload, int gpus, const GpuModel& gpu = {});
// The requests that one of `gpus` GPUs can have outstanding.
int request_window(const Workload& workload, int gpus, const GpuModel& gpu = {});
// Requests of the kernels of all GPUs together, and the share of reads among them.
double request_count(const Workload& workload, int line_bytes = 128);
double read_share(const Workload& workload, int line_bytes = 128);

// Weights of page placement over the clusters for one GPU's data: one is busier than the others by the workload's
// imbalance.
std::vector<double> cluster_weights(const Workload& workload, int clusters, int busiest);

}  // namespace dcgn::memnet
