// Deterministic mode: any number of ranks and kernel threads on one thread of the operating system, interleaved by a
// seed. The same seed replays the same interleaving; another seed is another one.
//
//   Schedule schedule(seed);
//   schedule.add("rank 0", [&] { ... });
//   schedule.add("rank 1", [&] { ... });
//   schedule.run();
//
// A fiber runs until it waits (relax(): another one that can run goes on, chosen at random), comes to a
// schedule_point() (another one goes on with probability 1/4), waits at a barrier, or ends. Launches on emulated GPUs
// made from a fiber become fibers of the same schedule.
#pragma once

#include "carrier.hpp"
#include "random.hpp"

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace dcgn::device {

class Schedule final : public Carrier {
 public:
  explicit Schedule(std::uint64_t seed);
  ~Schedule() override;

  // A fiber of its own for `body`, with a stack of 256 KB. Before run(), or from a fiber while it runs.
  void add(std::string name, std::function<void()> body);
  using Carrier::add;

  // Runs on the calling thread until all fibers have ended; then rethrows the first exception that left a body.
  void run();

  // The schedule that the calling thread runs; null outside.
  static Schedule* current() noexcept;

  // Another fiber that can run goes on, chosen at random.
  void yield() { relax(); }

  // Decisions so far, and a hash of them: equal for equal interleavings.
  std::uint64_t steps() const noexcept { return steps_; }
  std::uint64_t trace() const noexcept { return trace_; }

  void relax() override;
  void schedule_point() override;

 private:
  class Body;

  void put(Fiber& fiber) override;
  Fiber* take() noexcept override;

  Random random_;
  std::vector<Fiber*> runnable_;
  std::vector<std::unique_ptr<Body>> bodies_;
  std::exception_ptr escaped_;
  std::uint64_t steps_ = 0;
  std::uint64_t trace_ = 0;
};

}  // namespace dcgn::device
