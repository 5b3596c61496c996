// Which part runs which blocks.
#include "vgpu/src/chunks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

using namespace dcgn::virtual_gpu;

TEST(Chunks, are_a_run_each_that_covers_the_grid_evenly) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 2000; ++round) {
    const int parts = 1 + static_cast<int>(random() % 16);
    const std::uint64_t blocks = round % 2 ? random() % 200 : random() >> (random() % 60);
    const std::uint64_t step = round % 3 ? 1 : 1 + random() % 50;
    const std::vector<Chunk> chunks = split_evenly(blocks, parts, step);
    ASSERT_EQ(chunks.size(), static_cast<std::size_t>(parts));
    std::uint64_t next = 0, least = blocks, most = 0;
    for (const Chunk& chunk : chunks) {
      ASSERT_EQ(chunk.first, next);
      ASSERT_TRUE(chunk.count == 0 || chunk.first % step == 0);
      next += chunk.count;
      least = std::min(least, chunk.count);
      most = std::max(most, chunk.count);
    }
    ASSERT_EQ(next, blocks);
    // The last step may have fewer blocks.
    ASSERT_LT(most - least, 2 * step);
  }
  // A block alone is part 0's.
  EXPECT_EQ(split_evenly(1, 8)[0].count, 1U);
}

TEST(Chunks, are_whole_slices_of_a_grid_if_that_costs_little) {
  EXPECT_EQ(step_of_slices({8, 128, 1022}, 2, 1), 1024U) << "planes";
  EXPECT_EQ(step_of_slices({64, 500, 1}, 2, 1), 64U) << "rows";
  EXPECT_EQ(step_of_slices({64, 500, 1}, 2, 200), 192U) << "rows, near what was asked for";
  EXPECT_EQ(step_of_slices({64, 500, 2}, 2, 1), 32000U) << "as many planes as parts";
  EXPECT_EQ(step_of_slices({64, 500, 3}, 2, 7), 7U) << "an odd plane";
  EXPECT_EQ(step_of_slices({1000, 1, 1}, 2, 7), 7U) << "one row";
}

TEST(Chunks, begin_where_pages_do_if_that_costs_little) {
  constexpr std::size_t page = 4096;
  // Four blocks a page, 400 pages.
  EXPECT_EQ(blocks_of_a_page(1600, 4, 400 * page, page), 4U);
  EXPECT_EQ(blocks_of_a_page(1600, 13, 400 * page, page), 1U) << "30 pages a part are too few";
  EXPECT_EQ(blocks_of_a_page(1601, 4, 400 * page, page), 1U) << "blocks do not fit pages";
  EXPECT_EQ(blocks_of_a_page(16, 1, 400 * page, page), 1U) << "blocks are larger than pages";
  EXPECT_EQ(blocks_of_a_page(0, 4, page, page), 1U);
}

TEST(StealingQueue, gives_out_each_block_once_whoever_asks) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 300; ++round) {
    const int parts = 1 + static_cast<int>(random() % 8);
    const std::uint64_t blocks = random() % 3000, least = random() % 40;
    const std::vector<Chunk> chunks = split_evenly(blocks, parts);
    StealingQueue queue(chunks, least);
    std::vector<int> times(blocks);
    std::uint64_t elsewhere = 0;
    for (bool left = true; left;) {
      // The first part asks more often than others, so that it has to steal.
      const int part = random() % 2 ? 0 : static_cast<int>(random() % static_cast<unsigned>(parts));
      const std::optional<Chunk> piece = queue.take(part);
      left = piece.has_value();
      if (!piece) break;
      ASSERT_GT(piece->count, 0U);
      const Chunk& own = chunks[static_cast<std::size_t>(part)];
      for (std::uint64_t b = piece->first; b < piece->first + piece->count; ++b) {
        ++times.at(b);
        elsewhere += b < own.first || b >= own.first + own.count;
      }
    }
    EXPECT_EQ(std::count(times.begin(), times.end(), 1), static_cast<std::ptrdiff_t>(blocks));
    EXPECT_EQ(queue.stolen(), elsewhere);
    for (int part = 0; part < parts; ++part) EXPECT_FALSE(queue.take(part));
  }
}
