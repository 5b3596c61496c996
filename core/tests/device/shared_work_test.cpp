// Work that threads do while they wait.
#include "device/shared_work.hpp"

#include <dcgn/arch/relax.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <thread>

namespace dcgn::test {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// Plain variables: only the turns, and what is offered, keep apart the threads that use them.
class Sum : public device::SharedWork {
 public:
  explicit Sum(long start) : sum(start) {}
  long sum;
  std::atomic<long> steps{0};

 private:
  bool lend_a_hand(int) noexcept override {
    ++sum;
    steps.fetch_add(1, std::memory_order_relaxed);
    return true;
  }
};

// Waits, as a rank does, until so many steps are done; by the calling thread among others.
void wait_for(const Sum& work, long steps) {
  const auto until = Clock::now() + 30s;
  while (work.steps.load(std::memory_order_relaxed) < steps && Clock::now() < until) relax();
  detail::relax_reset_host();
}

// ThreadSanitizer sees an offer that does not take along what was done before it.
TEST(SharedWork, ThreadsThatWaitSeeWhatWasDoneBeforeItWasOffered) {
  for (long round = 0; round < 20; ++round) {
    Sum work(round);
    std::array<std::thread, 3> waiting;
    std::atomic<int> began{0};
    for (std::thread& t : waiting)
      t = std::thread([&] {
        began.fetch_add(1, std::memory_order_relaxed);
        wait_for(work, 100);
      });
    while (began.load(std::memory_order_relaxed) < 3) std::this_thread::yield();
    work.sum += 1000;
    work.offer();
    for (std::thread& t : waiting) t.join();
    work.withdraw();
    EXPECT_GE(work.steps, 100);
    EXPECT_EQ(work.sum, round + 1000 + work.steps);
  }
}

TEST(SharedWork, NobodyIsAtItOnceItIsWithdrawn) {
  std::atomic<bool> over{false};
  std::thread waiting([&] {
    while (!over.load(std::memory_order_relaxed)) relax();
    detail::relax_reset_host();
  });
  for (int round = 0; round < 20; ++round) {
    Sum work(0);
    work.offer();
    wait_for(work, 10);
    work.withdraw();
    const long sum = work.sum;
    std::this_thread::yield();
    EXPECT_EQ(work.sum, sum);
  }
  over = true;
  waiting.join();
}

// Only one is offered at a time, and another's withdrawal leaves it.
TEST(SharedWork, WhatIsOfferedFirstStays) {
  Sum first(0), second(0);
  first.offer();
  second.offer();
  second.withdraw();
  wait_for(first, 10);
  first.withdraw();
  EXPECT_GE(first.sum, 10);
  EXPECT_EQ(second.sum, 0);
  second.offer();
  wait_for(second, 10);
  second.withdraw();
  EXPECT_GE(second.sum, 10);
}

}  // namespace
}  // namespace dcgn::test
