// Sizes as they are typed.
#include "bench/sizes.hpp"

#include <gtest/gtest.h>

using namespace dcgn::bench;

namespace {

TEST(Sizes, AreBytesOrPowersOf1024) {
  EXPECT_EQ(parse_size("0"), 0);
  EXPECT_EQ(parse_size("8"), 8);
  EXPECT_EQ(parse_size("4K"), 4096);
  EXPECT_EQ(parse_size("4k"), 4096);
  EXPECT_EQ(parse_size("3M"), 3 << 20);
  EXPECT_EQ(parse_size("2G"), std::int64_t{2} << 30);
  EXPECT_EQ(parse_size("1024G"), std::int64_t{1} << 40);
}

TEST(Sizes, RefuseWhatIsNone) {
  for (const char* text :
       {"", "K", "-1", "1.5K", "4KB", "4 K", " 4", "0x10", "99999999999999999999", "1025G", "4T", "nan"})
    EXPECT_FALSE(parse_size(text)) << text;
}

TEST(Counts, AreNumbersOrPowersOf1000) {
  EXPECT_EQ(parse_count("1"), 1u);
  EXPECT_EQ(parse_count("20k"), 20'000u);
  EXPECT_EQ(parse_count("100M"), 100'000'000u);
  EXPECT_EQ(parse_count("1000G"), 1'000'000'000'000u);
  for (const char* text : {"", "M", "0", "-1", "1.5M", "10MB", "1 M", "1001G", "99999999999999999999", "nan"})
    EXPECT_FALSE(parse_count(text)) << text;
}

TEST(Sizes, AreWrittenAsBrieflyAsTheyCanBe) {
  for (const char* text : {"0", "1", "1000", "1K", "1025", "1536K", "4M", "3G"})
    EXPECT_EQ(size_text(*parse_size(text)), text);
}

TEST(Sizes, RangeFromFirstToLastByFactor) {
  EXPECT_EQ(size_range(8, 64, 2), (std::vector<std::int64_t>{8, 16, 32, 64}));
  EXPECT_EQ(size_range(8, 100, 4), (std::vector<std::int64_t>{8, 32}));
  EXPECT_EQ(size_range(8, 8, 2), (std::vector<std::int64_t>{8}));
}

}  // namespace
