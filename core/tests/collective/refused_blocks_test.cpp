// Several blocks whose slot is in another call: they are told so, and so is the report.
#include "sanitized.hpp"

#include <dcgn/dcgn.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace dcgn::test {
namespace {

// Of four blocks of rank 0 the last one receives meanwhile, which rank 1 sends afterwards.
struct CallsWhileOneReceives {
  static constexpr int n = 1000;

  DCGN_HOST_DEVICE void operator()(gpu::Context& ctx, gpu::Comm comm, int* memory, int* codes,
                                   std::uint32_t* stage) const {
    const gpu::Slot me = comm.slot(ctx.block_rank() / 4);
    const unsigned block = ctx.block_rank() % 4;
    const bool first = ctx.thread_rank() == 0;
    const auto await = [&](std::uint32_t which) {
      while (load_acquire(*stage) != which) relax();
    };
    if (me.rank() == 0 && block == 3) {
      int value = 0;
      if (first) {
        store_release(*stage, 1);
        codes[1] = static_cast<int>(me.recv(gpu::this_thread(), value, 1).code);
      }
    } else if (me.rank() == 0) {
      if (first) {
        await(1);
        const std::uint64_t end = now_ns() + 200'000'000ull * fewer;
        while (now_ns() < end) relax();  // until it waits long
      }
      const gpu::BlocksScope three = gpu::these_blocks(ctx, me, 0, 3);
      const Code code = me.all_reduce(three, Span<const int>(memory, n), Span<int>(memory + n, n), Sum{});
      if (three.leader()) {
        codes[0] = static_cast<int>(code);
        store_release(*stage, 2);
      }
    } else if (block == 0 && first) {
      await(2);
      codes[2] = static_cast<int>(me.send(gpu::this_thread(), 5, 0));
    }
  }
};

TEST(SeveralBlocks, OfASlotThatIsInAnotherCall) {
  if (!Device::count()) GTEST_SKIP() << "needs a GPU";
  Config config{.nodes = {{.gpus = 1, .slots = 2}}};
  config.deadline_s = 20 * fewer;
  config.errors_fatal = false;
  Job job(config);
  const Device device = job.world().device(0);
  const DeviceBuffer<int> memory(device, 2 * CallsWhileOneReceives::n), codes(device, std::vector<int>(3, -1));
  const DeviceBuffer<std::uint32_t> stage(device, std::vector<std::uint32_t>(1));
  job.gpu_on(0, {.grid = 8, .block = 64, .resident = true}, CallsWhileOneReceives{}, memory.data(), codes.data(),
             stage.data());
  Report report;
  ASSERT_NO_THROW(report = job.run());
  std::vector<int> found(3);
  codes.download(found.data());
  EXPECT_EQ(found[0], static_cast<int>(Code::concurrent_use));
  EXPECT_EQ(found[1], static_cast<int>(Code::ok));
  EXPECT_EQ(found[2], static_cast<int>(Code::ok));
  EXPECT_NE(report.ranks[0].failure.find("all_reduce"), std::string::npos) << report.ranks[0].failure;
}

// Who leads for all others may be the last thing that they do together.
struct LastPublish {
  int calls;

  DCGN_HOST_DEVICE void operator()(gpu::Context& ctx, gpu::Comm comm, std::uint32_t* wrong) const {
    const gpu::BlocksScope all = comm.blocks(ctx);
    for (int i = 0; i < calls; ++i)
      if (all.publish(static_cast<int>(all.rank()) + i) != i || all.broken()) fetch_add(*wrong, 1);
  }
};

TEST(SeveralBlocks, PublishLastOfAll) {
  if (!Device::count()) GTEST_SKIP() << "needs a GPU";
  for (std::uint64_t seed = 0; seed < (sanitized ? 10 : 60); ++seed) {
    Config config{.nodes = {{.gpus = 1, .slots = 1}}};
    config.deadline_s = 20 * fewer;
    if (Device(0).kind() == DeviceKind::emulated) config.seed = seed;
    Job job(config);
    const DeviceBuffer<std::uint32_t> wrong(job.world().device(0), std::vector<std::uint32_t>(1));
    job.gpu_on(0, {.grid = 3, .block = 32, .resident = true}, LastPublish{1 + static_cast<int>(seed % 3)},
               wrong.data());
    ASSERT_NO_THROW(job.run()) << seed;
    std::uint32_t count = 0;
    wrong.download(&count);
    ASSERT_EQ(count, 0u) << seed;
  }
}

}  // namespace
}  // namespace dcgn::test
