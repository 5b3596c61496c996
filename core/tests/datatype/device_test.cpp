// Packing and unpacking by kernels, against the type map itself.
#include "memory.hpp"
#include "type_tree.hpp"

#include <gtest/gtest.h>
#include <dcgn/datatype/divider.hpp>
#include <dcgn/device.hpp>
#include <dcgn/pack.hpp>

#include "datatype/layout.hpp"
#include "datatype/move.hpp"
#include "expect.hpp"
#include "sanitized.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace dcgn::test {
namespace {

// What was in host memory, on a device, at an address that is aligned alike.
class OnDevice {
 public:
  OnDevice(const Device& device, const Bytes& bytes)
      : device_(device),
        buffer_(device, bytes.size() + 32),
        shift_(reinterpret_cast<std::uintptr_t>(bytes.data()) & 15),
        size_(bytes.size()) {
    device.copy(data(), bytes.data(), size_);
  }
  std::byte* data() const { return buffer_.data() + shift_; }
  Span<std::byte> part(std::int64_t begin, std::int64_t end) const {
    return {data() + begin, static_cast<std::size_t>(end - begin)};
  }
  Bytes back() const {
    Bytes bytes(size_);
    device_.copy(bytes.data(), data(), size_);
    return bytes;
  }

 private:
  Device device_;
  DeviceBuffer<std::byte> buffer_;
  std::size_t shift_, size_;
};

void expect_as_by_hand(const Device& device, Stream& stream, std::mt19937_64& random, const TypeTree& tree) {
  const std::int64_t count = pick(random, 0, 3);
  const Datatype type = datatype_of(tree);
  const TypeMap map = repeated(type_map(tree), count);
  Memory memory(random, map);
  const Bytes expected = packed_by_hand(map, memory);
  const auto size = static_cast<std::int64_t>(expected.size());
  const std::int64_t begin = pick(random, 0, size), end = pick(random, begin, size), shift = pick(random, 0, 15);
  if (size == 0) return;

  const OnDevice source(device, memory.bytes);
  Bytes packed = random_bytes(random, shift + size + 16);
  const OnDevice target(device, packed);
  const TypedBuffer buffer(source.data() + memory.origin, type, count);
  ASSERT_EQ(pack(device, stream, buffer, target.part(shift, shift + size)), size);
  stream.synchronize();
  std::copy(expected.begin(), expected.end(), packed.begin() + shift);
  ASSERT_EQ(target.back(), packed);

  // Any range by itself, into another place.
  const OnDevice part_of_it(device, packed = random_bytes(random, end - begin + 16));
  ASSERT_EQ(pack(device, stream, buffer, part_of_it.part(0, end - begin), begin), end - begin);
  stream.synchronize();
  std::copy(expected.begin() + begin, expected.begin() + end, packed.begin());
  ASSERT_EQ(part_of_it.back(), packed);

  if (map.overlaps()) return;
  const Bytes filler = random_bytes(random, size);
  const OnDevice filling(device, filler);
  const OnDevice filled(device, memory.bytes);
  const TypedBuffer to(filled.data() + memory.origin, type, count);
  unpack(device, stream, filling.part(begin, end), to, begin);
  stream.synchronize();
  ASSERT_EQ(filled.back(), unpacked_by_hand(map, filler, memory, begin, end));
  unpack(device, stream, filling.part(0, size), to);
  stream.synchronize();
  ASSERT_EQ(filled.back(), unpacked_by_hand(map, filler, memory, 0, size));
}

TEST(DevicePack, RandomTypesAsByHand) {
  const Device device(0);
  Stream stream(device);
#if defined(__SANITIZE_THREAD__)
  const int trees = 60;  // every thread of a block is one to it
#else
  const int trees = 6000 / fewer;
#endif
  for (int seed = 0; seed < trees; ++seed) {
    std::mt19937_64 random(static_cast<std::uint64_t>(seed) + 1000000);
    const TypeTree tree = random_tree(random, static_cast<int>(pick(random, 1, 5)), 1500);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + to_text(tree));
    expect_as_by_hand(device, stream, random, tree);
    if (HasFatalFailure()) return;
  }
}

