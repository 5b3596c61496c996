// Rounds are short and follow each other at once, so members look for the next one for a while before they sleep.
#include "memnet/src/team.hpp"

#include <dcgn/arch/relax.hpp>
#include <dcgn/error.hpp>

#include <string>
#include <system_error>
#include <utility>

namespace dcgn::memnet {
namespace {

constexpr int looks = 2000;  // for the next round, before a member sleeps

}  // namespace

Team::Team(int members, std::function<void(int)> work) : work_(std::move(work)) {
  for (int member = 1; member < members; ++member) {
    try {
      threads_.emplace_back([this, member] { serve(member); });
    } catch (const std::system_error& error) {
      end();
      throw Error(Code::configuration, "simulate",
                  "threads is " + std::to_string(members) + ", expected as many as can be started: " + error.what());
    }
  }
}

Team::~Team() { end(); }

void Team::end() {
  ends_ = true;
  round_.fetch_add(1, std::memory_order_release);
  round_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Team::run() {
  busy_.store(static_cast<int>(threads_.size()), std::memory_order_relaxed);
  round_.fetch_add(1, std::memory_order_release);
  round_.notify_all();
  do_work(0);
  while (busy_.load(std::memory_order_acquire) > 0) relax();
  detail::relax_reset_host();
  if (error_ != nullptr) std::rethrow_exception(std::exchange(error_, nullptr));
}

void Team::serve(int member) {
  for (std::uint32_t seen = 0;; ++seen) {
    for (int i = 0; i < looks && round_.load(std::memory_order_acquire) == seen; ++i) relax();
    detail::relax_reset_host();
    round_.wait(seen, std::memory_order_acquire);
    if (ends_) return;
    do_work(member);
    busy_.fetch_sub(1, std::memory_order_release);
  }
}

void Team::do_work(int member) noexcept {
  try {
    work_(member);
  } catch (...) {
    const std::lock_guard lock(mutex_);
    if (error_ == nullptr) error_ = std::current_exception();
  }
}

}  // namespace dcgn::memnet
