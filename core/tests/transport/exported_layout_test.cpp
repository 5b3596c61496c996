// Layouts as another process is told of them: what comes out is what went in, and no numbers of a stranger's make a
// layout that leaves the memory it is said to be in.
#include "transport/exported_layout.hpp"

#include <dcgn/arch/atomic.hpp>
#include <dcgn/datatype.hpp>

#include "message/process_exports.hpp"
#include "strange_layouts.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>
#include <random>
#include <thread>
#include <utility>
#include <vector>

namespace {

using dcgn::Datatype;
using dcgn::message::ExportedMemory, dcgn::message::ExportTable;
using dcgn::transport::is_within, dcgn::transport::read_layout, dcgn::transport::write_layout;

std::vector<std::pair<std::int64_t, std::int64_t>> rows_of(const dcgn::datatype::Layout& layout) {
  std::vector<std::pair<std::int64_t, std::int64_t>> rows;
  dcgn::datatype::for_each_row(layout, 0, layout.bytes(),
                               [&](std::int64_t at, std::int64_t bytes) { rows.emplace_back(at, bytes); });
  return rows;
}

// Rows of a matrix of n by n numbers up to its diagonal, or from there on, one after the other or from the last one on.
Datatype triangle(std::int64_t n, bool grows = true, bool upwards = true) {
  std::vector<std::int64_t> lengths, displacements;
  for (std::int64_t i = 0; i < n; ++i) {
    lengths.push_back(grows ? i + 1 : n - i);
    displacements.push_back((upwards ? i : n - 1 - i) * n + (grows ? 0 : i));
  }
  return Datatype::indexed(lengths, displacements, Datatype::of<double>());
}

TEST(ExportedLayout, ComesOutAsItWentIn) {
  const auto number = Datatype::of<double>();
  const Datatype types[] = {
      Datatype::contiguous(5, number), Datatype::contiguous(3, Datatype::vector(7, 3, 10, number)),
      Datatype::vector(7, 3, -10, number),
      Datatype::subarray({9, 8, 7}, {4, 3, 2}, {1, 2, 3}, Datatype::Order::c, number), triangle(30)};
  for (const Datatype& type : types) {
    const auto layout = dcgn::datatype::layout_of(type, 1);
    ExportedMemory told{};
    ASSERT_TRUE(write_layout(*layout, told)) << dcgn::describe(type);
    const auto found = read_layout(told);
    ASSERT_TRUE(found);
    EXPECT_EQ(rows_of(*found), rows_of(*layout));
  }
}

// What is refused though it lies inside goes through buffers, at half the speed.
TEST(ExportedLayout, ReachesAsFarAsItsRowsDo) {
  const auto number = Datatype::of<double>();
  const Datatype types[] = {
      Datatype::vector(7, 3, 10, number), Datatype::vector(7, 3, -10, number), triangle(30), triangle(30, false),
      triangle(30, true, false),          triangle(30, false, false)};
  for (const Datatype& type : types) {
    const auto layout = dcgn::datatype::layout_of(type, 1);
    const auto message = static_cast<std::uint64_t>(layout->bytes()),
               allocation = static_cast<std::uint64_t>(type.true_extent());
    const std::int64_t origin = -type.true_lower_bound();
    EXPECT_TRUE(is_within(*layout, origin, message, allocation)) << dcgn::describe(type);
    EXPECT_FALSE(is_within(*layout, origin, message, allocation - 1)) << dcgn::describe(type);
    EXPECT_FALSE(is_within(*layout, origin - 1, message, allocation)) << dcgn::describe(type);
  }
}

TEST(ExportedLayout, TablesAndManyLeavesAreNotTold) {
  ExportedMemory told{};
  const auto table = dcgn::datatype::layout_of(Datatype::indexed({1, 2, 1}, {0, 5, 19}, Datatype::of<double>()), 1);
  EXPECT_FALSE(write_layout(*table, told));
}

// Where a byte of one is, nobody could compute.
TEST(ExportedLayout, RowsThatDoNotGrowAreNoTriangle) {
  ExportedMemory told{};
  told.leaves = 1;
  told.leaf[0].bytes_inside = 64;
  const std::int64_t even[] = {8, 8, 0, 32};
  std::copy(std::begin(even), std::end(even), told.leaf[0].triangle);
  EXPECT_FALSE(read_layout(told));
}

// The rows of what is let through lie inside; to be walked, they must not be too many.
TEST(ExportedLayout, NumbersOfAStrangerStayInside) {
  std::mt19937_64 random(1);
  constexpr std::int64_t allocation = 1 << 12;
  int let_through = 0;
  for (int turn = 0; turn < 200000; ++turn) {
    const auto any = [&]() -> std::int64_t {
      switch (random() % 8) {
        case 0: return static_cast<std::int64_t>(random());
        case 1: return std::numeric_limits<std::int64_t>::min();
        case 2: return (std::int64_t{1} << (random() % 63)) - 1;
        default: return static_cast<std::int64_t>(random() % 64) - 8;
      }
    };
    ExportedMemory told{};
    told.leaves = random() % 16 == 0 ? random() : 1 + random() % 2;
    for (auto& leaf : told.leaf) {
      leaf.begin = random() % 4 ? 0 : any();
      leaf.displacement = any();
      leaf.num_loops = random() % 8 ? static_cast<std::int64_t>(random() % 3) : any();
      for (int i = 0; i < ExportedMemory::most_loops; ++i) {
        leaf.counts[i] = any();
        leaf.strides[i] = any();
      }
      leaf.bytes_inside = any();
      if (random() % 3) continue;
      for (std::int64_t& n : leaf.triangle) n = any();
      const std::int64_t r = leaf.triangle[0];
      if (random() % 2 && r > 0 && r < 64)  // as it should be
        leaf.bytes_inside = static_cast<std::int64_t>(
            static_cast<std::uint64_t>(r) * static_cast<std::uint64_t>(leaf.triangle[1]) +
            static_cast<std::uint64_t>(r * (r - 1) / 2) * static_cast<std::uint64_t>(leaf.triangle[2]));
    }
    const std::int64_t origin = any();
    const std::uint64_t message = random() % 2 ? random() % 200 : static_cast<std::uint64_t>(any());
    const dcgn::test::LookedAt found = dcgn::test::look_at(told, origin, message, allocation);
    ASSERT_EQ(found.wrong, "") << "turn " << turn;
    let_through += found.let_through;
  }
  EXPECT_GT(let_through, 100);
}

// Who reads while offers are written gets a whole one, or none.
TEST(ExportTable, OffersAreReadWholeOrNotAtAll) {
  static ExportTable table;
  constexpr std::uint32_t offers = 20000;
  std::uint32_t end = 0;
  const auto read = [&] {
    std::uint64_t found = 0;
    for (std::uint32_t ack = 0; !dcgn::load_acquire(end) || ack % 64; ++ack) {
      ExportedMemory memory;
      if (!table.find(ack % offers, memory)) continue;
      ++found;
      std::array<std::uint64_t, ExportTable::words> words;
      std::memcpy(words.data(), &memory, sizeof memory);
      EXPECT_TRUE(std::all_of(words.begin(), words.end(), [&](std::uint64_t w) { return w == ack % offers; }));
    }
    return found;
  };
  std::thread reader(read);
  for (std::uint32_t ack = 0; ack < offers; ++ack) {
    ExportedMemory memory;
    std::array<std::uint64_t, ExportTable::words> words;
    words.fill(ack);
    std::memcpy(&memory, words.data(), sizeof memory);
    table.put(ack, memory);
  }
  dcgn::store_release(end, 1u);
  reader.join();
  ExportedMemory memory;
  EXPECT_TRUE(table.find(offers - 1, memory));
  table.drop(offers - 1);
  EXPECT_FALSE(table.find(offers - 1, memory));
}

}  // namespace
