// The kernels of the 2014 paper's Table II, as programs for a virtual GPU: what they compute, and whether two runs of
// them computed the same. Their source is that of tests/virtual_gpu/corpus, the same for one GPU and for several.
#pragma once

#include <dcgn/virtual_gpu.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace dcgn::workloads {

// What a workload has computed. Equal bit for bit from run to run, unless atomics add floats in whatever order.
struct Output {
  std::string name;
  std::vector<std::byte> bytes;
  double tolerance = 0;  // 0: all bits; else the bytes are floats, and may differ so much of their size
};
// Bytes, or floats, that differ; all of them where the sizes do.
std::uint64_t differences(const Output& a, const Output& b);

class Workload {
 public:
  Workload() = default;
  Workload(const Workload&) = delete;
  Workload& operator=(const Workload&) = delete;
  virtual ~Workload() = default;

  // Puts back what run() changes. Blocks.
  virtual void reset() = 0;
  // All kernels, once. Returns when they have been given, or later where the host has to know what one found.
  virtual void run(virtual_gpu::Stream& stream) = 0;
  virtual std::vector<Output> results() = 0;
  // That a run reads and writes at least; 0 where computing takes longer.
  virtual double bytes_moved() const { return 0; }
  // Its buffers, for those who place them elsewhere: all, and those that its kernels only read.
  virtual const std::vector<void*>& buffers() const = 0;
  virtual const std::vector<void*>& inputs() const = 0;
};

struct WorkloadKind {
  const char *name, *paper;  // "vector-add"; as the paper's table has it
  // About `scale` times as much work as the smallest, which has buffers of some MB. Throws what VirtualGpu does.
  std::unique_ptr<Workload> (*make)(VirtualGpu& gpu, int scale);
  int full_scale;  // some GiB, or as much as the kernel's numbers of 32 bits allow
};
const std::vector<WorkloadKind>& workload_kinds();

}  // namespace dcgn::workloads
