// Threads that do the same for several parts.
#include "virtual_gpu/crew.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using dcgn::virtual_gpu::Crew;

TEST(Crew, does_each_part_once_in_each_round) {
  Crew crew(3);
  std::vector<int> times(4);  // each by one thread only, and read when all have returned
  for (int round = 1; round <= 3000; ++round) {
    crew.run([&](int part) { ++times[static_cast<std::size_t>(part)]; });
    ASSERT_EQ(times, std::vector<int>(4, round));
    // Long enough for helpers to fall asleep, or to be about to.
    if (round % 300 == 0) std::this_thread::sleep_for(std::chrono::microseconds(400 + round / 10));
  }
}

TEST(Crew, uses_threads_of_its_own) {
  Crew crew(2);
  std::vector<std::thread::id> first(3), second(3);
  crew.run([&](int part) { first[static_cast<std::size_t>(part)] = std::this_thread::get_id(); });
  crew.run([&](int part) { second[static_cast<std::size_t>(part)] = std::this_thread::get_id(); });
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
      crew.run([&](int part) {
        if (part == who) throw std::runtime_error("part " + std::to_string(part));
        done[static_cast<std::size_t>(part)] = 1;
      });
      ADD_FAILURE() << "nothing was thrown";
    } catch (const std::runtime_error& e) {
      EXPECT_EQ(e.what(), "part " + std::to_string(who));
    }
    EXPECT_EQ(std::accumulate(done.begin(), done.end(), 0), 2);
  }
  crew.run([](int) {});
}

TEST(Crew, may_be_the_caller_alone) {
  Crew crew(0);
  int parts = 0;
  crew.run([&](int part) { parts += part + 1; });
  EXPECT_EQ(parts, 1);
}
