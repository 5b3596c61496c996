// A flow of control with a stack of its own, on one thread of the operating system.
#pragma once

#include "stack.hpp"

#include <cstdint>
#include <string>

namespace dcgn::device {

class Fiber {
 public:
  // Whether ThreadSanitizer takes a fiber for a thread of its own, or for part of the flow that makes it, with which it
  // takes turns.
  enum class Kin { own, same };

  Fiber() = default;                                   // a thread as it is: what its fibers come back to in the end
  explicit Fiber(StackSize size, Kin kin = Kin::own);  // begins run() when first switched to
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;
  virtual ~Fiber();

  // Goes on with `to`; returns when somebody switches back. Both belong to the calling thread. The state that C++ and
  // the library keep per thread (exceptions in flight, detail::agent) goes with the fiber.
  void switch_to(Fiber& to) noexcept;

  // Throws where the work that it belongs to has been given up.
  virtual void check_cancelled() const {}

  // Whose code it runs, for messages; empty where that is nobody's.
  virtual std::string who() const { return {}; }

  Fiber* next_in_queue = nullptr;  // its carrier's
  std::uint64_t id = 0;            // its place in the order in which its carrier got its fibers

 protected:
  // What the fiber does; returns the fiber to go on with when it has ended.
  virtual Fiber& run();

 private:
  struct Switch;       // fiber.cpp: what needs Boost.Context's types
  struct Exceptions {  // the layout of abi::__cxa_eh_globals
    void* caught = nullptr;
    unsigned uncaught = 0;
  };

  void prepare() noexcept;

  void* context_ = nullptr;  // where it goes on; null before it began
  Stack stack_;
  const bool is_thread_ = true;  // the thread itself, on the stack that it came with
  const StackSize size_ = StackSize::kernel;
  bool ended_ = false;
  Exceptions exceptions_;
  void* agent_ = nullptr;

  [[maybe_unused]] void* tsan_ = nullptr;  // ThreadSanitizer's fiber
  [[maybe_unused]] bool tsan_owned_ = false;
  [[maybe_unused]] void* asan_frames_ = nullptr;  // AddressSanitizer's fake stack while switched away
};

}  // namespace dcgn::device
