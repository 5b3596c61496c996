#include "emulated_stream.hpp"

#include "../early_exit.hpp"
#include "grid.hpp"
#include "schedule.hpp"

#include <cstring>
#include <memory>
#include <utility>

namespace dcgn::device {

EmulatedStream::~EmulatedStream() {
  wait_until_idle();
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

void EmulatedStream::wait_until_idle() {
  if (Schedule* schedule = Schedule::current()) {
    while (!idle()) schedule->relax();
  } else {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return undone_ == 0; });
  }
}

void EmulatedStream::synchronize() {
  wait_until_idle();
  std::exception_ptr failure;
  {
    const std::lock_guard lock(mutex_);
    failure = std::exchange(failure_, nullptr);
  }
  if (failure) std::rethrow_exception(failure);
}

bool EmulatedStream::idle() {
  const std::lock_guard lock(mutex_);
  return undone_ == 0;
}

void EmulatedStream::copy(void* to, const void* from, std::size_t bytes) {
  give([=] { std::memmove(to, from, bytes); });
}

void EmulatedStream::fill(void* memory, unsigned char value, std::size_t bytes) {
  give([=] { std::memset(memory, value, bytes); });
}

void EmulatedStream::launch(const Launch& launch, const dcgn::detail::KernelImage& image) {
  const auto at_once =
      static_cast<unsigned>(device_.blocks_per_multiprocessor(launch, image) * device_.properties().multiprocessors);
  std::string who = who_runs();
  if (who.empty()) who = "an emulated GPU";
  give([grid = std::make_shared<Grid>(launch, image, at_once, std::move(who))] { grid->run(); });
}

void EmulatedStream::give(std::function<void()> work) {
  Schedule* schedule = Schedule::current();
  if (schedule && !served_by_fiber()) wait_until_idle();  // what its thread still has to do comes first
  const std::lock_guard lock(mutex_);
  if (schedule && !fiber_serves_) {
    schedule->add("stream", [this] { serve_until_idle(); });
    fiber_serves_ = true;
  } else if (!schedule && !thread_.joinable()) {
    thread_ = std::thread([this] { serve(); });
  }
  queue_.push_back(std::move(work));
  ++undone_;
  changed_.notify_all();
}

bool EmulatedStream::served_by_fiber() {
  const std::lock_guard lock(mutex_);
  return fiber_serves_;
}

void EmulatedStream::do_first(std::unique_lock<std::mutex>& lock) {
  auto work = std::move(queue_.front());
  queue_.pop_front();
  const bool skip = failure_ != nullptr;
  lock.unlock();
  std::exception_ptr failure;
  try {
    if (!skip) work();
  } catch (...) {
    failure = std::current_exception();
  }
  work = nullptr;  // frees what the caller may expect to be free after synchronize()
  lock.lock();
  if (failure) failure_ = failure;
  if (--undone_ == 0) changed_.notify_all();
}

void EmulatedStream::serve() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return closing_ || (!queue_.empty() && !fiber_serves_); });
    if (queue_.empty()) return;
    do_first(lock);
  }
}

void EmulatedStream::serve_until_idle() {
  std::unique_lock lock(mutex_);
  while (!queue_.empty()) do_first(lock);
  fiber_serves_ = false;
}

}  // namespace dcgn::device