// Types so long that 32 bits do not count their words; they have the same few bytes again and again.
TEST(DevicePack, RangesFarIntoLongTypes) {
  const Device device(0);
  Stream stream(device);
  std::mt19937_64 random(2);
  Bytes bytes = random_bytes(random, 400), packed(5000);
  const OnDevice in(device, bytes), out(device, packed);
  const Datatype irregular = Datatype::indexed({3, 1, 2}, {0, 9, 20}, Datatype::of<float>());
  const Datatype triangle = Datatype::indexed({3, 2, 1}, {0, 11, 22}, Datatype::of<float>());
  const Datatype rows = Datatype::indexed({1, 1, 1}, {0, 11, 12}, Datatype::of<std::int16_t>());
  for (const Datatype& one : {irregular, triangle, rows, Datatype::vector(3, 2, 7, Datatype::of<double>())}) {
    const Datatype type = Datatype::hvector(std::int64_t{1} << 32, 1, 0, one);
    for (const std::int64_t begin : {std::int64_t{5} << 32, (std::int64_t{9} << 31) + 1, type.size() - 4999}) {
      ASSERT_EQ(pack(device, stream, ConstTypedBuffer(in.data(), type), out.part(0, 5000), begin),
                std::min<std::int64_t>(5000, type.size() - begin));
      stream.synchronize();
      pack(ConstTypedBuffer(bytes.data(), type), Span<std::byte>(packed), begin);
      ASSERT_EQ(out.back(), packed) << describe(type) << " from " << begin;
    }
  }
}

// Each has the elements of the other in its own order, in types of different leaves.
TEST(DevicePack, BetweenTwoLayouts) {
  const Device device(0);
  Stream stream(device);
  for (int seed = 0; seed < 60 / fewer; ++seed) {
    std::mt19937_64 random(static_cast<std::uint64_t>(seed));
    const std::int64_t rows = pick(random, 1, 70), columns = pick(random, 1, 70);
    const Datatype element = Datatype::of<float>();
    const Datatype column = Datatype::resized(Datatype::vector(columns, 1, rows, element), 0, 4);
    Bytes matrix = random_bytes(random, rows * columns * 4);
    const OnDevice in(device, matrix), out(device, Bytes(matrix.size()));
    copy(device, stream, ConstTypedBuffer(in.data(), element, rows * columns), TypedBuffer(out.data(), column, rows));
    stream.synchronize();
    Bytes expected(matrix.size());
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < columns; ++j)
        std::copy_n(matrix.begin() + (i * columns + j) * 4, 4, expected.begin() + (j * rows + i) * 4);
    ASSERT_EQ(out.back(), expected) << "seed " << seed;
  }
}

// Launches are kept for when the same is to be done again: what is alike but for one thing is not the same. Types come
// and go meanwhile, and more launches than are kept.
TEST(DevicePack, TheSameAgain) {
  const Device device(0);
  Stream stream(device);
  std::mt19937_64 random(3);
  constexpr std::int64_t bytes = 600;
  const OnDevice sources[] = {{device, Bytes(bytes)}, {device, Bytes(bytes)}}, target(device, Bytes(bytes));
  const auto type_of = [](std::int64_t which) {
    const Datatype number = Datatype::of<float>();
    return which == 3 ? Datatype::indexed({3, 1, 2}, {0, 9, 20}, number) : Datatype::vector(5, 2 + which, 11, number);
  };
  const Datatype kept[] = {type_of(0), type_of(1), type_of(2), type_of(3)};
  for (int turn = 0; turn < (sanitized ? 25 : 440); ++turn) {
    const std::int64_t which = pick(random, 0, 3), count = pick(random, 1, 2), shift = 4 * pick(random, 0, 1);
    const Datatype type = turn % 2 ? kept[which] : type_of(which);
    const OnDevice& source = sources[pick(random, 0, 1)];
    const Bytes content = random_bytes(random, bytes);
    device.copy(source.data(), content.data(), content.size());
    const std::int64_t begin = pick(random, 0, 1) * 8, size = type.size() * count - begin;
    pack(device, stream, ConstTypedBuffer(source.data() + shift, type, count), target.part(0, size), begin);
    stream.synchronize();
    Bytes expected(static_cast<std::size_t>(size)), made = target.back();
    pack(ConstTypedBuffer(content.data() + shift, type, count), Span<std::byte>(expected), begin);
    made.resize(expected.size());
    ASSERT_EQ(made, expected) << "turn " << turn;
  }
}

