// What the emulated GPU does beyond a GPU: it says what went wrong.
#include "device_kernels.hpp"
#include "support.hpp"

#include "device/backend.hpp"
#include "device/processor.hpp"

#include <dcgn/gpu/launch.hpp>

#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace dcgn::test {
namespace {

TEST_F(Emulated, ExceptionNamesKernelBlockThreadAndReasonAndEndsTheGrid) {
  const Device device(0);
  const SharedWord never(device);
  const Error error = error_of([&] {
    run(device, {.grid = {2, 3}, .block = {8, 8}}, ThrowInOne{}, never.get(), 3u, 17u);
  });
  EXPECT_EQ(error.code(), Code::kernel_failed);
  EXPECT_TRUE(contains(error.what(), "dcgn::test::ThrowInOne"));
  EXPECT_TRUE(contains(error.what(), "block (1,1,0), thread (1,2,0): the seventh seal"));
}

TEST_F(Emulated, AFailedKernelIsReportedOnceAndWhatCameAfterItIsNotDone) {
  const Device device(0);
  const SharedWord never(device);
  const auto counter = zeroed<std::uint64_t>(device, 1);
  Stream stream(device);
  device.launch(stream, {.grid = 1, .block = 1}, ThrowInOne{}, never.get(), 0u, 0u);
  device.launch(stream, {.grid = 1, .block = 1}, Count{}, counter.data());
  EXPECT_EQ(error_of([&] { stream.synchronize(); }).code(), Code::kernel_failed);
  EXPECT_EQ(download(counter)[0], 0u);
  device.launch(stream, {.grid = 1, .block = 1}, Count{}, counter.data());
  stream.synchronize();
  EXPECT_EQ(download(counter)[0], 1u);
}

TEST_F(Emulated, BarriersThatCannotOpenAreDiagnosed) {
  const Device device(0);
  const Error error = error_of([&] { run(device, {.grid = 1, .block = 64}, SplitBarrier{}, 48u); });
  EXPECT_EQ(error.code(), Code::kernel_failed);
  EXPECT_TRUE(contains(error.what(), "dcgn::test::SplitBarrier: block (0,0,0)"));
  EXPECT_TRUE(contains(error.what(), "threads 0..47 in sync_block, threads 48..63 in sync_warp"));
}

TEST_F(Emulated, LanesInDifferentCallsAreDiagnosed) {
  const Error error = error_of([&] { run(Device(0), {.grid = 1, .block = 32}, WrongLaneCalls{}); });
  EXPECT_EQ(error.code(), Code::kernel_failed);
  EXPECT_TRUE(contains(error.what(), "lane 7 in ballot, others in sync_warp"));
}

TEST_F(Emulated, ACallOfABlockBySomeOfItsThreadsIsDiagnosed) {
  const auto what = [](unsigned threads, unsigned split, bool warp, Others others) {
    const Error error =
        error_of([&] { run(Device(0), {.grid = 1, .block = threads}, PartOfABlock{}, split, warp, others); });
    EXPECT_EQ(error.code(), Code::kernel_failed);
    return std::string(error.what());
  };
  for (const Others others : {Others::return_, Others::return_later}) {
    EXPECT_TRUE(contains(what(64, 63, false, others),
                         "threads are in a call of the block, which takes all 64; returned already: 1"));
    EXPECT_TRUE(contains(what(40, 39, true, others),
                         "threads are in a call of the warp, which takes all 8; returned already: 1"));
  }
  EXPECT_TRUE(contains(what(64, 48, false, Others::call), "its threads are in different calls"));
  EXPECT_TRUE(contains(what(64, 48, true, Others::call), "are in different calls"));
  EXPECT_NO_THROW(run(Device(0), {.grid = 1, .block = 64}, PartOfABlock{}, 64u, false, Others::return_));
  EXPECT_NO_THROW(run(Device(0), {.grid = 1, .block = 64}, PartOfABlock{}, 32u, true, Others::return_));  // whole warps
}

TEST_F(Emulated, SharedMemoryIsPoisoned) {
  const Device device(0);
  const auto out = zeroed<unsigned char>(device, 200);
  run(device, {.grid = 1, .block = 200, .shared_bytes = 200}, ReadFreshSharedMemory{}, out.data());
  for (const unsigned char byte : download(out)) ASSERT_EQ(byte, 0xcd);
}

TEST_F(Emulated, OccupancyIsTheLeastOfItsLimits) {
  const Device device(0);
  const DeviceProperties& p = device.properties();
  EXPECT_EQ(p.name, "emulated GPU");
  const auto each = [&](unsigned threads, std::size_t shared) {
    return device.max_resident_blocks({.grid = 1, .block = threads, .shared_bytes = shared}, Nothing{}) /
           p.multiprocessors;
  };
  EXPECT_EQ(each(1, 0), 8);          // blocks
  EXPECT_EQ(each(257, 0), 7);        // threads, whole warps of them
  EXPECT_EQ(each(1024, 0), 2);       // threads
  EXPECT_EQ(each(32, 40 << 10), 3);  // shared memory
}

TEST_F(Emulated, FullOccupancyRuns) {
  const Device device(0);
  const auto blocks = static_cast<unsigned>(device.max_resident_blocks({.grid = 1, .block = 32}, Nothing{}));
  const auto turn = zeroed<std::uint32_t>(device, 1);
  const auto data = zeroed<std::uint64_t>(device, 1);
  run(device, {.grid = blocks, .block = 2}, PassToken{}, turn.data(), data.data(), 2u);
  EXPECT_EQ(download(data)[0], 2u * blocks);
}

TEST_F(Emulated, FreeingWhatIsNotTheDevicesIsRefused) {
  int local = 0;
  EXPECT_EQ(error_of([&] { Device(0).free(&local); }).code(), Code::device);
}

TEST_F(Emulated, AccountsForItsMemory) {
  const Device device(0);
  const Error error = error_of([&] {
    const DeviceBuffer<char> small(device, 1000);
    device.free(device.allocate(device.properties().memory_bytes - 999));
  });
  EXPECT_EQ(error.code(), Code::device);
  EXPECT_TRUE(contains(error.what(), std::to_string(device.properties().memory_bytes - 1000) + " of"));
}

TEST(Relax, TwoHostThreadsHandAWordBackAndForth) {
  constexpr std::uint32_t rounds = 20000;
  alignas(128) std::uint32_t there = 0;
  alignas(128) std::uint32_t back = 0;
  std::thread other([&] {
    for (std::uint32_t r = 1; r <= rounds; ++r) {
      while (load_acquire(there) != r) relax();
      dcgn::detail::relax_reset_host();
      store_release(back, r);
    }
  });
  for (std::uint32_t r = 1; r <= rounds; ++r) {
    store_release(there, r);
    while (load_acquire(back) != r) relax();
    dcgn::detail::relax_reset_host();
  }
  other.join();
  EXPECT_EQ(back, rounds);
  EXPECT_EQ(device::detail::busy_threads.load(), 0);  // whoever waited long enough to be counted is no more
}

// Yielding is not enough: threads that yield to each other keep one that has work waiting. Looks at what is waited for
// take a while where a block of many threads waits, or where a thread helps with what passes between processes.
TEST(Relax, ThreadsSleepWhereProcessesOutnumberCores) {
  device::share_cores(1 << 20);  // which leaves none for this one
  detail::relax_reset_host();
  const auto sleeps = [] {
    rusage usage{};
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nvcsw;
  };
  const long before = sleeps();
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (sleeps() == before && std::chrono::steady_clock::now() < until) {
    for (const auto looked = std::chrono::steady_clock::now() + std::chrono::microseconds(20);
         std::chrono::steady_clock::now() < looked;) {
    }
    relax();
  }
  EXPECT_GT(sleeps(), before);
  detail::relax_reset_host();
  device::share_cores(1);
}

int number(const char* text) {
  setenv("DCGN_TEST_NUMBER", text, 1);
  return device::number_from_environment("DCGN_TEST_NUMBER", 0, 64, 7);
}

TEST(Environment, NumbersAreWholeAndInRange) {
  unsetenv("DCGN_TEST_NUMBER");
  EXPECT_EQ(device::number_from_environment("DCGN_TEST_NUMBER", 0, 64, 7), 7);
  EXPECT_EQ(number("0"), 0);
  EXPECT_EQ(number("64"), 64);
  for (const char* bad : {"", "65", "-1", "three", "3 ", " 3", "3.0", "0x3", "+3", "99999999999999999999"}) {
    const Error error = error_of([&] { number(bad); });
    EXPECT_EQ(error.code(), Code::configuration) << bad;
    EXPECT_EQ(error.what(),
              "dcgn: configuration: DCGN_TEST_NUMBER=" + std::string(bad) + ": expected a whole number from 0 to 64");
  }
}

// The devices are made once in a process, so that each of these has a process of its own.
[[noreturn]] void count_devices(const char* variable, const char* value) {
  setenv("DCGN_EMULATED_GPUS", "3", 1);
  setenv(variable, value, 1);
  try {
    const int devices = Device::count();
    std::fprintf(stderr, "%d devices, %d multiprocessors\n", devices,
                 devices ? Device(0).properties().multiprocessors : -1);
  } catch (const Error& error) {
    std::fprintf(stderr, "%s: %s\n", std::string(to_string(error.code())).c_str(), error.what());
  }
  std::_Exit(0);
}

TEST(EnvironmentDeathTest, SaysHowManyEmulatedDevicesThereAre) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto ended = ::testing::ExitedWithCode(0);
  EXPECT_EXIT(count_devices("DCGN_EMULATED_GPUS", "5"), ended, "5 devices, 16 multi");
  EXPECT_EXIT(count_devices("DCGN_EMULATED_GPUS", "0"), ended, "0 devices");
  EXPECT_EXIT(count_devices("DCGN_EMULATED_GPUS", "65"), ended,
              "configuration: dcgn: configuration: DCGN_EMULATED_GPUS=65: expected a whole number from 0 to 64");
  EXPECT_EXIT(count_devices("DCGN_EMULATED_SMS", "3"), ended, "3 devices, 3 multi");
  EXPECT_EXIT(count_devices("DCGN_EMULATED_SMS", "0"), ended,
              "configuration: dcgn: configuration: DCGN_EMULATED_SMS=0: expected");
}

}  // namespace
}  // namespace dcgn::test
