// Kernel objects over several emulated GPUs: blocks, placement, streams.
#include "corpus.hpp"

#include <dcgn/arch/atomic.hpp>
#include <dcgn/arch/context.hpp>
#include <dcgn/virtual_gpu.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using dcgn::Device, dcgn::Dim3, dcgn::Launch, dcgn::VirtualGpu;
using dcgn::test::error_of;
using dcgn::virtual_gpu::Placement, dcgn::virtual_gpu::Schedule;

namespace {

// Where this machine has no emulated GPUs, their tests are those of the build without CUDA.
class EmulatedVirtualGpu : public testing::Test {
 protected:
  void SetUp() override {
    if (Device::count() < 1 || Device(0).kind() != dcgn::DeviceKind::emulated) GTEST_SKIP() << "GPUs here are real";
  }
  static VirtualGpu of_parts(int parts) {
    std::vector<Device> devices;
    devices.reserve(static_cast<std::size_t>(parts));
    for (int part = 0; part < parts; ++part) devices.emplace_back(part % Device::count());
    return VirtualGpu(devices);
  }
};

// Block b of the grid writes its index and adds 1 to how often it ran.
struct SeenBlock {
  Dim3 index, grid;
  std::uint32_t times;
};
struct SeeBlocks {
  DCGN_HOST_DEVICE void operator()(dcgn::gpu::Context& ctx, SeenBlock* seen) const {
    if (ctx.thread_rank() != 0) return;
    SeenBlock& mine = seen[ctx.block_rank()];
    mine.index = ctx.block_index();
    mine.grid = ctx.grid_dim();
    dcgn::fetch_add(mine.times, 1u);
  }
};

// Blocks of the first half wait until `count` blocks of the second one are done.
struct HalfWaits {
  DCGN_HOST_DEVICE void operator()(dcgn::gpu::Context& ctx, std::uint32_t* done, std::uint32_t count) const {
    if (ctx.thread_rank() != 0) return;
    if (2 * ctx.block_rank() >= ctx.num_blocks())
      dcgn::fetch_add(*done, 1u);
    else
      while (dcgn::load_acquire(*done) < count) dcgn::relax();
  }
};

// Sums of neighbours, so that what another part wrote is read.
struct AddNeighbours {
  DCGN_HOST_DEVICE void operator()(dcgn::gpu::Context& ctx, const std::uint32_t* in, std::uint32_t* out,
                                   std::uint32_t n) const {
    const std::uint32_t i = ctx.block_rank() * ctx.num_threads() + ctx.thread_rank();
    if (i < n) out[i] = in[i] + in[(i + 1) % n] + in[(i + n - 1) % n];
  }
};

struct CopyWords {
  DCGN_HOST_DEVICE void operator()(dcgn::gpu::Context& ctx, const std::uint32_t* in, std::uint32_t* out) const {
    const std::uint32_t i = ctx.block_rank() * ctx.num_threads() + ctx.thread_rank();
    out[i] = in[i];
  }
};

// Which copy of a replicated buffer a block was given.
struct SeeAddress {
  DCGN_HOST_DEVICE void operator()(dcgn::gpu::Context& ctx, const int* given, const int** seen) const {
    if (ctx.thread_rank() == 0) seen[ctx.block_rank()] = given;
  }
};

struct Fail {
  DCGN_HOST_DEVICE void operator()(dcgn::gpu::Context& ctx) const {
#if !defined(__CUDA_ARCH__)
    if (ctx.block_rank() == 3) throw std::runtime_error("planted");
#endif
  }
};

}  // namespace

TEST_F(EmulatedVirtualGpu, runs_each_block_once_with_the_index_of_the_whole_grid) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int round = 0; round < 12; ++round) {
    VirtualGpu gpu = of_parts(1 + round % 4);
    gpu.options().schedule = round % 3 == 2 ? Schedule::stealing : Schedule::fixed;
    const Dim3 grid(1 + random() % 9, 1 + random() % 5, 1 + random() % 3);
    auto* seen = static_cast<SeenBlock*>(gpu.allocate(grid.volume() * sizeof(SeenBlock)));
    gpu.fill(seen, 0, grid.volume() * sizeof(SeenBlock));
    gpu.launch_object(gpu.own_stream(), Launch{.grid = grid, .block = 4}, SeeBlocks{}, seen);
    gpu.synchronize();
    std::vector<SeenBlock> found(grid.volume());
    gpu.copy(found.data(), seen, found.size() * sizeof(SeenBlock));
    for (unsigned b = 0; b < grid.volume(); ++b) {
      ASSERT_EQ(found[b].times, 1u) << b;
      ASSERT_EQ(found[b].grid.x, grid.x);
      ASSERT_EQ(found[b].grid.z, grid.z);
      ASSERT_EQ(grid.linear(found[b].index), b);
    }
  }
}

