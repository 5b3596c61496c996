// Deterministic mode: the same seed is the same interleaving.
#include "device_kernels.hpp"
#include "support.hpp"

#include "device/emulated/schedule.hpp"

#include <dcgn/gpu/launch.hpp>

#include <algorithm>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>

namespace dcgn::test {
namespace {

using device::Schedule;
using device::Strategy;

struct Outcome {
  std::string order;
  std::uint64_t steps, trace;
  bool operator==(const Outcome&) const = default;
};

// Four fibers each say their letter three times.
Outcome letters(std::uint64_t seed, Strategy strategy = Strategy::chance) {
  std::string order;
  std::mutex mutex;  // taking turns orders nothing for ThreadSanitizer
  Schedule schedule(seed, strategy);
  for (char letter = 'a'; letter < 'e'; ++letter)
    schedule.add(std::string(1, letter), [&order, &mutex, letter] {
      for (int i = 0; i < 3; ++i) {
        {
          const std::lock_guard lock(mutex);
          order += letter;
        }
        relax();
      }
    });
  schedule.run();
  return {order, schedule.steps(), schedule.trace()};
}

TEST(Schedule, SameSeedReplaysAndOtherSeedsDiffer) {
  std::set<std::string> orders;
  std::set<std::uint64_t> traces;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const Outcome outcome = letters(seed);
    EXPECT_EQ(outcome, letters(seed)) << "seed " << seed;
    EXPECT_GE(outcome.steps, 12u);
    orders.insert(outcome.order);
    traces.insert(outcome.trace);
    std::string sorted = outcome.order;
    std::sort(sorted.begin(), sorted.end());
    EXPECT_EQ(sorted, "aaabbbcccddd");
  }
  EXPECT_GT(orders.size(), 40u);
  EXPECT_EQ(traces.size(), 50u);
}

TEST(Schedule, EveryStrategyReplaysAndHasAllEnd) {
  for (const Strategy strategy : device::all_strategies) {
    SCOPED_TRACE(to_string(strategy));
    EXPECT_EQ(device::strategy_of(to_string(strategy)), strategy);
    std::set<std::string> orders;
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
      const Outcome outcome = letters(seed, strategy);
      EXPECT_EQ(outcome, letters(seed, strategy)) << "seed " << seed;
      orders.insert(outcome.order);
    }
    EXPECT_GT(orders.size(), 2u);
  }
  const std::string said = error_of([] { device::strategy_of("luck"); }).what();
  EXPECT_TRUE(contains(said, "strategy \"luck\", expected one of chance, delay, pair, bursts, steps, copies"));
}

// How often each of five fibers has had a turn when one of them has had 500.
std::vector<int> turns_of_five(Strategy strategy, std::uint64_t seed) {
  std::vector<int> turns(5);
  std::mutex mutex;
  bool over = false;
  Schedule schedule(seed, strategy);
  for (int& mine : turns)
    schedule.add("counter", [&] {
      for (bool go_on = true; go_on; relax()) {
        const std::lock_guard lock(mutex);
        over |= ++mine == 500;
        go_on = !over;
      }
    });
  schedule.run();
  std::sort(turns.begin(), turns.end());
  return turns;
}

TEST(Schedule, OneIsDelayedOrTwoArePreferred) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    EXPECT_GT(turns_of_five(Strategy::chance, seed)[0], 250);
    const std::vector<int> delay = turns_of_five(Strategy::delay, seed), pair = turns_of_five(Strategy::pair, seed);
    EXPECT_LT(delay[0], 50);
    EXPECT_GT(delay[1], 250);
    EXPECT_LT(pair[2], 50);
  }
}

TEST(Schedule, CopiesAreDoneLaterInAnyOrder) {
  std::set<std::string> orders;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    std::string order;
    std::mutex mutex;
    const auto add = [&](char letter) {
      const std::lock_guard lock(mutex);
      order += letter;
    };
    Schedule schedule(seed, Strategy::copies);
    schedule.add("rank", [&] {
      for (const char letter : {'a', 'b', 'c'}) schedule.perform([&add, letter] { add(letter); });
      add('!');
    });
    schedule.run();
    EXPECT_EQ(order.front(), '!') << "seed " << seed;
    orders.insert(order);
  }
  EXPECT_EQ(orders.size(), 6u);
}

TEST(Schedule, BurstsEndWhereTheyWaitAndStepsAtEverySchedulePoint) {
  for (std::uint64_t seed = 0; seed < 20; ++seed)
    for (const Strategy strategy : {Strategy::bursts, Strategy::steps}) {
      std::uint32_t word = 0;
      Schedule schedule(seed, strategy);
      for (int i = 0; i < 2; ++i) schedule.add("adder", [&word] { store_release(word, load_acquire(word) + 1); });
      schedule.run();
      EXPECT_EQ(word, strategy == Strategy::bursts ? 2u : 1u) << to_string(strategy) << ", seed " << seed;
    }
}

// A read and a write of one word, with a gap that another fiber can slip into.
TEST(Schedule, SchedulePointsExposeALostUpdate) {
  bool lost = false, kept = false;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    std::uint32_t word = 0;
    Schedule schedule(seed);
    for (int i = 0; i < 2; ++i) schedule.add("adder", [&word] { store_release(word, load_acquire(word) + 1); });
    schedule.run();
    (word == 2 ? kept : lost) = true;
  }
  EXPECT_TRUE(lost);
  EXPECT_TRUE(kept);
}

