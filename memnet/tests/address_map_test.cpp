// Addresses and the places they mean.
#include "memnet/src/address_map.hpp"

#include "tests/expect.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <set>
#include <tuple>
#include <vector>

using dcgn::memnet::AddressMap, dcgn::memnet::Location, dcgn::memnet::PagePlacement;
using dcgn::test::contains, dcgn::test::error_of;

namespace {

auto key(const Location& at) {
  return std::make_tuple(at.cluster, at.local, at.vault, at.bank, at.row, at.column, at.byte);
}

TEST(AddressMap, EveryAddressIsAPlaceOfItsOwn) {
  const AddressMap map{
      .clusters = 3, .locals = 2, .vaults = 2, .banks = 2, .line_bytes = 64, .row_bytes = 128, .rows = 4};
  ASSERT_EQ(map.bytes(), 3U * 2 * 2 * 2 * 128 * 4);
  std::set<decltype(key(Location{}))> places;
  for (std::uint64_t address = 0; address < map.bytes(); ++address) {
    const Location at = map.locate(address);
    EXPECT_LT(at.cluster, 3U);
    EXPECT_LT(at.column, 4U);
    EXPECT_LT(at.row, 4U);
    EXPECT_TRUE(places.insert(key(at)).second) << address;
    EXPECT_EQ(map.address(at), address);
  }
}

TEST(AddressMap, OfThePaperIsABijectionToo) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const AddressMap map;
  EXPECT_EQ(map.bytes(), std::uint64_t{16} << 32);  // 16 cubes of 4 GB
  for (int i = 0; i < 10000; ++i) {
    const std::uint64_t address = random() % map.bytes();
    EXPECT_EQ(map.address(map.locate(address)), address);
  }
}

TEST(AddressMap, FieldsAreInThePapersOrder) {
  const AddressMap map;
  EXPECT_EQ(map.address({.byte = 1}), 1U);
  EXPECT_EQ(map.address({.column = 1}), 32U);                     // CLL
  EXPECT_EQ(map.address({.local = 1}), 128U);                     // LC: line by line over the local cubes
  EXPECT_EQ(map.address({.vault = 1}), 512U);                     // VL
  EXPECT_EQ(map.address({.cluster = 1}), 8192U);                  // CT
  EXPECT_EQ(map.address({.bank = 1}), 32768U);                    // BK
  EXPECT_EQ(map.address({.column = 4}), std::uint64_t{1} << 19);  // CLH
  EXPECT_EQ(map.address({.row = 1}), std::uint64_t{1} << 23);     // RW
}

TEST(AddressMap, NamesWhatCannotBe) {
  EXPECT_TRUE(
      contains(error_of([] { AddressMap{.banks = 12}.validate(); }).what(), "banks is 12, expected a power of two"));
  EXPECT_TRUE(contains(error_of([] { AddressMap{.clusters = 0}.validate(); }).what(), "clusters is 0"));
  EXPECT_TRUE(contains(error_of([] { AddressMap{}.locate(std::uint64_t{16} << 32); }).what(),
                       "address 68719476736, expected less than 68719476736"));
}

TEST(PagePlacement, APageLiesInOneClusterAndGoesRoundItsCubes) {
  const AddressMap map{.clusters = 5};
  const PagePlacement placement(map, {1, 1, 1, 1, 1}, 7);
  for (std::uint64_t page = 0; page < 100; ++page) {
    const Location first = placement.place(page * 4096);
    std::set<std::pair<std::uint32_t, std::uint32_t>> vaults;
    for (std::uint64_t offset = 0; offset < 4096; offset += 128) {
      const Location at = placement.place(page * 4096 + offset);
      EXPECT_EQ(at.cluster, first.cluster);
      EXPECT_EQ(at.row, first.row);
      EXPECT_EQ(at.local, offset / 128 % 4);
      vaults.insert({at.local, at.vault});
      EXPECT_EQ(map.locate(map.address(at)), at);
    }
    EXPECT_EQ(vaults.size(), 32U);  // each line in a vault of its own
  }
}

TEST(PagePlacement, FollowsTheWeights) {
  const PagePlacement placement(AddressMap{}, {4, 0, 1, 3}, 1);
  std::vector<int> pages(4);
  const int n = 20000;
  for (int page = 0; page < n; ++page) ++pages[placement.place(static_cast<std::uint64_t>(page) * 4096).cluster];
  EXPECT_EQ(pages[1], 0);
  EXPECT_NEAR(pages[0], n / 2.0, 4 * std::sqrt(n / 4.0));
  EXPECT_NEAR(pages[2], n / 8.0, 4 * std::sqrt(n / 8.0));
  EXPECT_NEAR(pages[3], n * 3 / 8.0, 4 * std::sqrt(n / 4.0));
}

TEST(PagePlacement, TheSeedAloneDecides) {
  const PagePlacement one(AddressMap{}, {1, 1, 1, 1}, 1), same(AddressMap{}, {1, 1, 1, 1}, 1),
      other(AddressMap{}, {1, 1, 1, 1}, 2);
  int differ = 0;
  for (std::uint64_t address = 0; address < 1000 * 4096; address += 4096) {
    EXPECT_EQ(one.place(address), same.place(address));
    differ += one.place(address) == other.place(address) ? 0 : 1;
  }
  EXPECT_GT(differ, 900);
}

TEST(PagePlacement, NamesWeightsThatCannotBe) {
  const auto error = [](const std::vector<double>& weights) {
    return std::string(error_of([&] { PagePlacement(AddressMap{}, weights, 1); }).what());
  };
  EXPECT_TRUE(contains(error({1, 1}), "2 cluster weights, expected 4"));
  EXPECT_TRUE(contains(error({0, 0, 0, 0}), "all 0"));
  EXPECT_TRUE(contains(error({1, -1, 0, 0}), "cluster weight -1"));
}

}  // namespace
