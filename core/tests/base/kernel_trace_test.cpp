// Kernel traces: events of warps, samples, files.
#include "base/kernel_trace.hpp"

#include "base/output_file.hpp"

#include "tests/expect.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

using namespace dcgn::base;
using dcgn::Dim3;
using dcgn::test::contains, dcgn::test::error_of;

namespace {

KernelTrace example() {
  KernelTrace trace;
  trace.program = "./program";
  trace.steps.push_back({KernelStep::Kind::to_gpu, std::uint64_t{1} << 40, {}});
  KernelStep launch;
  launch.launch = {"scale(float*)", Dim3(3, 2), Dim3(16, 3), 1000, {}};
  for (const std::uint64_t number : {1, 4}) {
    BlockTrace block;
    block.number = number;
    WarpWriter writer;
    writer.issue(100000);
    writer.access(WarpEvent::Kind::load, 0, {{7, 15}, {3, 1}, {std::uint64_t{1} << 50, 8}});
    writer.access(WarpEvent::Kind::atomic, 32, {{9, 2}});
    writer.use(2);
    writer.barrier();
    block.bytes = writer.bytes();
    const auto end = static_cast<std::uint32_t>(block.bytes.size());
    block.ends = {end, end};
    launch.launch.blocks.push_back(block);
  }
  trace.steps.push_back(launch);
  return trace;
}

class KernelTraceFile : public testing::Test {
 protected:
  // Tests run side by side, each in a process of its own.
  KernelTraceFile() : path_(testing::TempDir() + "/kernel_trace_test_" + std::to_string(getpid()) + ".trace") {}
  ~KernelTraceFile() override { std::filesystem::remove(path_); }
  void write(const KernelTrace& trace) const {
    OutputFile file(path_);
    write_kernel_trace(file, trace);
  }
  std::string content() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void put(const std::string& content) const { std::ofstream(path_, std::ios::binary) << content; }
  std::string error() const {
    return error_of([&] { read_kernel_trace(path_); }).what();
  }