TEST(Schedule, IsCurrentOnlyWhileItRuns) {
  EXPECT_EQ(Schedule::current(), nullptr);
  Schedule schedule(1);
  Schedule* seen = nullptr;
  schedule.add("looker", [&] { seen = Schedule::current(); });
  schedule.run();
  EXPECT_EQ(seen, &schedule);
  EXPECT_EQ(Schedule::current(), nullptr);
  EXPECT_FALSE(dcgn::detail::exploring);
}

TEST(Schedule, RunsOnWhicheverThreadCallsRun) {
  Schedule schedule(2);
  std::uint32_t sum = 0;
  for (int i = 0; i < 3; ++i)
    schedule.add("adder", [&sum] {
      relax();
      fetch_add(sum, 1u);
    });
  std::thread([&] { schedule.run(); }).join();
  EXPECT_EQ(sum, 3u);
}

TEST(Schedule, FibersMayAddFibers) {
  Schedule schedule(3);
  std::uint32_t sum = 0;
  schedule.add("parent", [&] {
    for (std::uint32_t i = 1; i <= 10; ++i) schedule.add("child", [&sum, i] { fetch_add(sum, i); });
    while (load_acquire(sum) != 55) relax();
  });
  schedule.run();
  EXPECT_EQ(sum, 55u);
}

TEST(Schedule, AnEscapedExceptionIsRethrownAfterAllHaveEnded) {
  Schedule schedule(4);
  std::uint32_t ended = 0;
  schedule.add("thrower", [] { throw std::runtime_error("escaped"); });
  for (int i = 0; i < 3; ++i)
    schedule.add("other", [&] {
      for (int k = 0; k < 10; ++k) relax();
      fetch_add(ended, 1u);
    });
  EXPECT_THROW(schedule.run(), std::runtime_error);
  EXPECT_EQ(ended, 3u);
}

// Exceptions in flight, and the rank served, belong to the fiber and not to the thread that carries it.
TEST(Schedule, EveryFiberHasItsOwnExceptionsAndAgent) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Schedule schedule(seed);
    std::uint32_t right = 0;
    for (int i = 0; i < 8; ++i)
      schedule.add("thrower", [&right, i] {
        int own = 0;
        dcgn::detail::agent = &own;
        try {
          throw i;
        } catch (int) {
          for (int k = 0; k < i + 3; ++k) relax();
          try {
            throw;  // the exception that this fiber handles, and no other's
          } catch (int again) {
            if (again == i && dcgn::detail::agent == &own) fetch_add(right, 1u);
          }
        }
      });
    schedule.run();
    EXPECT_EQ(right, 8u) << "seed " << seed;
    EXPECT_EQ(dcgn::detail::agent, nullptr);
  }
}

TEST_F(Emulated, LaunchesFromAFiberJoinItsSchedule) {
  const Device device(0);
  std::set<std::uint64_t> traces;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const auto once = [&] {
      const auto turn = zeroed<std::uint32_t>(device, 1);
      const auto data = zeroed<std::uint64_t>(device, 1);
      std::vector<std::uint64_t> seen(1);
      std::uint64_t elsewhere = 0;
      Schedule schedule(seed);
      schedule.add("rank 0", [&] {
        Stream stream(device);
        device.launch(stream, {.grid = 4, .block = 8}, PassToken{}, turn.data(), data.data(), 3u);
        device.launch(stream, {.grid = 2, .block = 3, .resident = false}, Count{}, data.data());
        device.copy(stream, seen.data(), data.data(), 8);
        EXPECT_FALSE(stream.idle());
        stream.synchronize();
      });
      schedule.add("rank 1", [&] {
        while (load_acquire(*turn.data()) == 0) relax();  // runs between the threads of rank 0's kernel
        elsewhere = 1;
      });
      schedule.run();
      EXPECT_EQ(seen[0], 12u + 6u) << "seed " << seed;
      EXPECT_EQ(elsewhere, 1u);
      return schedule.trace();
    };
    const std::uint64_t trace = once();
    EXPECT_EQ(trace, once()) << "seed " << seed;
    traces.insert(trace);
  }
  EXPECT_EQ(traces.size(), 20u);
}

TEST_F(Emulated, FailuresInAScheduleSurfaceAtSynchronize) {
  const Device device(0);
  const SharedWord never(device);
  Schedule schedule(5);
  std::string thrown, stuck;
  schedule.add("rank 0", [&] {
    thrown = error_of([&] { run(device, {.grid = 4, .block = 40}, ThrowInOne{}, never.get(), 2u, 5u); }).what();
    stuck = error_of([&] { run(device, {.grid = 1, .block = 64}, SplitBarrier{}, 40u); }).what();
  });
  schedule.run();
  EXPECT_TRUE(contains(thrown, "block (2,0,0), thread (5,0,0): the seventh seal"));
  EXPECT_TRUE(contains(stuck, "threads 0..39 in sync_block, threads 40..63 in sync_warp"));
}

}  // namespace
}  // namespace dcgn::test
