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
// made from a fiber become fibers of the same schedule. A Strategy has chance prefer what goes wrong seldom.
#pragma once

#include "carrier.hpp"
#include "random.hpp"

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace dcgn::device {

// None lets anybody starve for good.
enum class Strategy {
  chance,  // prefers nobody
  delay,   // one fiber, another one every so often, gets one turn in 64
  pair,    // two fibers, others every so often, get nearly all turns: the lanes of all others starve
  bursts,  // who goes on does so until it must wait: rings are full to the last packet before anybody looks
  steps,   // somebody else goes on at every schedule point, in turn: each packet is looked for before the next is
           // written
  copies,  // copies of an engine are done later and in any order
};
inline constexpr Strategy all_strategies[] = {Strategy::chance, Strategy::delay, Strategy::pair,
                                              Strategy::bursts, Strategy::steps, Strategy::copies};
const char* to_string(Strategy strategy) noexcept;
// Of this name; throws Error(configuration) where there is none.
Strategy strategy_of(const std::string& name);

class Schedule final : public Carrier {
 public:
  explicit Schedule(std::uint64_t seed, Strategy strategy = Strategy::chance);
  ~Schedule() override;

  // A fiber of its own for `body`, with a stack of 256 KB. Before run(), or from a fiber while it runs.
  void add(std::string name, std::function<void()> body);
  using Carrier::add;

  // Does it now; with Strategy::copies in a fiber of its own, some turns later.
  void perform(std::function<void()> copy);

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
  std::size_t choose() noexcept;  // among those that can run

  Random random_;
  const Strategy strategy_;
  std::uint64_t preferred_[2] = {};  // delay: the one that is not; pair: the two
  std::vector<Fiber*> runnable_;
  std::vector<std::unique_ptr<Body>> bodies_;
  std::exception_ptr escaped_;
  std::uint64_t steps_ = 0;
  std::uint64_t trace_ = 0;
};

}  // namespace dcgn::device
