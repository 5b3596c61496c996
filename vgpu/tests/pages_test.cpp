// Whose each page of a buffer is.
#include "vgpu/src/pages.hpp"

#include "corpus.hpp"
#include "vgpu/src/chunks.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

using namespace dcgn::virtual_gpu;
using dcgn::test::error_of;

namespace {

constexpr std::size_t page = 4096;

std::vector<int> owners_of(const PageMap& pages) {
  std::vector<int> owners;
  for (std::size_t p = 0; p < pages.pages(); ++p) owners.push_back(pages.owner(p));
  return owners;
}
std::vector<int> owners_of(const Placement& placement, std::size_t bytes, int parts) {
  return owners_of(PageMap(placement, bytes, page, parts));
}

}  // namespace

TEST(Pages, lie_as_the_placement_says) {
  using Owners = std::vector<int>;
  EXPECT_EQ(owners_of(Placement::chunked(), 6 * page, 3), (Owners{0, 0, 1, 1, 2, 2}));
  EXPECT_EQ(owners_of(Placement::chunked(), 3 * page + 1, 3), (Owners{0, 0, 1, 2}));
  EXPECT_EQ(owners_of(Placement::chunked(), 1, 8), (Owners{0}));
  EXPECT_EQ(owners_of(Placement::interleaved(), 5 * page, 2), (Owners{0, 1, 0, 1, 0}));
  EXPECT_EQ(owners_of(Placement::interleaved(2), 5 * page, 2), (Owners{0, 0, 1, 1, 0}));
  EXPECT_EQ(owners_of(Placement::owner(1), 2 * page, 2), (Owners{1, 1}));
  EXPECT_EQ(owners_of(Placement::replicated(), 2 * page, 2), (Owners{0, 0}));
  EXPECT_EQ(owners_of(Placement::listed({1, 0, 1}), 3 * page, 2), (Owners{1, 0, 1}));
}

// The affinity that the default is for.
TEST(Pages, of_a_chunked_buffer_are_those_of_the_blocks_in_the_same_order) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int round = 0; round < 200; ++round) {
    const int parts = 1 + static_cast<int>(random() % 8);
    const std::size_t pages = 1 + random() % 500;
    const PageMap map(Placement::chunked(), pages * page, page, parts);
    // A page a block.
    const std::vector<Chunk> chunks = split_evenly(pages, parts);
    for (int part = 0; part < parts; ++part) {
      const Chunk& chunk = chunks[static_cast<std::size_t>(part)];
      for (std::size_t p = chunk.first; p < chunk.first + chunk.count; ++p) ASSERT_EQ(map.owner(p), part);
    }
  }
}

TEST(Pages, come_in_extents_as_long_as_they_can_be) {
  const PageMap pages(Placement::listed({0, 0, 1, 0, 2, 2, 2}), 7 * page, page, 3);
  ASSERT_EQ(pages.extents().size(), 4U);
  EXPECT_EQ(pages.extents()[3].offset, 4 * page);
  EXPECT_EQ(pages.extents()[3].bytes, 3 * page);
  EXPECT_EQ(pages.extents()[3].part, 2);
  for (std::size_t at = 0; at < pages.bytes(); at += 512) {
    const Extent& extent = pages.extent_of(at);
    EXPECT_TRUE(extent.offset <= at && at < extent.offset + extent.bytes);
    EXPECT_EQ(extent.part, pages.owner(at / page));
  }
  EXPECT_EQ(pages.bytes_of_parts(3), (std::vector<std::size_t>{3 * page, page, 3 * page}));
  EXPECT_EQ(bytes_moved(pages, PageMap(Placement::owner(0), 7 * page, page, 3)), 4 * page);
  EXPECT_EQ(bytes_moved(pages, pages), 0U);
}

TEST(Pages, go_to_who_touched_them_most) {
  using Touches = std::vector<unsigned long long>;
  // Of three parts: page 0 by part 2; page 1 by parts 0 and 1 alike; page 2 by these again.
  const std::vector<int> owners = owners_by_touches(Touches{1, 0, 9, 5, 5, 0, 5, 5, 0}, 3);
  EXPECT_EQ(owners[0], 2);
  EXPECT_NE(owners[1], owners[2]) << "they share out what both touch";
  // Of eight pages, 1 was touched by part 0 and 6 by part 1.
  Touches few(16);
  few[2] = few[13] = 1;
  EXPECT_EQ(owners_by_touches(few, 2), (std::vector<int>{0, 0, 0, 0, 1, 1, 1, 1}));
  EXPECT_EQ(owners_by_touches(Touches(8), 2), (std::vector<int>{0, 0, 1, 1})) << "as chunks have them";
}

TEST(Pages, impossible_placements_are_named) {
  EXPECT_EQ(error_of([] { owners_of(Placement::owner(2), page, 2); }),
            "dcgn: place: part 2 does not exist, expected 0..1");
  EXPECT_EQ(error_of([] { owners_of(Placement::interleaved(0), page, 2); }),
            "dcgn: place: pages are interleaved 0 at a time, expected at least 1");
  EXPECT_EQ(error_of([] { owners_of(Placement::listed({0}), 2 * page, 2); }),
            "dcgn: place: a list of 1 parts, expected one for each of 2 pages");
  EXPECT_EQ(error_of([] {
              owners_of(Placement::listed({0, -1}), 2 * page, 2);
            }),
            "dcgn: place: part -1 does not exist, expected 0..1");
}
