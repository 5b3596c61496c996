#include "phase_teller.hpp"

#include <utility>

namespace dcgn::message {

PhaseTeller::PhaseTeller(std::function<void(std::uint32_t)> store)
    : store_(std::move(store)), thread_([this] { work(); }) {}

PhaseTeller::~PhaseTeller() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void PhaseTeller::tell(std::uint32_t phase) {
  {
    const std::lock_guard lock(mutex_);
    news_ = phase;
  }
  changed_.notify_one();
}

void PhaseTeller::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return news_ || closing_; });
    if (!news_) return;
    const std::uint32_t phase = *std::exchange(news_, std::nullopt);
    lock.unlock();
    store_(phase);
    lock.lock();
  }
}

}  // namespace dcgn::message