// Triangles and parts of matrices whose rows are long, with ends at any bytes: between places alike, and any part of
// them.
TEST(DevicePack, LongRowsAtTheSamePlaces) {
  const Device device(0);
  Stream stream(device);
  for (int seed = 0; seed < 24 / fewer + 4; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(static_cast<std::uint64_t>(seed));
    constexpr ElementKind kinds[] = {ElementKind::int8, ElementKind::int16, ElementKind::float32, ElementKind::float64};
    const ElementKind kind = kinds[random() % std::size(kinds)];
    const std::int64_t element = bytes_of(kind), rows = pick(random, 2, 50), shape = pick(random, 0, 2);
    const std::int64_t shortest = pick(random, 2100, 3000) / element, pitch = shortest + rows + pick(random, 0, 40);
    std::vector<std::int64_t> lengths, places;
    for (std::int64_t i = 0; i < rows; ++i) {
      lengths.push_back(shortest + (shape == 0 ? 0 : shape == 1 ? i : rows - 1 - i));
      places.push_back(i * pitch);
    }
    const Datatype type = Datatype::indexed(lengths, places, Datatype::of(kind));
    const std::int64_t begin = pick(random, 0, 1) * pick(random, 0, type.size() / 2);
    const std::int64_t end = pick(random, 0, 1) ? type.size() : pick(random, begin + 1, type.size());
    const std::int64_t apart = pick(random, 0, 1) * 16 / element + pick(random, 0, 3) / 3;  // mostly aligned alike
    const Bytes source = random_bytes(random, (rows * pitch + 64) * element);
    Bytes expected = random_bytes(random, static_cast<std::int64_t>(source.size()));
    const OnDevice in(device, source), out(device, expected);
    const std::shared_ptr<const datatype::Layout> layout = datatype::layout_of(type, 1);
    const std::int64_t first = pick(random, 0, 20);
    datatype::move(device, stream,
                   {{{layout.get(), in.data() + first * element, begin},
                     {layout.get(), out.data() + (first + apart) * element, begin},
                     end - begin}});
    stream.synchronize();
    std::int64_t packed = 0;
    for (std::size_t i = 0; i < lengths.size(); packed += lengths[i++] * element) {
      const std::int64_t b = std::max(begin - packed, std::int64_t{0});
      const std::int64_t e = std::min(end - packed, lengths[i] * element);
      for (std::int64_t k = b; k < e; ++k)
        expected[static_cast<std::size_t>((first + apart + places[i]) * element + k)] =
            source[static_cast<std::size_t>((first + places[i]) * element + k)];
    }
    ASSERT_EQ(out.back(), expected);
  }
}

// Types whose neighbours in memory are far apart in the packed order, with loops around and between, up and down.
TEST(DevicePack, Transposes) {
  const Device device(0);
  Stream stream(device);
  for (int seed = 0; seed < (sanitized ? 6 : 200); ++seed) {
    std::mt19937_64 random(static_cast<std::uint64_t>(seed));
    constexpr ElementKind kinds[] = {ElementKind::int8, ElementKind::int16, ElementKind::float32, ElementKind::float64,
                                     ElementKind::complex128};
    TypeTree tree;
    tree.kind = kinds[random() % std::size(kinds)];
    const std::int64_t bytes = bytes_of(tree.kind), down = pick(random, 8, 70), next = pick(random, 8, 70);
    const std::int64_t pitch = std::max(bytes * (next + pick(random, 0, 9)), std::int64_t{64});
    const auto loop = [&](std::int64_t count, std::int64_t stride) {
      TypeTree around;
      around.maker = Maker::hvector;
      around.count = count;
      around.length = 1;
      around.stride = random() % 4 ? stride : -stride;
      around.children.push_back(std::exchange(tree, {}));
      tree = std::move(around);
    };
    loop(down, pitch);
    if (random() % 3 == 0) loop(pick(random, 1, 3), pitch * 80);
    loop(next, bytes);
    if (random() % 2) loop(pick(random, 1, 3), pitch * 300);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + to_text(tree));
    expect_as_by_hand(device, stream, random, tree);
    if (HasFatalFailure()) return;
  }
}

