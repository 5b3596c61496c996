// Work that any thread of the host does while it waits, for itself and for all others: one of them at a time.
#pragma once

#include <atomic>

namespace dcgn::device {

class SharedWork {
 public:
  // The right to do shared work; false where another thread has it.
  class Turn {
   public:
    Turn() noexcept : has_(!taken.exchange(true, std::memory_order_acquire)) {}
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    ~Turn() {
      if (has_) taken.store(false, std::memory_order_release);
    }
    explicit operator bool() const noexcept { return has_; }

   private:
    bool has_;
  };

  SharedWork() = default;
  SharedWork(const SharedWork&) = delete;
  SharedWork& operator=(const SharedWork&) = delete;

  // Offers this, and all that the caller has done so far, to threads that wait, unless something else is offered. Must
  // be withdrawn before it goes; then nobody is at it any more.
  void offer() noexcept;
  void withdraw() noexcept;

  // Does a step of what is offered, if there is anything and nobody else is at it: called by a thread that waits; or,
  // of what this rank has just sent, by one that does not. Whether that changed anything.
  static constexpr int everything = -1;
  static bool help(int sender = everything) noexcept {
    if (!offered.load(std::memory_order_relaxed)) return false;
    const Turn turn;
    if (!turn) return false;
    SharedWork* const work = offered.load(std::memory_order_acquire);
    return work && work->lend_a_hand(sender);
  }

 protected:
  ~SharedWork() = default;

 private:
  // A step of it, with the turn. Whether there was one to do.
  virtual bool lend_a_hand(int sender) noexcept = 0;

  static inline constinit std::atomic<bool> taken{false};
  static inline constinit std::atomic<SharedWork*> offered{nullptr};
};

}  // namespace dcgn::device
