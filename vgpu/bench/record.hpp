// Workloads as kernel traces, for the simulator of memory networks.
#pragma once

#include "base/kernel_trace.hpp"

#include "vgpu/bench/workloads/workload.hpp"

#include <cstdint>

namespace dcgn::workloads {

// A run of a workload on one emulated GPU, interpreted: what it copies in, its launches, and what it copies out. Of
// each launch at most about `most_blocks` blocks are kept, and of a kernel's launches in one size at most
// `most_launches`; 0: all. Throws Error(device) where GPU 0 is not emulated,
// and what VirtualGpu does.
base::KernelTrace record(const WorkloadKind& kind, int scale, std::uint64_t most_blocks,
                         std::uint64_t most_launches = 0);

}  // namespace dcgn::workloads
