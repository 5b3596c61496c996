// Memory, copies and streams, on whatever device there is.
#include "device_kernels.hpp"
#include "support.hpp"

#include <dcgn/gpu/launch.hpp>

#include <cstring>
#include <numeric>
#include <utility>

namespace dcgn::test {
namespace {

TEST(Memory, IsAlignedAndCopiesBothWays) {
  const Device device(0);
  std::vector<std::uint32_t> host(1000);
  std::iota(host.begin(), host.end(), 17u);
  const auto first = upload(device, host);
  const DeviceBuffer<std::uint32_t> second(device, host.size());
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first.data()) % 256, 0u);
  device.copy(second.data(), first.data(), first.size_bytes());
  EXPECT_EQ(download(second), host);
}

TEST(Memory, FillsExactlyTheBytesNamed) {
  const Device device(0);
  const auto buffer = zeroed<unsigned char>(device, 16);
  device.fill(buffer.data() + 3, 0xab, 9);
  const auto bytes = download(buffer);
  for (std::size_t i = 0; i < bytes.size(); ++i) EXPECT_EQ(bytes[i], i >= 3 && i < 12 ? 0xab : 0) << i;
}

TEST(Memory, HostMemoryIsClearedAndReachedByKernels) {
  const Device device(0);
  const SharedWord word(device);
  EXPECT_EQ(*word, 0u);
  run(device, {.grid = 1, .block = 1}, Set{}, word.get(), 41u);
  EXPECT_EQ(load_acquire(*word), 41u);
}

TEST(Memory, NothingForZeroBytesAndNullIsRefused) {
  const Device device(0);
  EXPECT_EQ(device.allocate(0), nullptr);
  device.free(nullptr);
  device.copy(nullptr, nullptr, 0);
  EXPECT_EQ(error_of([&] { device.copy(nullptr, &device, 1); }).code(), Code::null_buffer);
  EXPECT_EQ(error_of([&] { device.fill(nullptr, 0, 1); }).code(), Code::null_buffer);
}

TEST(Memory, IsOwnedByItsDeviceFromTheFirstByteToTheLast) {
  const Device device(0);
  const DeviceBuffer<unsigned char> buffer(device, 4096);
  const SharedWord pinned(device);
  EXPECT_TRUE(device.owns(buffer.data()));
  EXPECT_TRUE(device.owns(buffer.data() + 4095));
  EXPECT_FALSE(device.owns(pinned.get()));
  EXPECT_FALSE(device.owns(&device));
  EXPECT_FALSE(device.owns(nullptr));
  for (int other = 1; other < Device::count(); ++other) EXPECT_FALSE(Device(other).owns(buffer.data()));
  if (device.kind() == DeviceKind::emulated) {  // the driver of a GPU may have given out what lies beside it
    EXPECT_FALSE(device.owns(buffer.data() - 1));
    EXPECT_FALSE(device.owns(buffer.data() + 4096));
  }
}

TEST(Memory, MoreThanThereIsIsRefusedAndLeavesTheDeviceUsable) {
  const Device device(0);
  const std::size_t all = device.properties().memory_bytes;
  const Error error = error_of([&] { device.free(device.allocate(all + 1)); });
  EXPECT_EQ(error.code(), Code::device);
  EXPECT_TRUE(contains(error.what(), std::to_string(all + 1)));
  const auto buffer = zeroed<std::uint32_t>(device, 1);
  EXPECT_EQ(download(buffer)[0], 0u);
}

TEST(Device, RefusesAnIndexThatDoesNotExist) {
  EXPECT_EQ(error_of([] { static_cast<void>(Device(-1)); }).code(), Code::device);
  const Error error = error_of([] { static_cast<void>(Device(Device::count())); });
  EXPECT_EQ(error.code(), Code::device);
  EXPECT_TRUE(contains(error.what(), "expected 0.." + std::to_string(Device::count() - 1)));
}

TEST(Device, ReachesItsOwnMemory) {
  const Device device(0);
  EXPECT_TRUE(device.can_reach(Device(0)));
  EXPECT_TRUE(device.link_to(Device(0)).direct);
}

