#include "grid.hpp"

#include "../early_exit.hpp"
#include "../processor.hpp"
#include "block.hpp"
#include "block_thread.hpp"
#include "sanitizer.hpp"
#include "schedule.hpp"
#include "thread_pool.hpp"

#include <algorithm>
#include <deque>
#include <exception>

namespace dcgn::device {

void Grid::run() {
  refuse_early_exit();
  if (Schedule* schedule = Schedule::current())
    run_in(*schedule);
  else
    run_on_threads();
  sanitizer::acquire(this);
  if (failed()) throw Error(Code::kernel_failed, "launch", image.name() + ": " + failure_);
}

void Grid::fail(const std::string& what) noexcept {
  const std::lock_guard lock(mutex_);
  if (failed()) return;
  failure_ = what;
  failed_.store(true, std::memory_order_relaxed);
}

void Grid::could_not_set_up(unsigned block, const std::exception& why) noexcept {
  fail("block " + std::to_string(block) + " could not be set up: " + why.what());
}

void Grid::run_on_threads() {
  const unsigned threads = std::min(at_once_, launch.grid.volume());
  threads_ = threads;
  const auto ended = [this](unsigned how_many) {
    const std::lock_guard lock(mutex_);
    threads_ -= how_many;
    changed_.notify_one();
  };
  // The calling thread is one of them.
  unsigned started = 1;
  try {
    for (; started < threads; ++started)
      run_on_pool([this, ended] {
        run_blocks();
        ended(1);
      });
  } catch (const std::exception& error) {
    fail("no thread for block " + std::to_string(started) + " of " + std::to_string(threads) + ": " + error.what());
    ended(threads - started);
  }
  run_blocks();
  ended(1);
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return threads_ == 0; });
}

void Grid::run_blocks() noexcept {
  const BusyThread busy;
  const unsigned blocks = launch.grid.volume();
  unsigned rank = 0;
  try {
    while (!failed() && (rank = next_block_.fetch_add(1, std::memory_order_relaxed)) < blocks) {
      BlockThread carrier;
      Block block(*this, rank, carrier);
      carrier.run();
      sanitizer::acquire(this);
    }
  } catch (const std::exception& error) {
    could_not_set_up(rank, error);
  }
}

void Grid::run_in(Schedule& schedule) {
  const unsigned blocks = launch.grid.volume();
  waiter_ = &schedule.running();
  for (unsigned first = 0; first < blocks && !failed();) {
    const unsigned end = first + std::min(at_once_, blocks - first);
    std::deque<Block> wave;
    try {
      for (; first < end; ++first) {
        wave.emplace_back(*this, first, schedule);
        ++live_blocks_;
      }
    } catch (const std::exception& error) {
      could_not_set_up(first, error);
    }
    while (live_blocks_) schedule.suspend();
    sanitizer::acquire(this);
  }
}

void Grid::block_ended() noexcept {
  const sanitizer::Unobserved here;
  if (waiter_ && --live_blocks_ == 0) Schedule::current()->wake(*waiter_);
}

}  // namespace dcgn::device
