// The block's index within the whole grid: on the host, and by the PTX that kernels begin with, which a small evaluator
// runs.
#include "vgpu/src/ptx/block_index.hpp"

#include "corpus.hpp"
#include "vgpu/src/ptx/parser.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <stdexcept>
#include <string>

using namespace dcgn::virtual_gpu::ptx;

namespace {

using Values = std::map<std::string, std::uint64_t, std::less<>>;

// Runs a kernel of straight code with branches forward. `inputs` has what is read but not written: [parameter] and
// %ctaid.
class Evaluator {
 public:
  explicit Evaluator(const std::string& prologue)
      : module_(parse("prologue", dcgn::test::ptx_module(".entry k() {" + prologue + "\nadd.u32 %end, 1, 0;\n}"))) {}

  // The registers in the end; %end is among them unless the kernel returned before.
  Values run(Values values) const {
    const Function& kernel = module_.functions.front();
    for (std::size_t i = 0; i < kernel.instructions.size();) {
      const Instruction& now = kernel.instructions[i++];
      if (!now.guard.empty() && values.at(std::string(now.guard)) == 0) continue;
      if (now.opcode == "ret") return values;
      if (now.opcode == "bra")
        i = kernel.find_label(now.operands[0].name, 0).value();
      else
        values[std::string(now.operands[0].text)] = result(now, values);
    }
    return values;
  }

 private:
  static std::uint64_t value(const Operand& operand, const Values& values) {
    if (operand.kind == Operand::Kind::number) return std::stoull(std::string(operand.text));
    return values.at(std::string(operand.text));
  }

  static std::uint64_t result(const Instruction& now, const Values& values) {
    const auto in = [&](std::size_t i) { return value(now.operands[i], values); };
    const bool wide = now.has(".u64");
    const auto fit = [&](std::uint64_t v) { return wide ? v : static_cast<std::uint32_t>(v); };
    if (now.opcode == "ld" || now.opcode == "mov" || now.opcode == "cvt") return in(1);
    if (now.opcode == "add") return fit(in(1) + in(2));
    if (now.opcode == "sub") return fit(in(1) - in(2));
    if (now.opcode == "div") return fit(in(1) / in(2));
    if (now.opcode == "mul") return now.has(".wide") ? in(1) * in(2) : fit(in(1) * in(2));
    if (now.opcode == "mad") return fit(in(1) * in(2) + in(3));
    if (now.opcode == "setp") {
      const bool holds = now.has(".lt") ? in(1) < in(2) : in(1) >= in(2);
      return holds || (now.has(".or") && in(3) != 0);
    }
    throw std::runtime_error("the evaluator has no " + std::string(now.text));
  }

  Module module_;
};

class Grids {
 public:
  // Sizes that favour 1 and the largest; `most` blocks in x.
  GridShape small() { return {1 + number(9), 1 + number(7), 1 + number(5)}; }
  GridShape any() {
    const auto extent = [&](std::uint32_t most) {
      switch (number(4)) {
        case 0: return 1U;
        case 1: return most - number(3);
        case 2: return 1 + number(20);
        default: return 1 + number(most);
      }
    };
    return {extent(0x7fffffffU), extent(65535U), extent(65535U)};
  }
  std::uint64_t number(std::uint64_t below) {
    return std::uniform_int_distribution<std::uint64_t>(0, below - 1)(random_);
  }
  std::uint32_t number(std::uint32_t below) { return static_cast<std::uint32_t>(number(std::uint64_t{below})); }
  std::uint32_t number(int below) { return number(static_cast<std::uint32_t>(below)); }
  unsigned seed() const { return seed_; }

 private:
  unsigned seed_ = std::random_device()();
  std::mt19937_64 random_{seed_};
};

Values split_inputs(const SplitArguments& a, BlockIndex within) {
  return {{"[dcgn_first_x]", a.first.x}, {"[dcgn_first_y]", a.first.y}, {"[dcgn_first_z]", a.first.z},
          {"[dcgn_grid_x]", a.grid.x},   {"[dcgn_grid_y]", a.grid.y},   {"[dcgn_grid_z]", a.grid.z},
          {"%ctaid.x", within.x},        {"%ctaid.y", within.y},        {"%ctaid.z", within.z}};
}

// Of the chunk's block `number`, launched as a grid of this shape.
void expect_split(const Evaluator& kernel, const SplitArguments& a, const GridShape& shape, std::uint32_t number) {
  const BlockIndex within = shape.index_of(number);
  // The definition: x fastest.
  const std::uint64_t whole = a.grid.number_of(a.first) + number;
  const BlockIndex expected = {static_cast<std::uint32_t>(whole % a.grid.x),
                               static_cast<std::uint32_t>(whole / a.grid.x % a.grid.y),
                               static_cast<std::uint32_t>(whole / (static_cast<std::uint64_t>(a.grid.x) * a.grid.y))};
  ASSERT_EQ(split_index(a, within), expected);
  const Values values = kernel.run(split_inputs(a, within));
  ASSERT_EQ(values.at("%dcgn_ctaid_x"), expected.x);
  ASSERT_EQ(values.at("%dcgn_ctaid_y"), expected.y);
  ASSERT_EQ(values.at("%dcgn_ctaid_z"), expected.z);
  ASSERT_EQ(values.at("%dcgn_nctaid_x"), a.grid.x);
  ASSERT_EQ(values.at("%dcgn_nctaid_y"), a.grid.y);
  ASSERT_EQ(values.at("%dcgn_nctaid_z"), a.grid.z);
}

}  // namespace

