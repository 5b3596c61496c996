#include "carrier.hpp"

#include "../processor.hpp"
#include "../shared_work.hpp"
#include "sanitizer.hpp"

#include <dcgn/arch/atomic.hpp>
#include <dcgn/arch/relax.hpp>

#include <cstdio>
#include <cstdlib>
#include <utility>

namespace dcgn {

namespace device {

using sanitizer::Unobserved;

namespace {

constinit thread_local Carrier* carrier = nullptr;

// Cannot happen while blocks find out by themselves when their barriers cannot complete.
[[noreturn]] void nobody_can_run() noexcept {
  std::fputs("dcgn: emulated GPU: internal error: every fiber is suspended\n", stderr);
  std::abort();
}

}  // namespace

Carrier* Carrier::current() noexcept { return carrier; }

void Carrier::add(Fiber& fiber) {
  sanitizer::release(&fiber);  // acquired when it begins
  const Unobserved here;
  fiber.id = added_++;
  ++live_;
  put(fiber);
}

void Carrier::wake(Fiber& fiber) {
  const Unobserved here;
  put(fiber);
}

void Carrier::go(Fiber& next) noexcept {
  Fiber& self = *std::exchange(running_, &next);
  self.switch_to(next);
}

void Carrier::suspend() {
  const Unobserved here;
  Fiber* next = take();
  if (!next) nobody_can_run();
  if (next != running_) go(*next);  // woken already, and first in turn
}

Fiber& Carrier::finish() noexcept {
  const Unobserved here;
  Fiber* next = take();
  if (--live_ == 0)
    next = &self_;
  else if (!next)
    nobody_can_run();
  return *(running_ = next);
}

// Nothing is unobserved over the switch: for ThreadSanitizer both may be one.
void Carrier::switch_to(Fiber& other) noexcept {
  Fiber* self;
  {
    const Unobserved here;
    self = std::exchange(running_, &other);
  }
  self->switch_to(other);
}

Fiber& Carrier::yield_to(Fiber& other) noexcept {
  const Unobserved here;
  return *(running_ = &other);
}

void Carrier::drive() {
  const Unobserved here;
  if (live_ == 0) return;
  Carrier* outer = std::exchange(carrier, this);
  Fiber* next = take();
  if (!next) nobody_can_run();
  go(*next);
  carrier = outer;
}

}  // namespace device

namespace detail {

void relax_host() {
  if (!device::carrier) {
    if (!device::SharedWork::help()) device::backoff.step();
    return;
  }
  device::carrier->relax();
  device::carrier->running().check_cancelled();
}

void pass_on_host(int sender) {
  if (!device::carrier) device::SharedWork::help(sender);
}

void relax_reset_host() {
  const device::Unobserved here;  // the fibers of a carrier share these
  if (device::carrier) device::carrier->progressed();
  device::backoff.reset();
}

constinit thread_local bool exploring = false;

void schedule_point_host() { device::carrier->schedule_point(); }

}  // namespace detail
}  // namespace dcgn