TEST(Device, ReachesAnotherJustWhereTheirLinkIsDirectAndThenItsKernelsWriteThere) {
  if (Device::count() < 2) GTEST_SKIP() << "one device only";
  const Device here(0), there(1);
  const bool direct = here.link_to(there).direct;
  EXPECT_EQ(here.can_reach(there), direct);
  EXPECT_EQ(here.can_reach(there), direct) << "asked once more";
  if (here.kind() == DeviceKind::emulated) {
    EXPECT_TRUE(direct);
  }
  if (!direct) GTEST_SKIP() << "the devices do not reach each other";
  const auto word = zeroed<std::uint32_t>(there, 1);
  run(here, {.grid = 1, .block = 1}, Set{}, word.data(), 19u);
  EXPECT_EQ(download(word)[0], 19u);
}

TEST(Stream, WorkIsDoneInOrder) {
  const Device device(0);
  const auto counter = zeroed<std::uint64_t>(device, 1);
  std::vector<std::uint64_t> seen(3);
  Stream stream(device);
  device.launch(stream, {.grid = 2, .block = 10}, Count{}, counter.data());
  device.copy(stream, &seen[0], counter.data(), 8);
  device.fill(stream, counter.data(), 1, 1);
  device.copy(stream, &seen[1], counter.data(), 8);
  device.launch(stream, {.grid = 1, .block = 5}, Count{}, counter.data());
  device.copy(stream, &seen[2], counter.data(), 8);
  stream.synchronize();
  EXPECT_EQ(seen, (std::vector<std::uint64_t>{20, 1, 6}));
}

TEST(Stream, DoesWhatWasRecordedOnceAtEachCall) {
  const Device device(0);
  const auto counter = zeroed<std::uint64_t>(device, 1);
  Stream stream(device, StreamPriority::high);
  const auto again = stream.record([&] {
    for (int i = 0; i < 2; ++i) device.launch(stream, {.grid = 2, .block = 10}, Count{}, counter.data());
  });
  EXPECT_EQ(download(counter)[0], 0u);
  for (int i = 0; i < 3; ++i) again();
  device.launch(stream, {.grid = 1, .block = 5}, Count{}, counter.data());
  stream.synchronize();
  EXPECT_EQ(download(counter)[0], 3u * 2 * 20 + 5);
}

TEST(Stream, StreamsOverlapSoThatOneMayWaitForAnother) {
  const Device device(0);
  const SharedWord word(device);
  Stream waiting(device), setting(device);
  device.launch(waiting, {.grid = 1, .block = 1}, WaitFor{}, word.get(), 5u);
  EXPECT_FALSE(waiting.idle());
  device.launch(setting, {.grid = 1, .block = 1}, Set{}, word.get(), 5u);
  setting.synchronize();
  waiting.synchronize();
  EXPECT_TRUE(waiting.idle());
}

TEST(Stream, BlockingCopiesDoNotWaitForAKernelThatRuns) {
  const Device device(0);
  const SharedWord word(device);
  const auto buffer = zeroed<std::uint32_t>(device, 1);
  Stream stream(device);
  device.launch(stream, {.grid = 1, .block = 1}, WaitFor{}, word.get(), 1u);
  const std::uint32_t sent = 77;
  buffer.upload(&sent);
  EXPECT_EQ(download(buffer)[0], 77u);
  EXPECT_FALSE(stream.idle());
  store_release(*word, 1u);
  stream.synchronize();
}

TEST(Stream, WaitsForItsWorkWhenDestroyedOrReplaced) {
  const Device device(0);
  const auto counter = zeroed<std::uint64_t>(device, 1);
  {
    Stream stream(device);
    device.launch(stream, {.grid = 4, .block = 32}, Count{}, counter.data());
    Stream moved = std::move(stream);
    device.launch(moved, {.grid = 4, .block = 32}, Count{}, counter.data());
  }
  EXPECT_EQ(download(counter)[0], 256u);
}

TEST(Stream, OfAnotherDeviceIsRefused) {
  if (Device::count() < 2) GTEST_SKIP() << "one device only";
  Stream stream{Device(1)};
  EXPECT_EQ(error_of([&] { Device(0).launch(stream, {.grid = 1, .block = 1}, Nothing{}); }).code(),
            Code::configuration);
}

TEST(Stream, CopiesBetweenDevices) {
  if (Device::count() < 2) GTEST_SKIP() << "one device only";
  const std::vector<std::uint32_t> host{3, 1, 4, 1, 5};
  const auto here = upload(Device(0), host);
  const DeviceBuffer<std::uint32_t> there(Device(1), host.size());
  Device(0).copy(there.data(), here.data(), here.size_bytes());
  EXPECT_EQ(download(there), host);
}

}  // namespace
}  // namespace dcgn::test
