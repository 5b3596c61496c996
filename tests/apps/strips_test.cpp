// The master's book of strips.
#include "apps/mandelbrot/strips.hpp"

#include <gtest/gtest.h>
#include <dcgn/error.hpp>

#include <cstdlib>
#include <random>
#include <vector>

using namespace dcgn::mandelbrot;

namespace {

TEST(StripBook, EveryPixelIsHandedOutExactlyOnceWhateverTheOrder) {
  for (const unsigned seed : {1u, 2u, 3u}) {
    std::mt19937 random(seed);
    constexpr int pixels = 101, ranks = 5;
    StripBook book(pixels, 7, ranks);
    EXPECT_EQ(book.strips(), 15);
    std::vector<int> times(pixels, 0), owner(pixels, -1);
    std::vector<Strip> held(ranks);
    while (book.pixels_returned() < pixels) {
      const int rank = 1 + static_cast<int>(random() % (ranks - 1));
      Strip& strip = held[static_cast<std::size_t>(rank)];
      if (strip.pixels) {
        book.take_back(rank, strip);
        strip = {};
      } else {
        strip = book.hand_out(rank);
        for (int k = strip.first; k < strip.first + strip.pixels; ++k) {
          ++times[static_cast<std::size_t>(k)];
          owner[static_cast<std::size_t>(k)] = rank;
        }
      }
    }
    EXPECT_EQ(times, std::vector<int>(pixels, 1)) << "seed " << seed;
    for (int s = 0; s < book.strips(); ++s)
      EXPECT_EQ(book.owners()[static_cast<std::size_t>(s)], owner[static_cast<std::size_t>(7 * s)]);
    EXPECT_EQ(book.pixels_returned(), pixels);
    EXPECT_EQ(book.hand_out(1).pixels, 0);
  }
}

TEST(StripBook, RefusesAStripThatIsNotInProgressThere) {
  StripBook book(20, 5, 3);
  const Strip first = book.hand_out(1), second = book.hand_out(2);
  EXPECT_THROW(book.take_back(1, second), dcgn::Error);
  book.take_back(1, first);
  EXPECT_THROW(book.take_back(1, first), dcgn::Error);
  EXPECT_EQ(book.pixels_returned(), 5);
}

TEST(StripBook, GoesFromTheMiddleOutwards) {
  for (const int pixels : {1, 10, 59, 60, 61}) {
    StripBook book(pixels, 10, 2);
    int before = 0;
    for (Strip s = book.hand_out(1); s.pixels; s = book.hand_out(1)) {
      const int away = std::abs(s.first / 10 - book.strips() / 2);
      EXPECT_GE(away, before);
      before = away;
      book.take_back(1, s);
    }
    EXPECT_EQ(book.pixels_returned(), pixels);
  }
}

}  // namespace
