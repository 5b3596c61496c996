// What the GPUs that run a kernel trace share: which launch is at work, and which blocks are left.
#pragma once

#include "memnet/src/gpu_cores.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dcgn::memnet {

class KernelRun {
 public:
  // Throws Error(configuration) for a block that no core has room for. `progress`: the share of blocks that have run.
  // `most_requests`: run_kernels().
  KernelRun(const base::KernelTrace& trace, std::size_t gpus, const GpuCores& cores, BlockSchedule schedule,
            const Progress& progress, std::int64_t most_requests);

  // Null: all have run.
  const base::LaunchTrace* launch() const { return at_ < launches_.size() ? launches_[at_] : nullptr; }
  std::size_t number() const { return at_; }  // of the launch, among those of which blocks were recorded
  std::size_t number_in_trace() const;        // among all
  int resident() const { return resident_; }  // blocks on a core

  // The GPU's next block of the launch; null where it gets no more.
  const base::BlockTrace* take(std::size_t gpu);
  void ended(std::int64_t now);  // a block
  bool all_ended() const { return cut_ || ends_.size() == simulated_; }
  // All that the launch did has reached memory. The next one begins.
  void next_launch(std::int64_t now);

  // Counts of this launch: requests to memory, and of each GPU the instructions of warps and lines that they touch.
  void request() { ++requests_; }
  std::int64_t& work(std::size_t gpu) { return work_[gpu]; }
  // Once a cycle. Cuts the launch off when it has run long enough: what its cores hold is dropped then.
  void watch(std::int64_t now);
  bool is_cut() const { return cut_; }

  // Of all launches, in order: those that were not recorded take the mean of their kernel's in their size.
  std::vector<LaunchResult> results() const;

 private:
  struct Part {
    std::size_t next = 0, end = 0;  // in the launch's blocks
  };

  void begin(std::int64_t now);
  LaunchResult whole(std::int64_t simulated) const;
  LaunchResult of_cut() const;

  std::vector<const base::LaunchTrace*> all_, launches_;  // `launches_`: those of which blocks were recorded
  const GpuCores cores_;
  const BlockSchedule schedule_;
  const Progress& progress_;
  const std::int64_t most_requests_;
  std::size_t at_ = 0;
  std::vector<Part> parts_;
  int resident_ = 0;
  std::size_t simulated_ = 0, done_ = 0, blocks_ = 0;
  std::int64_t began_ = 0, requests_ = 0;
  std::vector<std::int64_t> work_;  // by GPU
  bool cut_ = false;
  std::uint64_t taken_ = 0;
  struct Mark {  // how far the launch was
    std::int64_t cycle = 0, requests = 0;
    std::vector<std::int64_t> work;
  };
  Mark half_, end_;                 // of what a launch is cut off at
  std::vector<std::int64_t> ends_;  // of blocks, since the launch began
  std::vector<LaunchResult> results_;
};

}  // namespace dcgn::memnet
