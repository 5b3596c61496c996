// Packing and unpacking on the host, against the type map itself.
#include "memory.hpp"
#include "type_tree.hpp"

#include <gtest/gtest.h>
#include <dcgn/operation.hpp>
#include <dcgn/pack.hpp>

#include "datatype/layout.hpp"
#include "expect.hpp"
#include "sanitized.hpp"

#include <cstddef>
#include <functional>
#include <random>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <sys/mman.h>

namespace dcgn::test {
namespace {

using Counts = Datatype::Counts;

void expect_as_by_hand(std::mt19937_64& random, const TypeTree& tree) {
  const std::int64_t count = pick(random, 0, 3);
  const Datatype type = datatype_of(tree);
  const TypeMap one = type_map(tree), map = repeated(one, count);
  ASSERT_EQ(type.size(), one.size());
  ASSERT_EQ(type.elements(), static_cast<std::int64_t>(one.entries.size()));
  ASSERT_EQ(type.true_lower_bound(), one.true_lower());
  ASSERT_EQ(type.true_extent(), one.true_upper() - one.true_lower());
  ASSERT_EQ(type.lower_bound(), one.lower());
  ASSERT_EQ(type.extent(), one.extent());
  ASSERT_EQ(type.overlaps(count), map.overlaps());

  Memory memory(random, map);
  const TypedBuffer buffer(memory.address(), type, count);
  const Bytes expected = packed_by_hand(map, memory);
  const std::int64_t size = buffer.bytes();
  ASSERT_EQ(size, static_cast<std::int64_t>(expected.size()));

  constexpr auto canary = std::byte{0xc5};
  Bytes packed(expected.size() + 16, canary);
  ASSERT_EQ(pack(buffer, range(packed, 8, 8 + size)), size);
  ASSERT_EQ(Bytes(packed.begin() + 8, packed.end() - 8), expected);
  for (std::size_t i = 0; i < 8; ++i) ASSERT_TRUE(packed[i] == canary && packed[packed.size() - 1 - i] == canary);

  // Any range by itself.
  const std::int64_t begin = pick(random, 0, size), end = pick(random, begin, size);
  Bytes part(static_cast<std::size_t>(end - begin), canary);
  ASSERT_EQ(pack(buffer, Span<std::byte>(part), begin), end - begin);
  ASSERT_EQ(part, Bytes(expected.begin() + begin, expected.begin() + end));
  if (map.overlaps()) return;
  Bytes filler = random_bytes(random, size);
  const Bytes all = unpacked_by_hand(map, filler, memory, 0, size),
              some = unpacked_by_hand(map, filler, memory, begin, end);
  Memory filled = memory;
  unpack(range(filler, begin, end), TypedBuffer(filled.address(), type, count), begin);
  ASSERT_EQ(filled.bytes, some);
  unpack(Span<const std::byte>(filler), TypedBuffer(filled.address(), type, count));
  ASSERT_EQ(filled.bytes, all);
}

TEST(Pack, RandomTypesAsByHand) {
  const int trees = sanitized ? 2000 : 8000;
  for (int seed = 0; seed < trees; ++seed) {
    std::mt19937_64 random(static_cast<std::uint64_t>(seed));
    const TypeTree tree = random_tree(random, static_cast<int>(pick(random, 1, 5)), 1500);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + to_text(tree));
    expect_as_by_hand(random, tree);
    if (HasFatalFailure()) return;
  }
}

// Every pair of a begin and an end.
TEST(Pack, EveryRange) {
  for (int seed = 0; seed < (sanitized ? 12 : 60); ++seed) {
    std::mt19937_64 random(static_cast<std::uint64_t>(seed));
    const TypeTree tree = random_tree(random, static_cast<int>(pick(random, 1, 4)), 40);
    SCOPED_TRACE("seed " + std::to_string(seed));
    const TypeMap map = repeated(type_map(tree), 2);
    Memory memory(random, map);
    const TypedBuffer buffer(memory.address(), datatype_of(tree), 2);
    const Bytes expected = packed_by_hand(map, memory);
    const std::int64_t size = buffer.bytes();
    for (std::int64_t begin = 0; begin <= size; ++begin)
      for (std::int64_t end = begin; end <= size; ++end) {
        Bytes part(static_cast<std::size_t>(end - begin));
        ASSERT_EQ(pack(buffer, Span<std::byte>(part), begin), end - begin);
        ASSERT_EQ(part, Bytes(expected.begin() + begin, expected.begin() + end)) << begin << ".." << end;
      }
  }
}

TEST(Pack, BetweenTwoLayouts) {
  for (int seed = 0; seed < 500; ++seed) {
    std::mt19937_64 random(static_cast<std::uint64_t>(seed));
    const std::int64_t rows = pick(random, 1, 60), columns = pick(random, 1, 60);
    std::vector<double> matrix(static_cast<std::size_t>(rows * columns)), transposed(matrix.size(), -1);
    for (double& value : matrix) value = static_cast<double>(random() % 1000);
    const Datatype element = Datatype::of<double>();
    const Datatype column = Datatype::resized(Datatype::vector(columns, 1, rows, element), 0, 8);
    copy(ConstTypedBuffer(matrix, element, rows * columns), TypedBuffer(transposed, column, rows));
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < columns; ++j)
        ASSERT_EQ(transposed[static_cast<std::size_t>(j * rows + i)],
                  matrix[static_cast<std::size_t>(i * columns + j)]);
  }
}