// More than a launch takes, of all words, with and without tables.
TEST(DevicePack, ManyBuffersAtOnce) {
  const Device device(0);
  Stream stream(device);
  for (int seed = 0; seed < (sanitized ? 1 : 40); ++seed) {
    std::mt19937_64 random(static_cast<std::uint64_t>(seed));
    std::vector<ConstTypedBuffer> from;
    std::vector<TypedBuffer> to;
    std::vector<std::unique_ptr<OnDevice>> sources, targets;
    std::vector<Bytes> filled;
    Bytes expected, filler;
    for (int i = 0; i < 45; ++i) {
      const TypeTree tree = random_tree(random, static_cast<int>(pick(random, 0, 3)), 300);
      const TypeMap map = type_map(tree);
      if (map.overlaps()) continue;
      Memory memory(random, map);
      const Bytes one = packed_by_hand(map, memory),
                  other = random_bytes(random, static_cast<std::int64_t>(one.size()));
      expected.insert(expected.end(), one.begin(), one.end());
      filler.insert(filler.end(), other.begin(), other.end());
      filled.push_back(unpacked_by_hand(map, other, memory, 0, static_cast<std::int64_t>(other.size())));
      sources.push_back(std::make_unique<OnDevice>(device, memory.bytes));
      targets.push_back(std::make_unique<OnDevice>(device, memory.bytes));
      from.emplace_back(sources.back()->data() + memory.origin, datatype_of(tree));
      to.emplace_back(targets.back()->data() + memory.origin, datatype_of(tree));
    }
    const OnDevice packed(device, Bytes(expected.size())), filling(device, filler);
    const auto size = static_cast<std::int64_t>(expected.size());
    pack(device, stream, from, packed.part(0, size));
    unpack(device, stream, filling.part(0, size), to);
    stream.synchronize();
    ASSERT_EQ(packed.back(), expected) << "seed " << seed;
    for (std::size_t i = 0; i < targets.size(); ++i)
      ASSERT_EQ(targets[i]->back(), filled[i]) << "seed " << seed << ", " << i;
    EXPECT_EQ(error_of([&] { pack(device, stream, from, packed.part(0, size - 1)); }).code(), Code::invalid_size);
  }
}

// The type, and its table on the device, go while the kernel may still be under way.
TEST(DevicePack, TypesMayGoBeforeTheKernel) {
  const Device device(0);
  Stream stream(device);
  std::mt19937_64 random(1);
  Bytes bytes = random_bytes(random, 100000);
  const OnDevice in(device, bytes), out(device, Bytes(bytes.size()));
  Bytes expected(bytes.size());
  std::size_t packed = 0;
  for (int round = 0; round < (sanitized ? 4 : 20); ++round) {
    std::vector<std::int64_t> lengths, displacements;
    for (std::int64_t at = 0; at + 200 < 100000; at += pick(random, 100, 200)) {
      lengths.push_back(pick(random, 1, 90));
      displacements.push_back(at);
    }
    packed = 0;
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      std::copy_n(bytes.begin() + displacements[i], lengths[i], expected.begin() + static_cast<std::ptrdiff_t>(packed));
      packed += static_cast<std::size_t>(lengths[i]);
    }
    pack(device, stream, ConstTypedBuffer(in.data(), Datatype::hindexed(lengths, displacements, Datatype::bytes(1))),
         out.part(0, static_cast<std::int64_t>(bytes.size())));
  }
  stream.synchronize();
  expected.resize(packed);
  Bytes found = out.back();
  found.resize(packed);
  EXPECT_EQ(found, expected);
}

template <class Index>
void expect_quotients(Index most) {
  std::mt19937_64 random(5);
  const auto check = [&](Index n, Index d) {
    const datatype::Divider<Index> divider(static_cast<std::int64_t>(d));
    ASSERT_EQ(divider(n), n / d) << n << " / " << d;
  };
  for (Index d = 1; d < 100; ++d)
    for (Index n = 0; n < 1000; ++n) check(n, d);
  for (int i = 0; i < 200000; ++i) {
    const auto d = static_cast<Index>(1 + (random() & most) % (most >> random() % (8 * sizeof(Index) - 2)));
    const auto n = static_cast<Index>(random() & most);
    for (const Index near : {n, static_cast<Index>(n / d * d), static_cast<Index>(n / d * d - (n >= d)), most})
      check(near, d);
  }
  for (Index power = 1; power < most / 2; power *= 2)
    for (const Index d : {power, static_cast<Index>(power + 1), static_cast<Index>(power * 2 - 1)}) check(most, d);
}

TEST(Divider, DividesAsDivisionDoes) {
  expect_quotients<std::uint32_t>(std::numeric_limits<std::int32_t>::max());
  expect_quotients<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
}

}  // namespace
}  // namespace dcgn::test
