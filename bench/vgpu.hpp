// The virtual GPU, measured: the 2014 paper's workloads over several parts, beside one GPU that runs the same kernels
// as they are.
#pragma once

#include "bench/vgpu_row.hpp"
#include "bench/workloads/workload.hpp"

#include <dcgn/virtual_gpu.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace dcgn::bench {

struct VgpuWork {
  std::vector<workloads::WorkloadKind> kinds;
  std::vector<int> parts;  // numbers of parts; they are dealt out to the devices there are
  int scale = 0;           // of the workloads; 0: the full one
  double seconds = 0.2;    // that a row should take
};

using VgpuSink = std::function<void(const VgpuRow&)>;

// Figure 7: vector add on part 0 alone, its data dealt out to 1, 2, 4, ... parts. Limits: what copies within a GPU and
// between two of them move.
void measure_remote(const VgpuWork& work, const VgpuSink& sink);
// Figure 19: each workload over more and more parts. The limit is the number of devices.
void measure_scaling(const VgpuWork& work, const VgpuSink& sink);
// Blocks by chunks and by stealing, over the largest number of parts.
void measure_schedule(const VgpuWork& work, const VgpuSink& sink);
// Each placement, over the largest number of parts.
void measure_placement(const VgpuWork& work, const VgpuSink& sink);
// An empty kernel: launch and wait; and one of many launches, each behind the one before. The limit is one GPU's.
void measure_launch(const VgpuWork& work, const VgpuSink& sink);

}  // namespace dcgn::bench
