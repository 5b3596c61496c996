// What a type says of itself, the words its constructors refuse values with, and what its normal form is.
#include "type_tree.hpp"

#include <gtest/gtest.h>
#include <dcgn/datatype.hpp>

#include "datatype/layout.hpp"
#include "expect.hpp"

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <thread>
#include <unordered_set>
#include <vector>

namespace dcgn::test {
namespace {

using Counts = Datatype::Counts;

std::string refusal(const std::function<void()>& action) {
  const Error error = error_of(action);
  EXPECT_EQ(error.code(), Code::invalid_type);
  return error.what();
}

const Datatype doubles = Datatype::of<double>();

TEST(Datatype, KindsOfElements) {
  EXPECT_EQ(Datatype::of<float>().size(), 4);
  EXPECT_EQ(Datatype::of<long>().signature(), Datatype::of<long long>().signature());
  EXPECT_NE(Datatype::of<int>().signature(), Datatype::of<unsigned>().signature());
  EXPECT_NE(Datatype::of<half>().signature(), Datatype::of<bfloat16>().signature());
  EXPECT_EQ(Datatype::of<complex<double>>().extent(), 16);
  struct Particle {
    double x;
    int id;
  };
  EXPECT_EQ(Datatype::of<Particle>().size(), 16);
  EXPECT_TRUE(Datatype::of<Particle>().signature().bytes);
  EXPECT_EQ(Datatype().size(), 0);
  EXPECT_EQ(Datatype(), Datatype::contiguous(0, doubles));
}

TEST(Datatype, BoundsAsMpiHasThem) {
  const Datatype padded = Datatype::structure({1, 1}, {0, 8}, {doubles, Datatype::of<char>()});
  EXPECT_EQ(padded.extent(), 16);
  EXPECT_EQ(padded.true_extent(), 9);
  EXPECT_EQ(Datatype::contiguous(3, padded).extent(), 48);
  // Bounds that were given are all that counts, though other elements lie beyond.
  const Datatype marked = Datatype::resized(Datatype::of<char>(), -5, 10);
  const Datatype mixed = Datatype::structure({1, 1}, {0, 20}, {Datatype::of<int>(), marked});
  EXPECT_EQ(mixed.lower_bound(), 15);
  EXPECT_EQ(mixed.extent(), 10);
  EXPECT_EQ(mixed.true_lower_bound(), 0);
  const Datatype backwards = Datatype::contiguous(3, Datatype::resized(doubles, 4, -16));
  EXPECT_EQ(backwards.lower_bound(), -28);
  EXPECT_EQ(backwards.extent(), 16);
}

TEST(Datatype, SignaturesTellElementsNotLayouts) {
  const Datatype row = Datatype::contiguous(12, doubles), column = Datatype::vector(12, 1, 100, doubles);
  EXPECT_EQ(row.signature(), column.signature());
  EXPECT_EQ(row.signature(2), Datatype::vector(24, 1, -3, doubles).signature());
  const Datatype one = Datatype::structure({2, 1}, {0, 16}, {doubles, Datatype::of<int>()});
  const Datatype other = Datatype::structure({1, 2}, {0, 16}, {Datatype::of<int>(), doubles});
  EXPECT_NE(one.signature(), other.signature());
  EXPECT_NE(one.signature(2), one.signature(3));
  EXPECT_NE(Datatype::bytes(8).signature(), doubles.signature());
}

TEST(Datatype, SignaturesOfBeginnings) {
  for (int seed = 0; seed < 300; ++seed) {
    std::mt19937_64 random(static_cast<std::uint64_t>(seed));
    const TypeTree tree = random_tree(random, 4, 200);
    const Datatype type = datatype_of(tree);
    const TypeMap map = repeated(type_map(tree), 3);
    const auto all = static_cast<std::int64_t>(map.entries.size());
    ASSERT_EQ(type.elements() * 3, all);
    for (std::int64_t n = 0; n <= all; n += 1 + n / 8) {
      Counts lengths, displacements;
      std::vector<Datatype> types;
      for (std::int64_t i = 0; i < n; ++i) {
        lengths.push_back(1);
        displacements.push_back(i * 16);
        types.push_back(Datatype::of(map.entries[static_cast<std::size_t>(i)].kind));
      }
      ASSERT_EQ(type.signature_of_first(n, 3), Datatype::structure(lengths, displacements, types).signature())
          << "seed " << seed << ", the first " << n;
    }
  }
  EXPECT_EQ(error_of([] { doubles.signature_of_first(3, 2); }).what(),
            std::string("dcgn: signature_of_first: elements is 3, expected 0..2"));
}

TEST(Datatype, EqualWhereBuiltAlike) {
  EXPECT_EQ(Datatype::contiguous(6, doubles), Datatype::vector(2, 3, 3, doubles));
  EXPECT_EQ(Datatype::vector(4, 2, 5, doubles), Datatype::indexed({2, 2, 2, 2}, {0, 5, 10, 15}, doubles));
  EXPECT_EQ(Datatype::vector(4, 2, 5, doubles), Datatype::hvector(4, 2, 40, doubles));
  EXPECT_NE(Datatype::vector(4, 2, 5, doubles), Datatype::vector(4, 2, 6, doubles));
  EXPECT_NE(Datatype::vector(4, 2, 5, doubles), Datatype::vector(4, 2, 5, Datatype::of<std::int64_t>()));
  std::unordered_set<Datatype> set;
  for (int i = 0; i < 100; ++i) set.insert(Datatype::vector(1 + i % 10, 1, 7, doubles));
  EXPECT_EQ(set.size(), 10u);
}

TEST(Datatype, ViewsLikeMdspan) {
  struct View {  // the transpose of a 3 x 5 part of a matrix of 8 columns
    using element_type = const float;
    static constexpr std::size_t rank() { return 2; }
    std::size_t extent(std::size_t i) const { return i == 0 ? 5 : 3; }
    std::int64_t stride(std::size_t i) const { return i == 0 ? 1 : 8; }
  };
  const Datatype type = Datatype::of_view(View{});
  EXPECT_EQ(type.size(), 60);
  EXPECT_EQ(type.true_extent(), 4 * (2 * 8 + 5));
  EXPECT_EQ(describe(type), "at 0: 5 times every 4 B: 3 times every 32 B: 4 B");
  EXPECT_EQ(type.signature(), Datatype::contiguous(15, Datatype::of<float>()).signature());
}

TEST(Datatype, OverlapsAreFound) {
  EXPECT_FALSE(Datatype::vector(10, 2, 2, doubles).overlaps());
  EXPECT_TRUE(Datatype::vector(2, 2, 1, doubles).overlaps());
  EXPECT_TRUE(Datatype::hvector(2, 1, 0, doubles).overlaps());
  // One inside the gaps of the other: a transpose as columns of columns.
  const Datatype column = Datatype::resized(Datatype::vector(1000, 1, 1000, doubles), 0, 8);
  EXPECT_FALSE(column.overlaps(1000));
  EXPECT_TRUE(column.overlaps(1001));
  EXPECT_FALSE(Datatype::indexed({3, 2, 1}, {0, 3, 5}, doubles).overlaps());
  EXPECT_TRUE(Datatype::indexed({3, 2, 1}, {0, 2, 5}, doubles).overlaps());
}

TEST(Datatype, RefusesWhatCannotBe) {
  EXPECT_EQ(refusal([] { Datatype::of(static_cast<ElementKind>(77)); }),
            "dcgn: of: kind is 77, expected an ElementKind");
  EXPECT_EQ(refusal([] { Datatype::contiguous(-3, doubles); }), "dcgn: contiguous: count is -3, expected 0 or more");
  EXPECT_EQ(refusal([] { Datatype::vector(2, -1, 4, doubles); }), "dcgn: vector: length is -1, expected 0 or more");
  EXPECT_EQ(refusal([] {
              Datatype::indexed({1, -2}, {0, 5}, doubles);
            }),
            "dcgn: indexed: lengths[1] is -2, expected 0 or more");
  EXPECT_EQ(refusal([] {
              Datatype::hindexed({1, 2}, {0}, doubles);
            }),
            "dcgn: hindexed: 2 lengths and 1 displacements, expected as many of each");
  EXPECT_EQ(refusal([] {
              Datatype::structure({1, 2}, {0, 8}, {doubles});
            }),
            "dcgn: structure: 2 lengths and 1 types, expected as many of each");
  EXPECT_EQ(refusal([] {
              Datatype::subarray({4, 4}, {2, 5}, {0, 0}, Datatype::Order::c, doubles);
            }),
            "dcgn: subarray: subsizes[1] is 5, expected 1..4");
  EXPECT_EQ(refusal([] {
              Datatype::subarray({4, 4}, {2, 3}, {0, 2}, Datatype::Order::c, doubles);
            }),
            "dcgn: subarray: starts[1] is 2, expected 0..1, so that 3 fit into 4");
  EXPECT_EQ(refusal([] {
              Datatype::subarray({4, 4}, {2}, {0, 2}, Datatype::Order::c, doubles);
            }),
            "dcgn: subarray: 1 subsizes, expected 2, one for each of sizes");
  using D = Datatype::Distribution;
  EXPECT_EQ(refusal([] { Datatype::darray(4, {8}, {D::block}, {2}, {4}, Datatype::Order::c, doubles); }),
            "dcgn: darray: rank is 4, expected 0..3");
  EXPECT_EQ(refusal([] { Datatype::darray(0, {9}, {D::block}, {2}, {4}, Datatype::Order::c, doubles); }),
            "dcgn: darray: blocks[0] is 2, expected at least 3, so that 4 of them hold 9");
  EXPECT_EQ(refusal([] { Datatype::darray(0, {9}, {D::none}, {1}, {2}, Datatype::Order::c, doubles); }),
            "dcgn: darray: processes[0] is 2, expected 1 where a dimension is not distributed");
  EXPECT_EQ(refusal([] { Datatype::bytes(8, 3); }), "dcgn: bytes: alignment is 3, expected a power of two");
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(refusal([&] { Datatype::contiguous(most, doubles); }),
            "dcgn: contiguous: 9223372036854775807 * 8 does not fit into 64 bits");
  EXPECT_EQ(refusal([&] {
              Datatype::hindexed({1, 1}, {-most, most}, doubles);
            }),
            "dcgn: hindexed: 9223372036854775807 - -9223372036854775807 does not fit into 64 bits");
  EXPECT_EQ(refusal([&] { doubles.signature(most); }),
            "dcgn: signature: 9223372036854775807 * 8 does not fit into 64 bits");
}

TEST(Layout, SaysTheSameInTheFewestWords) {
  const auto leaves = [](const Datatype& type, std::int64_t count = 1) {
    return datatype::layout_of(type, count)->leaves.size();
  };
  EXPECT_EQ(describe(Datatype::vector(100, 8, 8, doubles)), "at 0: 6400 B");
  EXPECT_EQ(describe(Datatype::vector(100, 8, 10, doubles)), "at 0: 100 times every 80 B: 64 B");
  // A list of rows is loops where it could have been.
  Counts places;
  for (int z = 0; z < 4; ++z)
    for (int y = 0; y < 5; ++y)
      for (int x = 0; x < 6; ++x) places.push_back(1000 * z + 100 * y + 10 * x);
  EXPECT_EQ(describe(Datatype::indexed_block(3, places, doubles)),
            "at 0: 4 times every 8000 B: 5 times every 800 B: 6 times every 80 B: 24 B");
  // A lower triangle, by columns.
  const std::int64_t n = 1000;
  Counts lengths, begins;
  for (std::int64_t i = 0; i < n; ++i) {
    lengths.push_back(n - i);
    begins.push_back(i * n + i);
  }
  const Datatype triangle = Datatype::indexed(lengths, begins, doubles);
  EXPECT_EQ(describe(triangle), "at 0: 1000 rows every 8008 B, the first of 8000 B, each longer by -8 B");
  EXPECT_EQ(describe(triangle, 3),
            "at 0: 3 times every 8000000 B: 1000 rows every 8008 B, the first of 8000 B, each longer by -8 B");
  // What two halves of a loop are.
  const Datatype half = Datatype::vector(50, 1, 4, doubles);
  EXPECT_EQ(leaves(Datatype::structure({1, 1}, {0, 1600}, {half, half})), 1u);
  // More than six loops.
  Datatype deep = doubles;
  for (int i = 0; i < 9; ++i) deep = Datatype::hvector(2, 1, (i % 2 ? 3 : 5) * deep.true_extent(), deep);
  EXPECT_EQ(deep.size(), 512 * 8);
  EXPECT_EQ(leaves(deep), 1u);
  EXPECT_EQ(datatype::layout_of(deep, 1)->leaves[0].num_loops, 6);
  EXPECT_EQ(leaves(Datatype(), 5), 0u);
}

TEST(Layout, TrianglesAreFoundByBytes) {
  for (const std::int64_t growth : {-24, -8, -1, 1, 3, 4096}) {
    const std::int64_t rows = 3000;
    const datatype::Triangle triangle{rows, growth < 0 ? 1 - growth * rows : 5, growth, 100000};
    std::int64_t before = 0;
    for (std::int64_t row = 0; row < rows; ++row) {
      const std::int64_t length = triangle.length + row * growth;
      ASSERT_EQ(triangle.bytes_before(row), before);
      ASSERT_EQ(triangle.row_of(before), row);
      ASSERT_EQ(triangle.row_of(before + length - 1), row);
      before += length;
    }
  }
}

// Threads that ask for what is computed at first use.
TEST(Layout, IsMadeOnceForManyThreads) {
  const Datatype type = Datatype::indexed({1, 2, 3, 1}, {0, 7, 20, 50}, Datatype::vector(3, 1, 2, doubles));
  std::vector<std::thread> threads;
  std::array<std::string, 4> said;
  for (std::size_t t = 0; t < said.size(); ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        const std::int64_t count = 1 + (i + static_cast<int>(t)) % 3;
        if (type.overlaps(count)) said[t] += "overlap";
        if (type.signature_of_first(5, count) != Datatype::contiguous(5, doubles).signature()) said[t] += "signature";
        said[t] = describe(type, 2);
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::string& text : said) EXPECT_EQ(text, describe(type, 2));
}

}  // namespace
}  // namespace dcgn::test
