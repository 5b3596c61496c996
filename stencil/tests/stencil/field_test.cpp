// Grids and fields: who has which cells, and how they come in and out.
#include "ranks.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace dcgn::test {
namespace {

TEST(Grid, PartsCoverEachCellOnceAndDifferByOneAtMost) {
  for (const std::vector<int>& parts : std::vector<std::vector<int>>{{1, 1, 1}, {3, 1, 2}, {2, 5, 7}, {1, 1, 7}}) {
    const Grid grid({.extents = {10, 7, 23}, .parts = parts}, parts[0] * parts[1] * parts[2]);
    std::vector<int> times(static_cast<std::size_t>(grid.cells()));
    for (int r = 0; r < grid.ranks(); ++r) {
      const Box part = grid.part(r);
      for (int d = 0; d < 3; ++d) {
        EXPECT_GE(part.extent(d), grid.least_extent(d));
        EXPECT_LE(part.extent(d), grid.least_extent(d) + 1);
      }
      for (std::int64_t i = 0; i < part.cells(); ++i)
        ++times[static_cast<std::size_t>(
            number_of(grid, {part.begin[0] + i % part.extent(0), part.begin[1] + i / part.extent(0) % part.extent(1),
                             part.begin[2] + i / part.extent(0) / part.extent(1), 0}))];
    }
    EXPECT_EQ(times, std::vector<int>(times.size(), 1));
  }
}

TEST(Grid, NeighboursAreThoseWhosePartsTouch) {
  const Boundary none = Boundary::neumann(), around = Boundary::periodic();
  const Grid grid({.extents = {9, 8}, .sides = {none, none, around, around}, .parts = {3, 2}}, 6);
  EXPECT_EQ(grid.neighbour(0, {1, 0, 0, 0}), 1);
  EXPECT_EQ(grid.neighbour(0, {0, 1, 0, 0}), 3);
  EXPECT_EQ(grid.neighbour(0, {0, -1, 0, 0}), 3);
  EXPECT_EQ(grid.neighbour(0, {1, -1, 0, 0}), 4);
  EXPECT_EQ(grid.neighbour(0, {-1, 0, 0, 0}), no_rank);
  EXPECT_EQ(grid.neighbour(5, {1, 1, 0, 0}), no_rank);
}

TEST(Grid, WhatMakesNoSenseIsNamed) {
  const auto refused = [](const GridShape& shape, int ranks, const std::string& said) {
    const Error error = error_of([&] { static_cast<void>(Grid(shape, ranks)); });
    EXPECT_EQ(error.code(), Code::configuration);
    EXPECT_TRUE(contains(error.what(), said));
  };
  refused({.extents = {}}, 1, "0 dimensions, expected 1 to 4");
  refused({.extents = {1, 2, 3, 4, 5}}, 1, "5 dimensions");
  refused({.extents = {8, 0}}, 1, "0 cells along y");
  refused({.extents = {8, -3}}, 1, "-3 cells along y");
  refused({.extents = {1 << 30, 1 << 30, 2}}, 1,
          "1073741824 x 1073741824 x 2 cells, expected at most 72057594037927936 in all");
  refused({.extents = {1 << 30, 1 << 30, 1 << 30, 1 << 30}}, 4, "cells, expected at most");
  refused({.extents = {8, 8}, .spacing = {1, 2, 3}}, 1, "3 spacings for 2, expected 1 or 2");
  refused({.extents = {8, 8}, .spacing = {-1}}, 1, "a spacing of -1");
  refused({.extents = {8, 8}, .parts = {2, 2}}, 3, "4 parts for 3 ranks");
  refused({.extents = {8, 8}}, 9, "9 parts of 8 cells along y");
  refused({.extents = {8, 8}, .parts = {2}}, 2, "1 numbers of parts, expected 2");
  refused({.extents = {8}, .sides = {Boundary::periodic(), Boundary::neumann()}}, 1, "one side of x is periodic");
}

#if !defined(DCGN_SANITIZED)  // a sanitizer's allocator ends the program
TEST(Field, MemoryThatIsNotToBeHadIsNamed) {
  on_ranks(1, Where::host, [](Comm& comm, const std::optional<Device>&) {
    Field<double> field(Grid({.extents = {1 << 28, 1 << 28}}, 1), comm);
    double cell = 0;
    const Error error = error_of([&] { field.read(comm, {{0, 0, 0, 0}, {1, 1, 1, 1}}, Span<double>(&cell, 1), 0); });
    EXPECT_EQ(error.code(), Code::out_of_resources);
    EXPECT_TRUE(contains(error.what(), "576460752303423488 bytes"));
  });
}
#endif

TEST(Field, BoxesComeInAndOutWhateverTheParts) {
  for (const Where where : {Where::host, Where::device})
    for (const std::vector<int>& parts : std::vector<std::vector<int>>{{1, 1, 1}, {1, 1, 4}, {2, 3, 2}})
      on_ranks(parts[0] * parts[1] * parts[2], where, [&](Comm& comm, const std::optional<Device>& device) {
        const Grid grid({.extents = {9, 7, 11}, .parts = parts}, comm.size());
        auto field = make_field<double>(grid, comm, device);
        EXPECT_EQ(field.read(), Array<double>(static_cast<std::size_t>(field.part().cells())));
        field.fill([&](const Box::Cell& at) { return static_cast<double>(number_of(grid, at)); });
        const Box box{{2, 1, 3, 0}, {8, 7, 10, 1}};
        const int root = comm.size() - 1;
        Array<double> cells(comm.rank() == root ? static_cast<std::size_t>(box.cells()) : 0);
        field.read(comm, box, cells, root);
        if (comm.rank() == root) {
          std::size_t i = 0;
          for (std::int64_t z = 3; z < 10; ++z)
            for (std::int64_t y = 1; y < 7; ++y)
              for (std::int64_t x = 2; x < 8; ++x)
                EXPECT_EQ(cells[i++], static_cast<double>(number_of(grid, {x, y, z, 0})));
          for (double& c : cells) c = -c;
        }
        field.write(comm, box, cells, root);
        const Array<double> mine = field.read();
        std::size_t i = 0;
        const Box part = field.part();
        for (std::int64_t z = part.begin[2]; z < part.end[2]; ++z)
          for (std::int64_t y = part.begin[1]; y < part.end[1]; ++y)
            for (std::int64_t x = part.begin[0]; x < part.end[0]; ++x) {
              const Box one{{x, y, z, 0}, {x + 1, y + 1, z + 1, 1}};
              const auto number = static_cast<double>(number_of(grid, {x, y, z, 0}));
              EXPECT_EQ(mine[i++], one.intersection(box).empty() ? number : -number);
            }
      });
}

TEST(Field, WhatMakesNoSenseIsNamed) {
  on_ranks(2, Where::host, [](Comm& comm, const std::optional<Device>&) {
    const Grid grid({.extents = {6, 8}}, 2);
    Field<float> field(grid, comm);
    const auto refused = [&](const auto& act, Code code, const std::string& said) {
      const Error error = error_of(act);
      EXPECT_EQ(error.code(), code);
      EXPECT_TRUE(contains(error.what(), said));
    };
    refused(
        [&] {
          static_cast<void>(Field<float>(Grid({.extents = {6, 8}}, 3), comm));
        },
        Code::configuration, "a grid of 3 parts for a communicator of 2 ranks");
    Array<float> cells(23);
    refused([&] { field.write(cells); }, Code::invalid_size, "23 cells for a part of 24 (0..6 x ");
    refused([&] { field.read(comm, grid.all(), cells, 1); }, Code::invalid_size,
            "23 cells at rank 1 for a box of 48 (0..6 x 0..8)");
    refused(
        [&] {
          field.read(comm, Box{{0, 0, 0, 0}, {7, 8, 1, 1}}, cells, 1);
        },
        Code::configuration, "the box 0..7 x 0..8 is not one of the grid");
  });
}

}  // namespace
}  // namespace dcgn::test
