// The virtual GPU, measured: the 2014 paper's workloads over several parts, beside one GPU that runs the same kernels
// as they are.
#pragma once

#include "vgpu/bench/vgpu_row.hpp"
#include "vgpu/bench/workloads/workload.hpp"

#include <dcgn/virtual_gpu.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace dcgn::bench {

struct VgpuWork {
  std::vector<workloads::WorkloadKind> kinds;
  std::vector<int> parts;  // numbers of parts; they are dealt out to the devices there are
  int scale = 0;           // of the workloads; 0: what suits the devices
  double seconds = 0.05;   // that a row should take, three runs at least
  bool scaling = true, measured = true, schedule = true, placement = true;  // which rows of measure_workload()
};

using VgpuSink = std::function<void(const VgpuRow&)>;

// Figure 7: vector add on part 0 alone, of whose pages 0, 50 and 75 % lie on other GPUs, where there are any. Limits:
// what copies within a GPU and between two of them move.
void measure_remote(const VgpuWork& work, const VgpuSink& sink);
// An empty kernel: launch and wait; and one of many launches, each behind the one before, also recorded. The limit is
// one GPU's.
void measure_launch(const VgpuWork& work, const VgpuSink& sink);
// A workload on one GPU with the kernels as they are, and over more and more parts (figure 19), split and as is
// measured to be faster. Over the most: blocks by chunks and by stealing; and each placement. The limit of the speed-up
// is the number of devices.
void measure_workload(const VgpuWork& work, const workloads::WorkloadKind& kind, const VgpuSink& sink);

}  // namespace dcgn::bench
