// The thread of the operating system that fibers run on, one at a time: takes turns among those that can run.
//
// Two kinds: the thread of one block (block_thread.hpp), in turn, and the deterministic Schedule, by chance.
#pragma once

#include "fiber.hpp"

#include <cstdint>

namespace dcgn::device {

// Thrown out of a wait in a kernel whose launch has failed elsewhere, as a fault ends a whole grid on a GPU.
struct Cancelled {};

class Carrier {
 public:
  // The carrier whose fiber is running on this thread; null on a plain thread.
  static Carrier* current() noexcept;

  Carrier() = default;
  Carrier(const Carrier&) = delete;
  Carrier& operator=(const Carrier&) = delete;
  virtual ~Carrier() = default;

  Fiber& running() const noexcept { return *running_; }

  // The running fiber waits for somebody else's progress: others go first.
  virtual void relax() = 0;
  // Some wait on this carrier is over.
  virtual void progressed() {}
  // The running fiber could be overtaken here.
  virtual void schedule_point() {}

  void add(Fiber& fiber);    // can run, and is not waited for until it has ended
  void wake(Fiber& fiber);   // can run again after suspend()
  void suspend();            // the running fiber cannot run until woken
  Fiber& finish() noexcept;  // the running fiber has ended; returns the one to go on with

  // The running fiber lets another, which is not among those that can run, stand in for it: returns when that one
  // switches back. Who is stood in for goes on where the stand-in has ended: yield_to() returns it.
  void switch_to(Fiber& other) noexcept;
  Fiber& yield_to(Fiber& other) noexcept;

 protected:
  // Runs on the calling thread until all fibers have ended.
  void drive();
  void go(Fiber& next) noexcept;

  virtual void put(Fiber& fiber) = 0;  // among those that can run
  virtual Fiber* take() noexcept = 0;  // the one to run next, or null

 private:
  Fiber self_;  // the carrier's own thread
  Fiber* running_ = &self_;
  std::uint64_t added_ = 0;
  std::uint64_t live_ = 0;
};

}  // namespace dcgn::device