  const std::string path_;
};

TEST_F(KernelTraceFile, GivesBackWhatWasWritten) {
  const KernelTrace trace = example();
  write(trace);
  const KernelTrace read = read_kernel_trace(path_);
  EXPECT_EQ(read.program, "./program");
  ASSERT_EQ(read.steps.size(), 2U);
  EXPECT_EQ(read.steps[0].kind, KernelStep::Kind::to_gpu);
  EXPECT_EQ(read.steps[0].bytes, std::uint64_t{1} << 40);
  const LaunchTrace& launch = read.steps[1].launch;
  EXPECT_EQ(launch.kernel, "scale(float*)");
  EXPECT_EQ(launch.block_count(), 6U);
  EXPECT_EQ(launch.block.y, 3U);
  EXPECT_EQ(launch.shared_bytes, 1000U);
  ASSERT_EQ(launch.blocks.size(), 2U);
  EXPECT_EQ(launch.blocks[1].number, 4U);
  EXPECT_EQ(launch.blocks[1].bytes, trace.steps[1].launch.blocks[1].bytes);
  WarpReader reader = launch.blocks[1].warp(0);
  WarpEvent event;
  ASSERT_TRUE(reader.next(event));
  EXPECT_EQ(event.count, 100000U);
  ASSERT_TRUE(reader.next(event));
  EXPECT_EQ(event.touches, (std::vector<Touch>{{7, 15}, {3, 1}, {std::uint64_t{1} << 50, 8}}));
  ASSERT_TRUE(reader.next(event));
  EXPECT_EQ(event.kind, WarpEvent::Kind::atomic);
  EXPECT_EQ(event.count, 32U);
  EXPECT_EQ(event.touches, (std::vector<Touch>{{9, 2}}));
  ASSERT_TRUE(reader.next(event));
  EXPECT_EQ(event.kind, WarpEvent::Kind::use);
  ASSERT_TRUE(reader.next(event));
  EXPECT_EQ(event.kind, WarpEvent::Kind::barrier);
  EXPECT_FALSE(reader.next(event));
  WarpReader none = launch.blocks[1].warp(1);
  EXPECT_FALSE(none.next(event));
}

TEST_F(KernelTraceFile, EveryFileThatEndsEarlyIsRefusedWithItsOffset) {
  write(example());
  const std::string all = content();
  for (std::size_t size = 0; size < all.size(); ++size) {
    put(all.substr(0, size));
    const std::string text = error();
    EXPECT_TRUE(contains(text, path_ + ": offset ")) << size << ": " << text;
  }
  put(all + "x");
  EXPECT_TRUE(contains(error(), "bytes behind the last step"));
}

TEST_F(KernelTraceFile, AChangedByteNeverCrashesTheReader) {
  write(example());
  const std::string all = content();
  for (std::size_t at = 0; at < all.size(); ++at) {
    for (const int change : {1, 2, 4, 128, 255}) {
      std::string other = all;
      other[at] = static_cast<char>(other[at] ^ change);
      put(other);
      try {
        read_kernel_trace(path_);  // another trace, or refused
      } catch (const dcgn::Error& error) {
        EXPECT_EQ(error.code(), dcgn::Code::io);
      }
    }
  }
}

TEST_F(KernelTraceFile, NumbersThatWouldWrapAreRefused) {
  KernelTrace trace = example();
  trace.steps[1].launch.block = Dim3(1U << 31, 1U << 31, 4);  // whose product is 0
  write(trace);
  EXPECT_TRUE(contains(error(), "an extent of 2147483648, expected 1 to 1024"));
  trace = example();
  trace.steps[1].launch.grid = Dim3(1, 1U << 20);
  write(trace);
  EXPECT_TRUE(contains(error(), "an extent of 1048576, expected 1 to 65535"));
  trace = example();
  trace.steps[1].launch.blocks[0].ends[0] += 1U << 31;
  write(trace);
  EXPECT_TRUE(contains(error(), "things in"));
  for (const Touch& touch : {Touch{std::uint64_t{1} << 58, 1}, Touch{1, 0}}) {
    trace = example();
    WarpWriter writer;
    writer.access(WarpEvent::Kind::load, 0, {touch});
    BlockTrace& block = trace.steps[1].launch.blocks[1];
    block.bytes = writer.bytes();
    const auto end = static_cast<std::uint32_t>(block.bytes.size());
    block.ends = {end, end};
    write(trace);
    EXPECT_TRUE(contains(error(), "block 4, warp 0: bytes that are no events"));
  }
  trace = example();
  trace.steps[1].launch.kernel = "k\033[31m";
  write(trace);
  EXPECT_TRUE(contains(error(), "a kernel's name with control characters"));
}

TEST_F(KernelTraceFile, NamesWhatIsNone) {
  put("something else");
  EXPECT_TRUE(contains(error(), "offset 0: no kernel trace, expected \"DCGNKERN\""));
  std::filesystem::remove(path_);
  EXPECT_TRUE(contains(error(), path_ + ": cannot be read: No such file"));
}

TEST(KernelTrace, SamplesHaveARunInEachPart) {
  EXPECT_TRUE(is_sampled(99, 100, 100));
  EXPECT_TRUE(is_sampled(99, 100, 0));
  for (const std::uint64_t blocks : {1000ULL, 4096ULL, 65537ULL}) {
    std::uint64_t count = 0;
    for (std::uint64_t b = 0; b < blocks; ++b) count += is_sampled(b, blocks, 320) ? 1 : 0;
    EXPECT_EQ(count, 320U) << blocks;
    for (const std::uint64_t gpus : {1, 2, 4, 8, 16})  // each GPU's part begins with a run
      for (std::uint64_t g = 0; g < gpus; ++g)
        EXPECT_TRUE(is_sampled((g * blocks + gpus - 1) / gpus, blocks, 320)) << blocks << ' ' << gpus << ' ' << g;
  }
}

}  // namespace
