// What kernels do to memory, as a base::KernelTrace: each launch, and of its blocks all or a sample.
#pragma once

#include "base/kernel_trace.hpp"

#include "vgpu/src/interpreter/program.hpp"

#include <array>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace dcgn::virtual_gpu::interpreter {

class Block;
class Grid;

class Recorder {
 public:
  // At most about so many blocks of a launch are kept, and at most so many launches of a kernel in a size; 0: all. They
  // all run, and of launches that are not kept the trace has names and sizes.
  explicit Recorder(std::uint64_t most_blocks, std::uint64_t most_launches = 0)
      : most_blocks_(most_blocks), most_launches_(most_launches) {}

  // Copies between the host and a GPU. Any thread may say so.
  void copied(base::KernelStep::Kind kind, std::uint64_t bytes);
  // What was recorded so far, from which it goes on without.
  base::KernelTrace take();

 private:
  friend class Grid;
  friend class WarpRecorder;
  // Launches of a kernel in a size. Kept are those whose number times the golden ratio leaves a fraction below `share`:
  // they lie evenly, and in step with no period that the program may have.
  struct Group {
    std::uint64_t begun = 0;
    double share = 1;
    std::vector<std::pair<std::size_t, double>> kept;  // step of the trace, fraction
  };
  using Shape = std::tuple<std::string, std::array<unsigned, 6>, std::uint64_t>;

  bool keeps(std::uint64_t block, std::uint64_t blocks) const { return base::is_sampled(block, blocks, most_blocks_); }
  // Before a launch: its fraction if it is to be kept.
  std::optional<double> begins(const base::LaunchTrace& launch);
  void launched(base::LaunchTrace&& launch, std::optional<double> fraction);
  Group& group_of(const base::LaunchTrace& launch);
  std::string name_of(const std::string& kernel);
  std::uint64_t number_of_page(std::uint64_t page);

  const std::uint64_t most_blocks_, most_launches_;
  std::mutex mutex_;
  std::map<Shape, Group> groups_;
  std::map<std::string, std::string> names_;  // by mangled name
  std::map<std::string, int> of_plain_name_;
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
  std::uint64_t work_ = 0;    // of the warp: BlockTrace::work
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