// Chunks take turns on no device: else the first part's blocks would wait for ever.
TEST_F(EmulatedVirtualGpu, parts_run_at_the_same_time_and_steal_from_who_is_slow) {
  VirtualGpu gpu = of_parts(2);
  auto* done = static_cast<std::uint32_t*>(gpu.allocate(4));
  for (const Schedule schedule : {Schedule::fixed, Schedule::stealing}) {
    gpu.options().schedule = schedule;
    gpu.fill(done, 0, 4);
    constexpr unsigned blocks = 1000;
    gpu.launch_object(gpu.own_stream(), Launch{.grid = blocks, .block = 1}, HalfWaits{}, done, blocks / 4);
    gpu.synchronize();
    std::uint32_t found = 0;
    gpu.copy(&found, done, 4);
    EXPECT_EQ(found, blocks / 2);
  }
}

TEST_F(EmulatedVirtualGpu, stealing_gives_up_at_the_deadline) {
  VirtualGpu gpu = of_parts(2);
  auto* done = static_cast<std::uint32_t*>(gpu.allocate(4));
  gpu.fill(done, 0, 4);
  gpu.options().schedule = Schedule::stealing;
  gpu.options().deadline_s = 0.05;
  // Several pieces for each part, of which each is 16 blocks a multiprocessor; and more of the second half than there
  // are.
  const auto blocks = static_cast<unsigned>(128 * gpu.device(0).properties().multiprocessors);
  const std::string error = error_of(
      [&] { gpu.launch_object(gpu.own_stream(), Launch{.grid = blocks, .block = 1}, HalfWaits{}, done, blocks); });
  EXPECT_EQ(error,
            "dcgn: launch: no part has ended its piece of blocks for 0.05 s, expected it sooner: Options::deadline_s, "
            "DCGN_DEADLINE");
  dcgn::store_release(*done, blocks);  // those that wait may end
  gpu.synchronize();
}

TEST_F(EmulatedVirtualGpu, launches_see_what_earlier_ones_wrote_on_other_parts) {
  VirtualGpu gpu = of_parts(3);
  constexpr std::uint32_t n = 10'000;
  std::vector<std::uint32_t> expected(n);
  std::iota(expected.begin(), expected.end(), 0u);
  auto* a = static_cast<std::uint32_t*>(gpu.allocate(4 * n));
  auto* b = static_cast<std::uint32_t*>(gpu.allocate(4 * n, Placement::interleaved()));
  VirtualGpu::Stream stream(gpu);
  gpu.copy(stream, a, expected.data(), 4 * n);
  stream.synchronize();
  for (int step = 0; step < 6; ++step) {
    gpu.launch_object(stream, Launch{.grid = (n + 63) / 64, .block = 64}, AddNeighbours{}, step % 2 ? b : a,
                      step % 2 ? a : b, n);
    const std::vector<std::uint32_t> before = expected;
    for (std::uint32_t i = 0; i < n; ++i) expected[i] = before[i] + before[(i + 1) % n] + before[(i + n - 1) % n];
  }
  std::vector<std::uint32_t> found(n);
  gpu.copy(stream, found.data(), a, 4 * n);
  stream.synchronize();
  EXPECT_TRUE(stream.idle());
  EXPECT_EQ(found, expected);
  EXPECT_EQ(gpu.statistics().launches, 6u);
}

TEST_F(EmulatedVirtualGpu, buffers_keep_their_content_wherever_they_are_placed) {
  VirtualGpu gpu = of_parts(4);
  const std::size_t page = gpu.page_bytes(), words = 10 * page / 4;
  std::vector<std::uint32_t> content(words), found(words);
  std::iota(content.begin(), content.end(), 7u);
  auto* buffer = static_cast<std::uint32_t*>(gpu.allocate(4 * words));
  EXPECT_EQ(gpu.bytes_on_parts(buffer), (std::vector<std::size_t>{3 * page, 2 * page, 3 * page, 2 * page}));
  gpu.copy(buffer, content.data(), 4 * words);
  for (const auto& [placement, moved] : {std::pair{Placement::owner(1), 8 * page},
                                         {Placement::interleaved(), 7 * page},
                                         {Placement::replicated(), 7 * page + 30 * page},
                                         {Placement::chunked(), 7 * page}}) {
    EXPECT_EQ(gpu.place(buffer, placement).bytes_moved, moved);
    found.assign(words, 0);
    gpu.copy(found.data(), buffer, 4 * words);
    EXPECT_EQ(found, content);
  }
}

