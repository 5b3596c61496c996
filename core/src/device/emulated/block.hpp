// A block of an emulated launch, its threads and their barriers.
//
// Threads are fibers of one carrier, so nothing here is ever touched by two processors at once. A barrier counts
// arrivals and does not wait for threads that have returned. Since only threads of the block can complete its
// barriers, a block all of whose live threads wait at barriers never goes on: that is found at once and reported.
#pragma once

#include "carrier.hpp"
#include "fiber.hpp"

#include <dcgn/gpu/kernel.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace dcgn::device {

class Block;
class Grid;

enum class Call : std::uint8_t { none, sync_block, whole_block, sync_warp, whole_warp, shuffle, ballot };

// One thread of a block: what a Context refers to.
class EmulatedThread final : public Fiber {
 public:
  EmulatedThread(Block& its_block, unsigned its_rank);
  void check_cancelled() const override;
  std::string who() const override;

  Block& block;
  const unsigned rank;
  const Dim3 index;

  Call waits_in = Call::none;
  EmulatedThread* next_waiter = nullptr;

 private:
  Fiber& run() override;
  std::string place() const;  // "block (0,0,0), thread (1,0,0)"
};

struct Barrier {
  unsigned size = 0;     // threads
  unsigned members = 0;  // of them, those that have not returned
  unsigned arrived = 0;
  Call call = Call::none;  // what the first of those is in
  EmulatedThread* waiters = nullptr;
  unsigned generation = 0;  // how often it has opened
};

// What the lanes of a warp give each other. An exchange uses one of two slots in turn: a lane may begin the next one
// while others still read this one, but no lane can be two ahead.
struct Warp : Barrier {
  struct Slot {
    std::uint32_t present = 0;
    std::uint32_t predicates = 0;
    Call call = Call::none;
    std::array<std::uint64_t, gpu::warp_size> values;
  };
  std::array<Slot, 2> slots;
};

class Block {
 public:
  // Its threads are fibers of the carrier and can run at once.
  Block(Grid& its_grid, unsigned rank, Carrier& its_carrier);
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  Grid& grid;
  Carrier& carrier;
  const Dim3 index;

  void* shared() noexcept { return memory_.data(); }
  void* scratch() noexcept { return scratch_; }

  void sync(EmulatedThread& thread, Call call);
  // An exchange with the other lanes of the warp: gives `value` and `predicate`, returns what all have given.
  const Warp::Slot& exchange(EmulatedThread& thread, Call call, std::uint64_t value, bool predicate);
  void ended(EmulatedThread& thread) noexcept;
  // Throws Cancelled where the launch has failed, unless an exception is on its way already.
  void check_cancelled() const;

 private:
  struct alignas(128) Line {
    std::byte bytes[128];
  };

  void wait(EmulatedThread& thread, Barrier& barrier, Call call);
  // Fails the launch where the call needs threads that have returned.
  void check_whole(const Barrier& barrier) noexcept;
  void open(Barrier& barrier) noexcept;
  void stuck() noexcept;
  std::string who_waits_where() const;

  std::vector<Line> memory_;  // dynamic shared memory
  alignas(16) std::byte scratch_[gpu::block_scratch_bytes + gpu::block_table_bytes];
  Barrier barrier_;
  std::vector<Warp> warps_;
  unsigned live_;
  unsigned waiting_ = 0;
  std::deque<EmulatedThread> threads_;
};

}  // namespace dcgn::device
