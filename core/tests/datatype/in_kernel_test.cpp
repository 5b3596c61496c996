// Packing and unpacking in kernels, by a thread, a warp and a block, against the type map itself.
#include "memory.hpp"
#include "type_tree.hpp"

#include <gtest/gtest.h>
#include <dcgn/gpu/datatype.hpp>
#include <dcgn/gpu/device_datatype.hpp>
#include <dcgn/gpu/launch.hpp>
#include <dcgn/operation.hpp>
#include <dcgn/pack.hpp>

#include "expect.hpp"
#include "sanitized.hpp"

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace dcgn::test {
namespace {

struct PackAndUnpack {
  struct Job {
    std::byte *memory, *packed, *filled, *filler;
    std::int64_t begin, end;  // of the packed bytes
    std::int64_t counts[2];
  };

  // In thirds, as a kernel would that has little room.
  template <class Scope>
  DCGN_HOST_DEVICE static void act(const Scope& scope, const gpu::Datatype& type, Job* job) {
    const std::int64_t third = (job->end - job->begin) / 3 + 1;
    std::int64_t packed = 0, unpacked = 0;
    for (std::int64_t at = job->begin; at < job->end; at += third) {
      const std::int64_t count = job->end - at < third ? job->end - at : third;
      packed += gpu::pack(scope, type, job->memory, job->packed + (at - job->begin), count, at);
      unpacked += gpu::unpack(scope, type, job->filler + (at - job->begin), count, job->filled, at);
    }
    if (!scope.leader()) return;
    job->counts[0] = packed;
    job->counts[1] = unpacked;
  }

  DCGN_HOST_DEVICE void operator()(gpu::Context& ctx, gpu::Datatype type, Job* job, int scope) const {
    if (scope == 0 && ctx.thread_rank() == 0) act(gpu::this_thread(), type, job);
    if (scope == 1 && ctx.warp() == 0) act(gpu::this_warp(ctx), type, job);
    if (scope == 2) act(gpu::this_block(ctx), type, job);
  }
};

TEST(InKernel, RandomTypesAsByHand) {
  const Device device(0);
  Stream stream(device);
  for (int seed = 0; seed < 600 / fewer; ++seed) {
    std::mt19937_64 random(static_cast<std::uint64_t>(seed));
    const TypeTree tree = random_tree(random, static_cast<int>(pick(random, 1, 5)), 200);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + to_text(tree));
    const std::int64_t count = pick(random, 1, 2);
    const TypeMap map = repeated(type_map(tree), count);
    if (map.overlaps()) continue;
    Memory memory(random, map);
    const Bytes all = packed_by_hand(map, memory);
    const auto size = static_cast<std::int64_t>(all.size());
    const std::int64_t begin = pick(random, 0, size), end = pick(random, begin, size);
    const Bytes filler = random_bytes(random, size);
    Bytes packed(all.size() + 16);

    const DeviceDatatype type(device, datatype_of(tree), count);
    ASSERT_EQ(type.bytes(), size);
    const DeviceBuffer<std::byte> memory_there(device, memory.bytes.size()), filled_there(device, memory.bytes.size());
    const DeviceBuffer<std::byte> packed_there(device, packed.size()), filler_there(device, filler.size() + 16);
    memory_there.upload(memory.bytes.data());
    filled_there.upload(memory.bytes.data());
    packed_there.upload(packed.data());
    const std::int64_t shift = pick(random, 0, 15);
    device.copy(filler_there.data() + shift, filler.data(), filler.size());
    const PackAndUnpack::Job job{memory_there.data() + memory.origin,
                                 packed_there.data() + shift,
                                 filled_there.data() + memory.origin,
                                 filler_there.data() + shift + begin,
                                 begin,
                                 end,
                                 {-1, -1}};
    const DeviceBuffer<PackAndUnpack::Job> job_there(device, 1);
    job_there.upload(&job);
    device.launch(stream, {.grid = 1, .block = 96}, PackAndUnpack{}, type.handle(), job_there.data(), seed % 3);
    stream.synchronize();

    PackAndUnpack::Job done{};
    job_there.download(&done);
    ASSERT_EQ(done.counts[0], end - begin);
    ASSERT_EQ(done.counts[1], end - begin);
    Bytes found(packed.size());
    packed_there.download(found.data());
    std::copy(all.begin() + begin, all.begin() + end, packed.begin() + shift);
    ASSERT_EQ(found, packed);
    found.resize(memory.bytes.size());
    filled_there.download(found.data());
    ASSERT_EQ(found, unpacked_by_hand(map, filler, memory, begin, end));
  }
}

struct TripleLess {
  DCGN_HOST_DEVICE int operator()(int a, int b) const { return a * 3 - b; }
};

struct AddUp {
  DCGN_HOST_DEVICE void operator()(gpu::Context& ctx, gpu::Datatype type, Span<const int> packed, int* memory,
                                   std::int64_t begin, std::int64_t* count) const {
    const std::int64_t n = gpu::unpack(gpu::this_block(ctx), type, packed, memory, TripleLess{}, begin);
    if (ctx.thread_rank() == 0) *count = n;
  }
};

TEST(InKernel, UnpackingWithAnOperation) {
  const Device device(0);
  Stream stream(device);
  // Several leaves: rows, a list, a triangle.
  const Datatype element = Datatype::of<int>();
  const Datatype rows = Datatype::vector(7, 3, 5, element), list = Datatype::indexed({1, 3, 2}, {0, 4, 9}, element);
  const Datatype triangle = Datatype::indexed({4, 3, 2, 1}, {0, 5, 10, 15}, element);
  const Datatype type = Datatype::structure({1, 2, 1}, {0, 200, 400}, {rows, list, triangle});
  std::vector<int> places(150);
  for (std::size_t i = 0; i < places.size(); ++i) places[i] = static_cast<int>(i);
  std::vector<int> order(static_cast<std::size_t>(type.elements()));
  pack(ConstTypedBuffer(places, type), Span<std::byte>(reinterpret_cast<std::byte*>(order.data()), order.size() * 4));
  const DeviceDatatype there(device, type);
  for (const std::int64_t begin : {0, 5, 20, 42})
    for (const std::int64_t count : {0, 1, 11, 40}) {
      std::vector<int> memory = places, packed(static_cast<std::size_t>(count) + 1), expected = places;
      for (std::size_t i = 0; i < packed.size(); ++i) packed[i] = 7 * static_cast<int>(i) + 1;
      const std::int64_t done = std::min(count, std::max<std::int64_t>(0, type.elements() - begin));
      for (std::int64_t i = 0; i < done; ++i) {
        int& value = expected[static_cast<std::size_t>(order[static_cast<std::size_t>(begin + i)])];
        value = value * 3 - packed[static_cast<std::size_t>(i)];
      }
      const DeviceBuffer<int> memory_there(device, memory.size()), packed_there(device, packed.size());
      const DeviceBuffer<std::int64_t> count_there(device, 1);
      memory_there.upload(memory.data());
      packed_there.upload(packed.data());
      device.launch(stream, {.grid = 1, .block = 40}, AddUp{}, there.handle(),
                    Span<const int>(packed_there.data(), static_cast<std::size_t>(count)), memory_there.data(), begin,
                    count_there.data());
      stream.synchronize();
      std::int64_t found = -1;
      count_there.download(&found);
      memory_there.download(memory.data());
      EXPECT_EQ(found, done);
      EXPECT_EQ(memory, expected) << begin << ", " << count;

      // The same by a kernel of the library's, which refuses what there is no room for.
      memory = places;
      memory_there.upload(memory.data());
      const Span<const int> given(packed_there.data(), static_cast<std::size_t>(count));
      const auto add_up = [&] { unpack(device, stream, given, there, memory_there.data(), TripleLess{}, begin); };
      if (done < count) {
        EXPECT_EQ(error_of(add_up).code(), Code::truncated);
        continue;
      }
      add_up();
      stream.synchronize();
      memory_there.download(memory.data());
      EXPECT_EQ(memory, expected) << begin << ", " << count;
    }
  const Error mismatch = error_of([&] {
    const DeviceBuffer<float> floats(device, 1);
    unpack(device, stream, Span<const float>(floats.data(), 1), there, floats.data(), Sum{});
  });
  EXPECT_EQ(mismatch.code(), Code::mismatch);
}

}  // namespace
}  // namespace dcgn::test
