// What becomes of the messages of a stream, told from their numbers.
#include "core/bench/rate_kernel.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>
#include <vector>

using namespace dcgn::bench;

namespace {

StreamResult result_of(const std::vector<std::uint64_t>& numbers, std::uint64_t sent) {
  StreamResult r{};
  Order order(r);
  for (const std::uint64_t number : numbers) order.take(number);
  order.end(sent);
  return r;
}

void expect(const StreamResult& r, std::uint64_t lost, std::uint64_t duplicates, std::uint64_t reordered) {
  EXPECT_EQ(r.lost, lost);
  EXPECT_EQ(r.duplicates, duplicates);
  EXPECT_EQ(r.reordered, reordered);
}

TEST(Order, FindsNothingInAStreamAsItWasSent) {
  expect(result_of({}, 0), 0, 0, 0);
  expect(result_of({0, 1, 2, 3}, 4), 0, 0, 0);
  EXPECT_EQ(result_of({0, 1, 2, 3}, 4).sent, 4u);
}

TEST(Order, FindsLossAtEveryPlace) {
  expect(result_of({1, 2, 3}, 4), 1, 0, 0);
  expect(result_of({0, 3}, 4), 2, 0, 0);
  expect(result_of({0, 1}, 4), 2, 0, 0);
  expect(result_of({}, 4), 4, 0, 0);
  expect(result_of({0, 1000}, 1002), 1000, 0, 0);
}

TEST(Order, FindsDuplicates) {
  expect(result_of({0, 0, 1}, 2), 0, 1, 0);
  expect(result_of({0, 1, 2, 0}, 3), 0, 1, 0);
  expect(result_of({0, 1, 1, 1}, 2), 0, 2, 0);
}

TEST(Order, FindsThoseThatAreLateAndDoesNotCallThemLost) {
  expect(result_of({1, 0}, 2), 0, 0, 1);
  expect(result_of({0, 2, 3, 1, 4}, 5), 0, 0, 1);
  expect(result_of({2, 0, 0}, 3), 1, 1, 1);
}

TEST(Order, RemembersTheLatest64) {
  std::vector<std::uint64_t> numbers;
  for (std::uint64_t i = 1; i < 64; ++i) numbers.push_back(i);
  numbers.push_back(0);  // 63 after it came first
  expect(result_of(numbers, 64), 0, 0, 1);
  numbers.back() = 64;
  numbers.push_back(0);
  expect(result_of(numbers, 65), 1, 1, 0);
}

}  // namespace
