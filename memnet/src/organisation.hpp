// The multi-GPU systems of Table III, and how long a workload takes on them: first copies between the host and the
// GPUs, then kernels, each simulated as a sample of its requests and scaled to all of them.
#pragma once

#include "memnet/src/endpoint.hpp"
#include "memnet/src/gpu_cores.hpp"
#include "memnet/src/topologies.hpp"
#include "memnet/src/workload.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

namespace dcgn::memnet {

enum class Organisation : std::uint8_t {
  pcie,            // copies over PCIe; GPUs reach each other's memory through PCIe and the other GPU
  pcie_zero_copy,  // kernels access the CPU's memory over PCIe
  cmn,             // the CPU's memory is a network that GPUs are on
  cmn_zero_copy,
  gmn,  // the GPUs' memory is a network; the CPU is on PCIe
  gmn_zero_copy,
  umn,  // one network for all, no copies
};
inline constexpr Organisation all_organisations[] = {
    Organisation::pcie, Organisation::pcie_zero_copy, Organisation::cmn, Organisation::cmn_zero_copy,
    Organisation::gmn,  Organisation::gmn_zero_copy,  Organisation::umn};
std::string_view to_string(Organisation organisation) noexcept;  // as Table III abbreviates it

// One CPU, GPUs, 4 HMCs each.
struct SystemModel {
  int gpus = 4;
  int hmcs_per_cluster = 4;
  MemoryTopology network = MemoryTopology::sliced_butterfly;  // of GMN and UMN
  int channels_per_hmc = 8;             // of that network: refused where it needs more; 0: as many as it takes
  Routing routing = Routing::adaptive;  // minimal, over the less loaded of a GPU's two channels to an HMC
  double ugal_threshold = 0;            // Parameters::ugal_threshold
  double pcie_gbytes = 15.75;           // 16 lanes of version 3.0, each direction
  double pcie_latency_ns = 250;         // assumed: of each PCIe link, beyond a channel's
  int cmn_channels = 1;                 // assumed: of each GPU into the CPU's network, in place of its PCIe link
  GpuModel gpu;
  DramTiming dram;
  std::int64_t sample_requests = 4000;  // of each GPU in a simulation; a phase with fewer is simulated in full
  std::int64_t kernel_requests = 0;     // of recorded kernels: run_kernels()'s most_requests; 0: all
  std::uint64_t seed = 1;
};

// A phase of a run. Times are of the whole phase, not of the sample.
struct Phase {
  double ns = 0;
  double requests = 0;       // all GPUs together
  Energy energy;             // of the network
  ClosedLoopResult sampled;  // of the last simulation
};

// What copies and kernels find: terminals first the CPU (where there is one), then GPUs, then HMCs cluster by cluster.
// A GPU's memory that is in no network hangs on the GPU's own channels, and others reach it through a router of the
// GPU.
Topology organisation_topology(Organisation organisation, const SystemModel& model);

// Copies of so many bytes from the host to the GPUs or back, all GPUs at once; 0 ns without copies.
Phase copy_phase(Organisation organisation, const SystemModel& model, double bytes, bool to_gpus);
Phase kernel_phase(Organisation organisation, const SystemModel& model, const Workload& workload);
// The same of recorded kernels, which run on GPUs of `cores`.
struct KernelPhase {
  Phase phase;
  KernelResult kernels;
};
KernelPhase kernel_phase(Organisation organisation, const SystemModel& model, const GpuCores& cores,
                         const base::KernelTrace& trace, const Progress& progress = {});
// Bytes of a trace's copies.
double copied(const base::KernelTrace& trace, base::KernelStep::Kind kind);

// The same kernels on any memory network with GPUs in clusters, as Figures 15 to 17 and 19 compare them.
Phase network_kernel(const MemoryNetwork& network, const SystemModel& model, const Workload& workload);
KernelPhase network_kernel(const MemoryNetwork& network, const SystemModel& model, const GpuCores& cores,
                           const base::KernelTrace& trace);
// The host's part: the CPU alone reads `host_misses` lines of 64 bytes all over memory.
Phase network_host(const MemoryNetwork& network, const SystemModel& model, const Workload& workload);

}  // namespace dcgn::memnet
