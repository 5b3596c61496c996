// What a kernel sees and can do, on whatever device there is.
#include "device_kernels.hpp"
#include "support.hpp"

#include <dcgn/gpu/launch.hpp>

#include <numeric>

namespace dcgn::test {
namespace {

bool same(Dim3 a, Dim3 b) { return a.x == b.x && a.y == b.y && a.z == b.z; }

TEST(Kernel, SeesItsCoordinatesInThreeDimensions) {
  const Device device(0);
  const Launch launch{.grid = {3, 2, 2}, .block = {5, 3, 3}};
  const DeviceBuffer<WriteCoordinates::Seen> out(device, launch.grid.volume() * launch.block.volume());
  run(device, launch, WriteCoordinates{}, out.data());
  const auto seen = download(out);
  std::size_t i = 0;
  for (unsigned bz = 0; bz < 2; ++bz)
    for (unsigned by = 0; by < 2; ++by)
      for (unsigned bx = 0; bx < 3; ++bx)
        for (unsigned tz = 0; tz < 3; ++tz)
          for (unsigned ty = 0; ty < 3; ++ty)
            for (unsigned tx = 0; tx < 5; ++tx, ++i) {
              const unsigned rank = (tz * 3 + ty) * 5 + tx;
              ASSERT_TRUE(same(seen[i].thread, {tx, ty, tz})) << i;
              ASSERT_TRUE(same(seen[i].block, {bx, by, bz})) << i;
              ASSERT_TRUE(same(seen[i].block_dim, launch.block));
              ASSERT_TRUE(same(seen[i].grid_dim, launch.grid));
              ASSERT_EQ(seen[i].lane, rank % 32);
              ASSERT_EQ(seen[i].warp, rank / 32);
              ASSERT_EQ(seen[i].warp_lanes, rank < 32 ? 32u : 13u);
              ASSERT_EQ(seen[i].num_threads, 45u);
              ASSERT_EQ(seen[i].num_blocks, 12u);
            }
}

TEST(Kernel, ReducesInSharedMemory) {
  const Device device(0);
  constexpr unsigned blocks = 4, threads = 256;
  std::vector<std::uint32_t> host(blocks * threads);
  for (std::size_t i = 0; i < host.size(); ++i) host[i] = static_cast<std::uint32_t>(i * i % 1009);
  const auto in = upload(device, host);
  const auto out = zeroed<std::uint32_t>(device, blocks);
  run(device, {.grid = blocks, .block = threads, .shared_bytes = threads * sizeof(std::uint32_t)},
      ReduceInSharedMemory{}, in.data(), out.data());
  const auto sums = download(out);
  for (unsigned b = 0; b < blocks; ++b)
    EXPECT_EQ(sums[b], std::accumulate(&host[b * threads], &host[b * threads] + threads, 0u));
}

TEST(Kernel, ExchangesWithinWarps) {
  const Device device(0);
  constexpr unsigned threads = 45;  // a full warp and one of 13 lanes
  const DeviceBuffer<ExchangeInWarp::Got> out(device, threads);
  run(device, {.grid = 1, .block = threads}, ExchangeInWarp{}, out.data());
  const auto got = download(out);
  const auto value = [](unsigned thread) { return 1000000000000u + thread; };
  for (unsigned i = 0; i < threads; ++i) {
    SCOPED_TRACE(i);
    const unsigned first = i / 32 * 32, lanes = first ? 13 : 32, lane = i - first;
    EXPECT_EQ(got[i].from_next, value(first + (lane + 1) % lanes));
    EXPECT_EQ(got[i].up, value(lane < 3 ? i : i - 3));
    EXPECT_EQ(got[i].down, value(lane + 3 < lanes ? i + 3 : i));
    EXPECT_EQ(got[i].crossed, value((lane ^ 5) < lanes ? first + (lane ^ 5) : i));
    EXPECT_EQ(got[i].small, first);
    EXPECT_EQ(got[i].odd, first ? 0xaaau : 0xaaaaaaaau);
    EXPECT_EQ(got[i].none, 0u);
    EXPECT_TRUE(got[i].any);
    EXPECT_EQ(got[i].all, first == 0);
  }
}

TEST(Kernel, BroadcastsFromThreadZero) {
  const Device device(0);
  const auto out = zeroed<std::uint64_t>(device, 70);
  run(device, {.grid = 1, .block = 70}, Broadcast{}, out.data());
  for (const std::uint64_t sum : download(out)) EXPECT_EQ(sum, 3 * gpu::block_scratch_bytes / 8 + 100 + 200);
}

TEST(Kernel, BarrierDoesNotWaitForThreadsThatReturned) {
  const Device device(0);
  const auto order = zeroed<std::uint32_t>(device, 1);
  run(device, {.grid = 1, .block = 100}, LeaveEarly{}, 37u, order.data());
  EXPECT_EQ(download(order)[0], 4 * 37u);
}

TEST(Kernel, CountsAcrossBlocksWithAtomics) {
  const Device device(0);
  const auto counter = zeroed<std::uint64_t>(device, 1);
  run(device, {.grid = 16, .block = 64}, Count{}, counter.data());
  EXPECT_EQ(download(counter)[0], 16 * 64u);
}

TEST(Kernel, SixteenBlocksWaitForEachOther) {
  const Device device(0);
  constexpr unsigned blocks = 16, rounds = 50;
  const auto turn = zeroed<std::uint32_t>(device, 1);
  const auto data = zeroed<std::uint64_t>(device, 1);
  run(device, {.grid = blocks, .block = 40}, PassToken{}, turn.data(), data.data(), rounds);
  EXPECT_EQ(download(data)[0], blocks * rounds);
}

TEST(Kernel, GridBeyondResidencyRunsInTurns) {
  const Device device(0);
  Launch launch{.grid = 1, .block = 1024, .resident = false};
  const int limit =
      device.max_resident_blocks(launch, CountAtOnce{}, static_cast<std::uint32_t*>(nullptr),
                                 static_cast<std::uint32_t*>(nullptr), static_cast<std::uint32_t*>(nullptr));
  launch.grid = static_cast<unsigned>(2 * limit + 1);
  const auto inside = zeroed<std::uint32_t>(device, 2);
  const auto runs = zeroed<std::uint32_t>(device, launch.grid.volume());
  launch.block = 1;
  launch.shared_bytes = device.properties().shared_bytes_per_block;  // as few at once as with 1024 threads, or fewer
  run(device, launch, CountAtOnce{}, inside.data(), inside.data() + 1, runs.data());
  const auto counts = download(inside);
  EXPECT_EQ(counts[0], 0u);
  EXPECT_GE(counts[1], 1u);
  EXPECT_LE(counts[1], static_cast<unsigned>(limit));
  for (const std::uint32_t times : download(runs)) ASSERT_EQ(times, 1u);
}

TEST(Kernel, LaunchBeyondResidencyIsRefusedWithBothNumbers) {
  const Device device(0);
  Stream stream(device);
  for (const std::size_t shared_bytes : {40u << 10, 64u << 10}) {  // CUDA gives more than 48 KiB only where it is asked
    Launch launch{.grid = 1, .block = 32, .shared_bytes = shared_bytes};
    const int limit = device.max_resident_blocks(launch, Nothing{});
    ASSERT_GT(limit, 0);
    launch.grid = static_cast<unsigned>(limit);
    device.launch(stream, launch, Nothing{});
    stream.synchronize();
    launch.grid = static_cast<unsigned>(limit + 1);
    const Error error = error_of([&] { device.launch(stream, launch, Nothing{}); });
    EXPECT_EQ(error.code(), Code::too_many_blocks);
    EXPECT_TRUE(contains(error.what(), std::to_string(limit + 1) + " blocks"));
    EXPECT_TRUE(contains(error.what(), "at most " + std::to_string(limit)));
    EXPECT_TRUE(contains(error.what(), "dcgn::test::Nothing"));
    EXPECT_TRUE(contains(error.what(), "limited by"));
  }
}

TEST(Kernel, ShapesThatMakeNoSenseAreRefused) {
  const Device device(0);
  Stream stream(device);
  const auto code = [&](const Launch& launch) {
    return error_of([&] { device.launch(stream, launch, Nothing{}); }).code();
  };
  EXPECT_EQ(code({.grid = {1, 0, 1}, .block = 1}), Code::configuration);
  EXPECT_EQ(code({.grid = 1, .block = {1, 1, 0}}), Code::configuration);
  EXPECT_EQ(code({.grid = 1, .block = {1024, 2}}), Code::configuration);
  EXPECT_EQ(code({.grid = 1, .block = {65536, 65536}}), Code::configuration);  // whose volume is 0 in 32 bits
  EXPECT_EQ(code({.grid = 1, .block = 1, .shared_bytes = device.properties().shared_bytes_per_block + 1}),
            Code::configuration);
  EXPECT_EQ(code({.grid = 1, .block = 1}), Code::ok);
}

struct AtMost64 : Nothing {
  static constexpr unsigned max_threads = 64;
};

TEST(Kernel, BlocksLargerThanItsBoundAreRefused) {
  const Device device(0);
  Stream stream(device);
  device.launch(stream, {.grid = 1, .block = 64}, AtMost64{});
  stream.synchronize();
  const Error error = error_of([&] { device.launch(stream, {.grid = 1, .block = {65}}, AtMost64{}); });
  EXPECT_EQ(error.code(), Code::configuration);
  EXPECT_TRUE(contains(error.what(), "65"));
  EXPECT_TRUE(contains(error.what(), "at most its max_threads, 64"));
}

}  // namespace
}  // namespace dcgn::test
