#include "schedule.hpp"

#include "../processor.hpp"
#include "sanitizer.hpp"

#include <dcgn/error.hpp>
#include <dcgn/gpu/atomic.hpp>

#include <utility>

namespace dcgn::device {

using sanitizer::Unobserved;

namespace {
constinit thread_local Schedule* running_schedule = nullptr;
}

class Schedule::Body final : public Fiber {
 public:
  Body(Schedule& schedule, std::string name, std::function<void()> body)
      : Fiber(StackSize::rank), schedule_(schedule), name_(std::move(name)), body_(std::move(body)) {}

  std::string who() const override { return name_; }

 private:
  Fiber& run() override {
    try {
      body_();
    } catch (...) {
      const Unobserved here;
      if (!schedule_.escaped_) schedule_.escaped_ = std::current_exception();
    }
    body_ = nullptr;        // what it holds ends with it, on its own fiber
    const Unobserved here;  // run() waits for no more than this
    sanitizer::release(&schedule_);
    return schedule_.finish();
  }

  Schedule& schedule_;
  const std::string name_;
  std::function<void()> body_;
};

Schedule::Schedule(std::uint64_t seed) : random_(seed) {}
Schedule::~Schedule() = default;

Schedule* Schedule::current() noexcept { return running_schedule; }

void Schedule::add(std::string name, std::function<void()> body) {
  auto fiber = std::make_unique<Body>(*this, std::move(name), std::move(body));
  const Unobserved here;
  bodies_.push_back(std::move(fiber));
  Carrier::add(*bodies_.back());
}

void Schedule::run() {
  if (Carrier::current())
    throw Error(Code::configuration, "Schedule::run", "called from a fiber, expected a thread outside any schedule");
  {
    const Unobserved here;  // fibers read both, which no barrier orders
    running_schedule = this;
    dcgn::detail::exploring = true;
    drive();
    dcgn::detail::exploring = false;
    running_schedule = nullptr;
  }
  sanitizer::acquire(this);
  bodies_.clear();
  if (escaped_) std::rethrow_exception(std::exchange(escaped_, nullptr));
}

void Schedule::relax() {
  const Unobserved here;
  if (Fiber* next = take()) {
    put(running());
    go(*next);
  } else {
    backoff.step();  // the only one left waits for something outside the schedule
  }
}

void Schedule::schedule_point() {
  const Unobserved here;
  if (runnable_.empty() || random_.next() >> 62 != 0) return;
  Fiber* next = take();
  put(running());
  go(*next);
}

void Schedule::put(Fiber& fiber) { runnable_.push_back(&fiber); }

Fiber* Schedule::take() noexcept {
  if (runnable_.empty()) return nullptr;
  Fiber*& chosen = runnable_[random_.below(static_cast<std::uint32_t>(runnable_.size()))];
  Fiber* fiber = std::exchange(chosen, runnable_.back());
  runnable_.pop_back();
  ++steps_;
  trace_ = (trace_ ^ fiber->id) * 0x9e3779b97f4a7c15u;
  trace_ ^= trace_ >> 32;
  return fiber;
}

}  // namespace dcgn::device
