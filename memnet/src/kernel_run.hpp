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
  KernelRun(const base::KernelTrace& trace, std::size_t gpus, const GpuCores& cores, BlockSchedule schedule,
            const Progress& progress);

  // Null: all have run.
  const base::LaunchTrace* launch() const { return at_ < launches_.size() ? launches_[at_] : nullptr; }
  std::size_t number() const { return at_; }  // of the launch, among those of which blocks were recorded
  std::size_t number_in_trace() const;        // among all
  int resident() const { return resident_; }  // blocks on a core

  // The GPU's next block of the launch; null where it gets no more.
  const base::BlockTrace* take(std::size_t gpu);
  void ended(std::int64_t now);  // a block
  bool all_ended() const { return ends_.size() == simulated_; }
  // All that the launch did has reached memory. The next one begins.
  void next_launch(std::int64_t now, std::int64_t requests);

  // Of all launches, in order: those that were not recorded take the mean of their kernel's in their size.
  std::vector<LaunchResult> results() const;

 private:
  struct Part {
    std::size_t next = 0, end = 0;  // in the launch's blocks
  };

  void begin(std::int64_t now);
  double cycles_of_all(std::int64_t simulated) const;

  std::vector<const base::LaunchTrace*> all_, launches_;  // `launches_`: those of which blocks were recorded
  const GpuCores cores_;
  const BlockSchedule schedule_;
  const Progress& progress_;
  std::size_t at_ = 0;
  std::vector<Part> parts_;
  int resident_ = 0;
  std::size_t simulated_ = 0, done_ = 0, blocks_ = 0;
  std::int64_t began_ = 0;
  std::vector<std::int64_t> ends_;  // of blocks, since the launch began
  std::vector<LaunchResult> results_;
};

}  // namespace dcgn::memnet
