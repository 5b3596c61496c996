// What kernels do to memory, as a base::KernelTrace: each launch, and of its blocks all or a sample.
#pragma once

#include "base/kernel_trace.hpp"

#include "vgpu/src/interpreter/program.hpp"

#include <array>
#include <deque>
#include <mutex>
#include <unordered_map>

namespace dcgn::virtual_gpu::interpreter {

class Block;
class Grid;

class Recorder {
 public:
  // At most about so many blocks of a launch are kept; 0: all. They all run.
  explicit Recorder(std::uint64_t most_blocks) : most_blocks_(most_blocks) {}

  // Copies between the host and a GPU. Any thread may say so.
  void copied(base::KernelStep::Kind kind, std::uint64_t bytes);
  // What was recorded so far, from which it goes on without.
  base::KernelTrace take();

 private:
  friend class Grid;
  friend class WarpRecorder;
  bool keeps(std::uint64_t block, std::uint64_t blocks) const { return base::is_sampled(block, blocks, most_blocks_); }
  void launched(base::LaunchTrace&& launch);
  std::uint64_t number_of_page(std::uint64_t page);

  const std::uint64_t most_blocks_;
  std::mutex mutex_;
  std::unordered_map<std::uint64_t, std::uint64_t> pages_;  // by address / 4096
  base::KernelTrace trace_;
};

// Whose launches are recorded from now on: of all the process's. Null: nobody's.
void record_with(Recorder* recorder);
Recorder* active_recorder();

// Of one warp that runs.
class WarpRecorder {
 public:
  explicit WarpRecorder(Recorder& recorder) : recorder_(recorder) {}

  // An instruction that the threads `mask` are about to do; where that is 0, none of them does.
  void step(Warp& warp, const Op& op, Mask mask, unsigned depth);
  // All threads that are left wait at a barrier of the block.
  void barrier();
  // Its bytes, appended to the block's; the next block's warp begins.
  void finish(base::BlockTrace& block);

 private:
  struct Pending {
    std::uint32_t row = 0;
    unsigned depth = 0;
    std::uint32_t number = 0;  // of loads and atomics
  };

  void touch(Warp& warp, const Op& op, Mask mask);
  void touch(std::uintptr_t address, std::size_t bytes);
  void use(const Row& row, unsigned depth);
  void use_all();
  void wait_for(std::uint32_t number);

  Recorder& recorder_;
  base::WarpWriter writer_;
  std::uint32_t issued_ = 0;  // since the last event
  std::uint32_t loads_ = 0;
  std::vector<Pending> pending_;
  std::vector<std::uint32_t> copies_;              // asynchronous ones, of no group yet
  std::deque<std::vector<std::uint32_t>> groups_;  // the oldest first
  std::vector<base::Touch> touches_;
  struct Page {
    std::uint64_t page = ~std::uint64_t{0}, number = 0;
  };
  std::array<Page, 16> known_;
};

}  // namespace dcgn::virtual_gpu::interpreter
