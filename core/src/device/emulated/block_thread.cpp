#include "block_thread.hpp"

#include "../processor.hpp"
#include "sanitizer.hpp"

namespace dcgn::device {

void BlockThread::relax() {
  const sanitizer::Unobserved here;
  // Everybody who can run has had a turn and found nothing: what they wait for must come from another processor.
  if (++relaxed_ > queued_) {
    relaxed_ = 0;
    backoff.step();
  }
  if (Fiber* next = take()) {
    put(running());
    go(*next);
  }
}

void BlockThread::put(Fiber& fiber) {
  fiber.next_in_queue = nullptr;
  (last_ ? last_->next_in_queue : first_) = &fiber;
  last_ = &fiber;
  ++queued_;
}

Fiber* BlockThread::take() noexcept {
  Fiber* fiber = first_;
  if (!fiber) return nullptr;
  first_ = fiber->next_in_queue;
  if (!first_) last_ = nullptr;
  --queued_;
  return fiber;
}

}  // namespace dcgn::device
