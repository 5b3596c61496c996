// The master's book of strips.
#include "apps/mandelbrot/strips.hpp"

#include <gtest/gtest.h>
#include <dcgn/error.hpp>

#include <random>
#include <vector>

using namespace dcgn::mandelbrot;

namespace {

TEST(StripBook, EveryRowIsHandedOutExactlyOnceWhateverTheOrder) {
  for (const unsigned seed : {1u, 2u, 3u}) {
    std::mt19937 random(seed);
    constexpr int height = 101, ranks = 5;
    StripBook book(height, 7, ranks);
    EXPECT_EQ(book.strips(), 15);
    std::vector<int> times(height, 0), owner(height, -1);
    std::vector<Strip> held(ranks);
    while (book.rows_returned() < height) {
      const int rank = 1 + static_cast<int>(random() % (ranks - 1));
      Strip& strip = held[static_cast<std::size_t>(rank)];
      if (strip.rows) {
        book.take_back(rank, strip);
        strip = {};
      } else {
        strip = book.hand_out(rank);
        for (int row = strip.first; row < strip.first + strip.rows; ++row) {
          ++times[static_cast<std::size_t>(row)];
          owner[static_cast<std::size_t>(row)] = rank;
        }
      }
    }
    EXPECT_EQ(times, std::vector<int>(height, 1)) << "seed " << seed;
    for (int s = 0; s < book.strips(); ++s)
      EXPECT_EQ(book.owners()[static_cast<std::size_t>(s)], owner[static_cast<std::size_t>(7 * s)]);
    EXPECT_EQ(book.rows_returned(), height);
    EXPECT_EQ(book.hand_out(1).rows, 0);
  }
}

TEST(StripBook, RefusesAStripThatIsNotInProgressThere) {
  StripBook book(20, 5, 3);
  const Strip first = book.hand_out(1), second = book.hand_out(2);
  EXPECT_THROW(book.take_back(1, second), dcgn::Error);
  book.take_back(1, first);
  EXPECT_THROW(book.take_back(1, first), dcgn::Error);
  EXPECT_EQ(book.rows_returned(), 5);
}

}  // namespace
