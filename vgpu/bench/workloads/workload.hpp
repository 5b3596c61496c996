// The kernels of the 2014 paper's Table II, as programs for a virtual GPU: what they compute, and whether two runs of
// them computed the same. Their source is that of vgpu/tests/corpus, the same for one GPU and for several.
#pragma once

#include <dcgn/virtual_gpu.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace dcgn::workloads {

// What a workload has computed, in device memory. Equal bit for bit from run to run, unless atomics add floats in
// whatever order.
struct Result {
  const char* name;
  const void* data;
  std::size_t bytes;     // a multiple of 4
  double tolerance = 0;  // 0: all bits; else it is floats that may differ so much of their size
  bool on_host = false;  // the run itself has brought it there, or made it there
};

// Words of 4 bytes, as they were copied from two results, that differ; all of them where the sizes do.
std::uint64_t differences(const Result& what, const std::vector<std::uint32_t>& a, const std::vector<std::uint32_t>& b);

// What a run begins with, for those who compute its results otherwise.
struct Snapshot {
  using Bytes = std::vector<std::byte>;
  std::vector<int> sizes;        // that its buffers' bytes do not tell
  std::vector<Bytes> buffers;    // in the order of Workload::buffers()
  std::vector<Bytes> constants;  // variables of its module
};

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
  virtual std::vector<Result> results() const = 0;
  // Has the next run() sample so many blocks of its first kernel and place all buffers by that; then it goes on.
  virtual void sample_next_run(std::uint64_t blocks) = 0;
  // That a run reads and writes at least; 0 where computing takes longer.
  virtual double bytes_moved() const { return 0; }
  // Its buffers, for those who place them elsewhere: all, and those that its kernels only read.
  virtual const std::vector<void*>& buffers() const = 0;
  virtual const std::vector<void*>& inputs() const = 0;
  // Bytes that came from the host so far, and those that runs took there, without results().
  virtual std::uint64_t copied_in() const = 0;
  virtual std::uint64_t copied_out() const = 0;
  // After reset(). Blocks.
  virtual Snapshot snapshot() const = 0;
};

// The problem of the 2014 paper's Table II, as far as the kernels are those. Other negative scales are as many
// hundredths of it, in one dimension, where a problem has any number of elements.
inline constexpr int paper_scale = -100;

struct WorkloadKind {
  const char *name, *paper;  // "vector-add"; as the paper's table has it
  // About `scale` times as much work as at scale 1, which has buffers of some MB. Scale 0 is for emulated GPUs: some
  // blocks for each part, whose buffers have several pages. Negative: see paper_scale. Throws what VirtualGpu does.
  std::unique_ptr<Workload> (*make)(VirtualGpu& gpu, int scale);
  // For each GPU: some GiB of what streams, some milliseconds of what computes. 0: no measurement on GPUs has it.
  int scale_of_gpu;
  int largest_scale;  // that the kernels' numbers of 32 bits allow
};
const std::vector<WorkloadKind>& workload_kinds();

}  // namespace dcgn::workloads