TEST(Pack, BeyondFourGigabytes) {
  const Datatype far = Datatype::hvector(3, 1, std::int64_t{5} << 30, Datatype::of<double>());
  const Datatype back = Datatype::hvector(3, 1, -(std::int64_t{5} << 30), Datatype::of<double>());
  EXPECT_EQ(far.extent(), (std::int64_t{10} << 30) + 8);
  const struct Reserved {
    std::int64_t bytes = (std::int64_t{10} << 30) + 8;
    void* memory = ::mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    ~Reserved() { ::munmap(memory, static_cast<std::size_t>(bytes)); }
  } reserved;
  if (reserved.memory == MAP_FAILED) GTEST_SKIP() << "no 10 GiB of addresses";
  auto* const begin = static_cast<std::byte*>(reserved.memory);
  const std::vector<double> values = {1, 2, 3};
  const Span<const std::byte> bytes(reinterpret_cast<const std::byte*>(values.data()), 24);
  unpack(bytes, TypedBuffer(begin, far));
  std::vector<double> found(3);
  pack(ConstTypedBuffer(begin + (std::int64_t{10} << 30), back),
       Span<std::byte>(reinterpret_cast<std::byte*>(found.data()), 24));
  EXPECT_EQ(found, std::vector<double>({3, 2, 1}));
}

TEST(Pack, UnpackingWithAnOperation) {
  for (int seed = 0; seed < 500; ++seed) {
    std::mt19937_64 random(static_cast<std::uint64_t>(seed));
    std::vector<int> memory(400);
    for (int& value : memory) value = static_cast<int>(random() % 1000);
    Counts lengths, displacements;
    for (std::int64_t at = 0; at < 390; at += 4 + pick(random, 0, 20)) {
      displacements.push_back(at);
      lengths.push_back(pick(random, 1, 4));
    }
    const Datatype type = Datatype::indexed(lengths, displacements, Datatype::of<int>());
    const std::int64_t begin = pick(random, 0, type.elements()), end = pick(random, begin, type.elements());
    std::vector<int> packed(static_cast<std::size_t>(end - begin)), expected = memory;
    for (int& value : packed) value = static_cast<int>(random() % 1000);
    std::int64_t k = 0;
    for (std::size_t b = 0; b < lengths.size(); ++b)
      for (std::int64_t i = 0; i < lengths[b]; ++i, ++k) {
        if (k < begin || k >= end) continue;
        int& value = expected[static_cast<std::size_t>(displacements[b] + i)];
        value = value * 3 - packed[static_cast<std::size_t>(k - begin)];  // in this order
      }
    unpack(
        Span<const int>(packed), TypedBuffer(memory, type), [](int a, int b) { return a * 3 - b; }, begin);
    ASSERT_EQ(memory, expected) << "seed " << seed;
  }
}

std::string said_by(const std::function<void()>& action) { return error_of(action).what(); }

// What std::mdspan is, from C++23 on.
struct View {
  using element_type = float;
  const float* data;
  std::int64_t extents[2], strides[2];
  const float* data_handle() const { return data; }
  static constexpr std::size_t rank() { return 2; }
  std::int64_t extent(std::size_t i) const { return extents[i]; }
  std::int64_t stride(std::size_t i) const { return strides[i]; }
};