TEST_F(EmulatedVirtualGpu, each_part_reads_its_own_copy_of_a_replicated_buffer) {
  VirtualGpu gpu = of_parts(3);
  constexpr std::uint32_t n = 96;
  auto* in = static_cast<std::uint32_t*>(gpu.allocate(4 * n, Placement::replicated()));
  auto* out = static_cast<std::uint32_t*>(gpu.allocate(4 * n));
  auto* seen = static_cast<const int**>(gpu.allocate(3 * sizeof(int*)));
  std::vector<std::uint32_t> content(n), found(n);
  std::iota(content.begin(), content.end(), 1u);
  gpu.copy(in, content.data(), 4 * n);
  gpu.launch_object(gpu.own_stream(), Launch{.grid = 3, .block = 32}, CopyWords{},
                    static_cast<const std::uint32_t*>(in), out);
  gpu.launch_object(gpu.own_stream(), Launch{.grid = 3, .block = 1}, SeeAddress{}, reinterpret_cast<const int*>(in) + 5,
                    seen);
  gpu.copy(found.data(), out, 4 * n);
  EXPECT_EQ(found, content);
  std::vector<const int*> addresses(3);
  gpu.copy(addresses.data(), seen, 3 * sizeof(int*));
  EXPECT_EQ(addresses[0], reinterpret_cast<const int*>(in) + 5);
  EXPECT_NE(addresses[1], addresses[0]);
  EXPECT_NE(addresses[2], addresses[1]);
  // fill() reaches all copies.
  gpu.fill(in, 0, 4 * n);
  gpu.launch_object(gpu.own_stream(), Launch{.grid = 3, .block = 32}, CopyWords{},
                    static_cast<const std::uint32_t*>(in), out);
  gpu.copy(found.data(), out, 4 * n);
  EXPECT_EQ(found, std::vector<std::uint32_t>(n));
}

TEST_F(EmulatedVirtualGpu, events_order_streams_and_tell_time) {
  VirtualGpu gpu = of_parts(2);
  VirtualGpu::Stream first(gpu), second(gpu);
  dcgn::virtual_gpu::Event begin(gpu), end(gpu);
  auto* words = static_cast<std::uint32_t*>(gpu.allocate(256));
  begin.record(first);
  gpu.fill(first, words, 0xff, 256);
  end.record(first);
  second.wait(end);
  std::uint32_t found = 0;
  gpu.copy(second, &found, words + 63, 4);
  second.synchronize();
  EXPECT_EQ(found, 0xffffffffu);
  end.synchronize();
  EXPECT_TRUE(end.done());
  EXPECT_GE(end.seconds_since(begin), 0.0);
}

TEST_F(EmulatedVirtualGpu, a_failed_kernel_is_reported_once) {
  VirtualGpu gpu = of_parts(2);
  gpu.launch_object(gpu.own_stream(), Launch{.grid = 4, .block = 1}, Fail{});
  EXPECT_NE(error_of([&] { gpu.synchronize(); }).find("planted"), std::string::npos);
  EXPECT_EQ(error_of([&] { gpu.synchronize(); }), "");
}

TEST_F(EmulatedVirtualGpu, bad_input_is_named) {
  VirtualGpu gpu = of_parts(2);
  auto* buffer = static_cast<std::byte*>(gpu.allocate(100));
  EXPECT_EQ(gpu.allocate(0), nullptr);
  EXPECT_EQ(error_of([] { VirtualGpu none(std::vector<Device>{}); }),
            "dcgn: VirtualGpu: a virtual GPU of no devices, expected at least one");
  EXPECT_EQ(error_of([&] { gpu.copy(buffer + 90, std::vector<char>(20).data(), 20); }),
            "dcgn: copy: 20 bytes from byte 90 of a buffer, expected at most 10: it has 100");
  EXPECT_NE(error_of([&] { gpu.free(buffer + 1); }).find("no buffer of this virtual GPU begins at"), std::string::npos);
  EXPECT_NE(error_of([&] {
              gpu.launch_object(gpu.own_stream(), Launch{.grid = Dim3(0), .block = 1}, Fail{});
            }).find("a grid of 0 x 1 x 1 blocks, expected at least 1 in each direction"),
            std::string::npos);
  const auto module =
      gpu.load_ptx("x.ptx", dcgn::test::ptx_module(".entry k() { .reg .b64 %rd1; stacksave.u64 %rd1; }"));
  EXPECT_NE(error_of([&] { gpu.launch(module.kernel("k"), {.grid = 2, .block = 1}); }).find("stacksave"),
            std::string::npos);
  EXPECT_EQ(error_of([&] { gpu.device(2); }), "dcgn: VirtualGpu: part 2 does not exist, expected 0..1");
}
