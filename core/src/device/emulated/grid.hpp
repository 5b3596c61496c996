// One launch on an emulated GPU, from its first block to its last.
#pragma once

#include <dcgn/error.hpp>
#include <dcgn/gpu/kernel.hpp>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <string>
#include <utility>

namespace dcgn::device {

class Fiber;
class Schedule;

class Grid {
 public:
  // At most `at_once` blocks run at a time; the launch is resident where it has no more than that.
  Grid(const Launch& shape, const dcgn::detail::KernelImage& kernel, unsigned at_once, std::string who)
      : launch(shape),
        image(kernel),
        launched_by(std::move(who)),
        whole(kernel.part_of ? kernel.part_of->grid : shape.grid),
        first_block(kernel.part_of ? kernel.part_of->first : 0),
        at_once_(at_once) {}
  Grid(const Grid&) = delete;
  Grid& operator=(const Grid&) = delete;

  const Launch launch;
  const dcgn::detail::KernelImage image;
  const std::string launched_by;  // "GPU 0 of node 0"
  const Dim3 whole;               // the grid that blocks see, and the number in it of the first of these
  const unsigned first_block;

  // Runs all blocks and returns when all have ended; throws Error(kernel_failed) where one has failed. On a fiber of
  // a Schedule their threads become fibers of it; else every block has a thread of the operating system.
  void run();

  // Called by blocks. The first failure is kept; the others are its consequence.
  void fail(const std::string& what) noexcept;
  bool failed() const noexcept { return failed_.load(std::memory_order_relaxed); }
  void block_ended() noexcept;  // in a Schedule: all its threads have

 private:
  void could_not_set_up(unsigned block, const std::exception& why) noexcept;
  void run_on_threads();
  void run_in(Schedule& schedule);
  void run_blocks() noexcept;  // one after another, on the calling thread, while there are any

  const unsigned at_once_;
  std::atomic<std::uint32_t> next_block_{0};
  std::atomic<bool> failed_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string failure_;
  unsigned threads_ = 0;      // of the operating system, still at work
  unsigned live_blocks_ = 0;  // in a Schedule
  Fiber* waiter_ = nullptr;   // in a Schedule: whom the last block wakes
};

}  // namespace dcgn::device