TEST(Pack, OfAView) {
  const float array[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  const View view{array + 1, {2, 3}, {6, 2}};
  std::vector<float> packed(6);
  pack(ConstTypedBuffer(view, Datatype::of_view(view)),
       Span<std::byte>(reinterpret_cast<std::byte*>(packed.data()), 24));
  EXPECT_EQ(packed, (std::vector<float>{1, 3, 5, 7, 9, 11}));
}

// What says how much there is, and may be written where that is asked for.
static_assert(!std::is_constructible_v<TypedBuffer, const View&, Datatype>);
static_assert(!std::is_constructible_v<ConstTypedBuffer, std::vector<float>::iterator, Datatype>);
static_assert(std::is_constructible_v<ConstTypedBuffer, const std::vector<float>&, Datatype>);
static_assert(!std::is_constructible_v<TypedBuffer, const std::vector<float>&, Datatype>);
static_assert(std::is_constructible_v<TypedBuffer, float*, Datatype>);
static_assert(!std::is_constructible_v<TypedBuffer, const float*, Datatype>);

TEST(Pack, ALiteralIsWhereARangeBegins) {
  std::vector<float> memory(10);
  const std::vector<float> sent = {5, 6};
  unpack(Span<const std::byte>(reinterpret_cast<const std::byte*>(sent.data()), 8),
         TypedBuffer(memory, Datatype::of<float>(), 10), 4);
  EXPECT_EQ(memory, (std::vector<float>{0, 5, 6, 0, 0, 0, 0, 0, 0, 0}));
}

TEST(Pack, WhatHasBeenMovedFromIsSomethingStill) {
  Datatype type = Datatype::vector(2, 1, 2, Datatype::of<int>());
  const Datatype other = std::move(type);
  EXPECT_EQ(type, Datatype());  // NOLINT(bugprone-use-after-move): what is tested
  EXPECT_EQ(other.size(), 8);
  std::vector<int> memory = {1, 2, 3};
  TypedBuffer buffer(memory, other);
  const TypedBuffer another = std::move(buffer);
  EXPECT_EQ(buffer.bytes(), 0);  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(another.bytes(), 8);
}

TEST(Pack, RefusesWhatCannotBe) {
  std::vector<double> memory(100), small(3);
  const Datatype column = Datatype::vector(10, 1, 10, Datatype::of<double>());
  const TypedBuffer buffer(memory, column);
  EXPECT_EQ(said_by([&] { TypedBuffer(memory, column, 2); }),
            "dcgn: typed buffer: 2 of the type reach over bytes 0..1455 of a buffer that has 800 bytes");
  EXPECT_EQ(said_by([&] { TypedBuffer(memory, column, 1, 10); }),
            "dcgn: typed buffer: 1 of the type reach over bytes 80..807 of a buffer that has 800 bytes");
  EXPECT_EQ(said_by([&] { TypedBuffer(memory, Datatype::vector(2, 1, -1, Datatype::of<double>())); }),
            "dcgn: typed buffer: 1 of the type reach over bytes -8..7 of a buffer that has 800 bytes");
  EXPECT_NO_THROW(TypedBuffer(memory, column, 1, 9));
  EXPECT_EQ(said_by([&] { TypedBuffer(memory, column, -1); }), "dcgn: typed buffer: count is -1, expected 0 or more");
  EXPECT_EQ(said_by([&] { TypedBuffer(memory, column, 1, 101); }),
            "dcgn: typed buffer: origin is 101, expected 0..100, the buffer's elements");

  Bytes packed(81);
  EXPECT_EQ(said_by([&] { pack(buffer, Span<std::byte>(packed), 81); }),
            "dcgn: pack: begin is 81, expected 0..80, what the type has");
  const std::vector<double> before = memory;
  EXPECT_EQ(said_by([&] { unpack(Span<const std::byte>(packed), buffer); }),
            "dcgn: unpack: 81 bytes from byte 0 on, expected at most 80, which is what the type has left");
  EXPECT_EQ(memory, before);
  EXPECT_EQ(said_by([&] { pack(ConstTypedBuffer(nullptr, column), Span<std::byte>(packed)); }),
            "dcgn: pack: the buffer is null, expected one of 80 bytes");
  const Datatype twice = Datatype::vector(2, 2, 1, Datatype::of<double>());
  EXPECT_EQ(said_by([&] { unpack(range(packed, 0, 32), TypedBuffer(memory, twice)); }),
            "dcgn: unpack: the type to be filled has some byte twice: at 0: 2 times every 8 B: 16 B");
  EXPECT_NO_THROW(pack(TypedBuffer(memory, twice), Span<std::byte>(packed)));

  EXPECT_EQ(said_by([&] { copy(buffer, TypedBuffer(small, Datatype::of<double>(), 3)); }),
            "dcgn: copy: 80 bytes, expected at most 24, which is what the type to be filled has");
  const Datatype mixed = Datatype::structure({3, 2}, {0, 24}, {Datatype::of<double>(), Datatype::of<float>()});
  EXPECT_EQ(said_by([&] { copy(TypedBuffer(memory, mixed), buffer); }),
            "dcgn: copy: element 3 is of kind float32, expected float64");
  const std::vector<float> floats(11);
  EXPECT_EQ(said_by([&] { unpack(Span<const float>(floats), buffer, Sum{}); }),
            "dcgn: unpack: element 0 is of kind float64, expected float32");
  EXPECT_EQ(said_by([&] { unpack(Span<const double>(nullptr, 2), buffer, Sum{}); }),
            "dcgn: unpack: the buffer is null, expected one of 16 bytes");
  EXPECT_EQ(
      said_by([&] { unpack(Span<const double>(memory.data(), 1), TypedBuffer(packed, Datatype::bytes(81)), Sum{}); }),
      "dcgn: unpack: 81 bytes, expected a multiple of 8, float64 each");
  EXPECT_EQ(said_by([&] { unpack(Span<const double>(memory), buffer, Sum{}, 3); }),
            "dcgn: unpack: 100 elements from element 3 on, expected at most 7");
  EXPECT_NO_THROW(copy(TypedBuffer(memory, mixed), TypedBuffer(memory, Datatype::bytes(32), 1, 50)));
}

}  // namespace
}  // namespace dcgn::test