TEST(BlockIndex, chunks_cover_each_block_of_a_grid_once) {
  Grids grids;
  SCOPED_TRACE("seed " + std::to_string(grids.seed()));
  const Evaluator kernel(split_prologue());
  for (int round = 0; round < 60; ++round) {
    const GridShape grid = grids.small();
    std::map<std::uint64_t, int> seen;
    for (std::uint64_t first = 0; first < grid.blocks();) {
      const std::uint64_t unit = round % 3 == 0 ? 1 : round % 3 == 1 ? grid.x : std::uint64_t{grid.x} * grid.y;
      const std::uint64_t count = std::min(unit * (1 + grids.number(std::uint64_t{40})), grid.blocks() - first);
      const GridShape shape = launch_shape(grid, first, count);
      ASSERT_EQ(shape.blocks(), count);
      for (std::uint32_t number = 0; number < count; ++number) {
        const SplitArguments arguments{grid.index_of(first), grid};
        expect_split(kernel, arguments, shape, number);
        if (HasFatalFailure()) return;
        const BlockIndex index = split_index(arguments, shape.index_of(number));
        ASSERT_TRUE(index.x < grid.x && index.y < grid.y && index.z < grid.z);
        ++seen[grid.number_of(index)];
      }
      first += count;
    }
    ASSERT_EQ(seen.size(), grid.blocks());
    for (const auto& [block, times] : seen) ASSERT_EQ(times, 1) << block;
  }
}

TEST(BlockIndex, chunks_of_planes_and_rows_are_launched_as_such) {
  const auto expect_shape = [](GridShape grid, std::uint64_t first, std::uint64_t count, GridShape expected) {
    const GridShape shape = launch_shape(grid, first, count);
    EXPECT_EQ(shape.x, expected.x);
    EXPECT_EQ(shape.y, expected.y);
    EXPECT_EQ(shape.z, expected.z);
  };
  expect_shape({4, 3, 10}, 24, 36, {4, 3, 3});
  expect_shape({4, 3, 10}, 16, 8, {4, 2, 1});
  expect_shape({4, 3, 10}, 20, 8, {8, 1, 1});  // rows of two planes
  expect_shape({4, 3, 10}, 1, 2, {2, 1, 1});
  expect_shape({4, 3, 10}, 3, 2, {2, 1, 1});
  expect_shape({1, 65535, 1}, 32768, 32767, {1, 32767, 1});
  expect_shape({1 << 30, 1, 1}, 5, 1 << 29, {1 << 29, 1, 1});
}

TEST(BlockIndex, is_right_in_the_largest_grids) {
  Grids grids;
  SCOPED_TRACE("seed " + std::to_string(grids.seed()));
  const Evaluator kernel(split_prologue());
  for (int round = 0; round < 20000; ++round) {
    const GridShape grid = grids.any();
    const std::uint64_t first = grids.number(grid.blocks());
    const std::uint64_t most = std::min<std::uint64_t>(grid.blocks() - first, 0x7fffffffU);
    const auto number = static_cast<std::uint32_t>(round % 3 == 0 ? most - 1 : grids.number(most));
    expect_split(kernel, {grid.index_of(first), grid}, launch_shape(grid, first, most), number);
    if (HasFatalFailure()) return;
  }
}

TEST(BlockIndex, early_exit_keeps_the_chunk_and_no_other_block) {
  Grids grids;
  SCOPED_TRACE("seed " + std::to_string(grids.seed()));
  const Evaluator kernel(early_exit_prologue());
  const auto stays = [&](const GridShape& grid, std::uint64_t first, std::uint64_t end, BlockIndex at) {
    return kernel
               .run({{"[dcgn_first_block]", first},
                     {"[dcgn_end_block]", end},
                     {"%ctaid.x", at.x},
                     {"%ctaid.y", at.y},
                     {"%ctaid.z", at.z},
                     {"%nctaid.x", grid.x},
                     {"%nctaid.y", grid.y}})
               .count("%end") != 0;
  };
  for (int round = 0; round < 60; ++round) {
    const GridShape grid = grids.small();
    const std::uint64_t first = grids.number(grid.blocks()), end = first + grids.number(grid.blocks() - first + 1);
    std::uint64_t number = 0;
    for (std::uint32_t z = 0; z < grid.z; ++z)
      for (std::uint32_t y = 0; y < grid.y; ++y)
        for (std::uint32_t x = 0; x < grid.x; ++x, ++number)
          ASSERT_EQ(stays(grid, first, end, {x, y, z}), number >= first && number < end);
  }
  for (int round = 0; round < 5000; ++round) {
    const GridShape grid = grids.any();
    const std::uint64_t number = grids.number(grid.blocks());
    ASSERT_TRUE(stays(grid, number, number + 1, grid.index_of(number)));
    ASSERT_FALSE(stays(grid, number + 1, grid.blocks(), grid.index_of(number)));
    ASSERT_FALSE(stays(grid, 0, number, grid.index_of(number)));
  }
}

TEST(BlockIndex, a_kernel_that_is_whole_has_the_index_of_the_hardware) {
  const Evaluator kernel(whole_prologue());
  const Values values = kernel.run(
      {{"%ctaid.x", 1}, {"%ctaid.y", 2}, {"%ctaid.z", 3}, {"%nctaid.x", 4}, {"%nctaid.y", 5}, {"%nctaid.z", 6}});
  std::uint64_t expected = 0;
  for (const char* name :
       {"%dcgn_ctaid_x", "%dcgn_ctaid_y", "%dcgn_ctaid_z", "%dcgn_nctaid_x", "%dcgn_nctaid_y", "%dcgn_nctaid_z"})
    EXPECT_EQ(values.at(name), ++expected) << name;
}
