// Threads that do the same for several parts.
#include "vgpu/src/crew.hpp"

#include <dcgn/error.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using dcgn::virtual_gpu::Crew;

namespace {

constexpr double long_enough = 60;

std::shared_ptr<const Crew::Work> work_of(Crew::Work work) {
  return std::make_shared<const Crew::Work>(std::move(work));
}

}  // namespace

TEST(Crew, does_each_part_once_in_each_round) {
  Crew crew(3);
  std::vector<int> times(4);  // each by one thread only, and read when all have returned
  const auto work = work_of([&](int part) { ++times[static_cast<std::size_t>(part)]; });
  for (int round = 1; round <= 3000; ++round) {
    crew.run(work, long_enough);
    ASSERT_EQ(times, std::vector<int>(4, round));
    // Long enough for helpers to fall asleep, or to be about to.
    if (round % 300 == 0) std::this_thread::sleep_for(std::chrono::microseconds(400 + round / 10));
  }
}

TEST(Crew, uses_threads_of_its_own) {
  Crew crew(2);
  std::vector<std::thread::id> first(3), second(3);
  crew.run(work_of([&](int part) { first[static_cast<std::size_t>(part)] = std::this_thread::get_id(); }), long_enough);
  crew.run(work_of([&](int part) { second[static_cast<std::size_t>(part)] = std::this_thread::get_id(); }),
           long_enough);
  EXPECT_EQ(first, second);
  EXPECT_EQ(first[0], std::this_thread::get_id());
  EXPECT_NE(first[1], first[0]);
  EXPECT_NE(first[2], first[1]);
}

TEST(Crew, throws_what_a_part_has_thrown_and_goes_on) {
  Crew crew(2);
  for (int who = 0; who < 3; ++who) {
    std::vector<int> done(3);
    try {
      crew.run(work_of([&](int part) {
                 if (part == who) throw std::runtime_error("part " + std::to_string(part));
                 done[static_cast<std::size_t>(part)] = 1;
               }),
               long_enough);
      ADD_FAILURE() << "nothing was thrown";
    } catch (const std::runtime_error& e) {
      EXPECT_EQ(e.what(), "part " + std::to_string(who));
    }
    EXPECT_EQ(std::accumulate(done.begin(), done.end(), 0), 2);
  }
  crew.run(work_of([](int) {}), long_enough);
}

TEST(Crew, may_be_the_caller_alone) {
  Crew crew(0);
  int parts = 0;
  crew.run(work_of([&](int part) { parts += part + 1; }), long_enough);
  EXPECT_EQ(parts, 1);
}

// What a helper is at that does not come back.
struct Stuck {
  std::atomic<bool> go_on{false};
  std::atomic<int> ended{0};
};

TEST(Crew, names_who_has_not_returned_by_the_deadline_and_leaves_it_what_it_holds) {
  const auto stuck = std::make_shared<Stuck>();
  const auto wait = work_of([stuck](int part) {
    while (part == 2 && !stuck->go_on) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ++stuck->ended;
  });
  {
    Crew crew(2);
    for (int call = 0; call < 2; ++call) {
      try {
        crew.run(wait, 0.05);
        ADD_FAILURE() << "nothing was thrown";
      } catch (const dcgn::Error& e) {
        EXPECT_EQ(e.code(), dcgn::Code::deadline);
        EXPECT_STREQ(
            e.what(),
            "dcgn: launch: part 2 has not taken its blocks for 0.05 s, expected it sooner: Options::deadline_s, "
            "DCGN_DEADLINE");
      }
    }
    EXPECT_EQ(stuck->ended, 2);  // parts 0 and 1, in the first call
    stuck->go_on = true;
    crew.run(wait, long_enough);  // all are back
    EXPECT_EQ(stuck->ended, 6);
    stuck->go_on = false;
    EXPECT_THROW(crew.run(wait, 0.02), dcgn::Error);
  }
  // Without the crew, its thread goes on with what it holds.
  stuck->go_on = true;
  for (int i = 0; i < 10'000 && stuck->ended != 9; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(stuck->ended, 9);
}
