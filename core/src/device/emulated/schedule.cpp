#include "schedule.hpp"

#include "../processor.hpp"
#include "sanitizer.hpp"

#include <dcgn/arch/atomic.hpp>
#include <dcgn/error.hpp>

#include <cstddef>
#include <utility>

namespace dcgn::device {

using sanitizer::Unobserved;

namespace {

constinit thread_local Schedule* running_schedule = nullptr;

constexpr std::uint64_t turns_alike = 2048;  // before others are preferred
constexpr std::uint32_t seldom = 64;

}  // namespace

const char* to_string(Strategy strategy) noexcept {
  switch (strategy) {
    case Strategy::chance: return "chance";
    case Strategy::delay: return "delay";
    case Strategy::pair: return "pair";
    case Strategy::bursts: return "bursts";
    case Strategy::steps: return "steps";
    case Strategy::copies: return "copies";
  }
  return "?";
}

Strategy strategy_of(const std::string& name) {
  std::string names;
  for (const Strategy s : all_strategies) {
    if (name == to_string(s)) return s;
    names += std::string(names.empty() ? "" : ", ") + to_string(s);
  }
  throw Error(Code::configuration, "schedule", "strategy \"" + name + "\", expected one of " + names);
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

Schedule::Schedule(std::uint64_t seed, Strategy strategy) : random_(seed), strategy_(strategy) {}
Schedule::~Schedule() = default;

Schedule* Schedule::current() noexcept { return running_schedule; }

void Schedule::add(std::string name, std::function<void()> body) {
  auto fiber = std::make_unique<Body>(*this, std::move(name), std::move(body));
  const Unobserved here;
  bodies_.push_back(std::move(fiber));
  Carrier::add(*bodies_.back());
}

void Schedule::perform(std::function<void()> copy) {
  if (strategy_ != Strategy::copies) return copy();
  add("a copy", [this, copy = std::move(copy)] {
    std::uint32_t turns;
    {
      const Unobserved here;
      turns = random_.below(seldom);
    }
    for (; turns; --turns) yield();
    copy();
  });
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
  if (runnable_.empty() || strategy_ == Strategy::bursts) return;
  if (strategy_ != Strategy::steps && random_.next() >> 62 != 0) return;
  Fiber* next = take();
  put(running());
  go(*next);
}

void Schedule::put(Fiber& fiber) { runnable_.push_back(&fiber); }

std::size_t Schedule::choose() noexcept {
  const auto count = static_cast<std::uint32_t>(runnable_.size());
  const std::size_t any = random_.below(count);
  const auto is = [this](std::size_t i, int which) { return runnable_[i]->id == preferred_[which]; };
  if (steps_ % turns_alike == 0 && (strategy_ == Strategy::delay || strategy_ == Strategy::pair)) {
    const std::uint32_t one = random_.below(count), beside = count > 1 ? 1 + random_.below(count - 1) : 0;
    preferred_[0] = runnable_[one]->id;
    preferred_[1] = runnable_[(one + beside) % count]->id;
  }
  switch (strategy_) {
    case Strategy::chance:
    case Strategy::bursts:
    case Strategy::copies: return any;
    case Strategy::delay: return count > 1 && is(any, 0) && random_.below(seldom) ? (any + 1) % count : any;
    case Strategy::pair:
      if (random_.below(seldom))
        for (std::size_t i = 0; i < count; ++i)
          if (is(i, 0) || is(i, 1)) return i;
      return any;
    case Strategy::steps: return random_.below(seldom) ? 0 : any;
  }
  return any;
}

Fiber* Schedule::take() noexcept {
  if (runnable_.empty()) return nullptr;
  const std::size_t chosen = choose();
  Fiber* fiber = runnable_[chosen];
  if (strategy_ == Strategy::steps) {  // the others keep their order
    runnable_.erase(runnable_.begin() + static_cast<std::ptrdiff_t>(chosen));
  } else {
    runnable_[chosen] = runnable_.back();
    runnable_.pop_back();
  }
  ++steps_;
  trace_ = (trace_ ^ fiber->id) * 0x9e3779b97f4a7c15u;
  trace_ ^= trace_ >> 32;
  return fiber;
}

}  // namespace dcgn::device
