// What orders the turns of a rank: calls by other threads of it with nothing between them, what one thread has written
// for the others to send, and what a rank hears in its next call of a mistake in the one before.
#include "expect.hpp"

#include <dcgn/dcgn.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace dcgn::test {
namespace {

Config slots_of_gpus(const std::vector<int>& slots) {
  Config c;
  c.nodes.clear();
  for (const int s : slots) c.nodes.push_back({.gpus = 1, .slots = s});
  c.deadline_s = 20;
  return c;
}

// ---- a block has made a call by itself; the others are in the next one already

struct OneBlockThenAll {
  int n;

  DCGN_HOST_DEVICE void operator()(gpu::Context& ctx, gpu::Comm comm, int* memory, std::uint32_t* wrong) const {
    const gpu::Slot me = comm.slot(ctx);
    const gpu::BlocksScope all = comm.blocks(ctx);
    int* const in = memory + 2 * n * me.rank();
    int* const out = in + n;
    const auto count = static_cast<std::size_t>(n);
    const auto first = static_cast<int>(all.rank()), step = static_cast<int>(all.size());
    std::uint32_t bad = 0;
    for (int round = 1; round < 6; ++round) {
      for (int i = first; i < n; i += step) in[i] = round + me.rank();
      if (static_cast<int>(all.block_rank()) == round % 2) me.barrier(gpu::this_block(ctx));
      bad += me.all_reduce(all, Span<const int>(in, count), Span<int>(out, count), Sum{}) != Code::ok;
      for (int i = first; i < n; i += step) bad += out[i] != 2 * round + 1;
      all.sync();
    }
    if (bad) fetch_add(*wrong, bad);
  }
};

TEST(TurnOrder, ABlockMayHaveMadeACallByItself) {
  for (int trial = 0; trial < 10; ++trial) {
    Job job(slots_of_gpus({2}));
    constexpr int n = 30000;
    const DeviceBuffer<int> memory(job.world().device(0), 4 * n);
    const DeviceBuffer<std::uint32_t> wrong(job.world().device(0), std::vector<std::uint32_t>(1));
    job.gpu_on(0, {.grid = 4, .block = 32}, OneBlockThenAll{n}, memory.data(), wrong.data());
    job.run();
    std::uint32_t count = 0;
    wrong.download(&count);
    ASSERT_EQ(count, 0u);
  }
}

// ---- the first thread has made a call by itself; the other lanes are in the next one already

enum class Next { word_of_warp, warp, block };

struct ThreadThenOthers {
  Next next;

  DCGN_HOST_DEVICE void operator()(gpu::Context& ctx, gpu::Comm comm, int* memory, std::uint32_t* wrong) const {
    const gpu::Slot me = comm.slot(ctx.block_rank());
    const gpu::WarpScope warp = gpu::this_warp(ctx);
    const gpu::BlockScope block = gpu::this_block(ctx);
    int* const in = memory + 4096 * ctx.block_rank();
    int* const out = in + 2048;
    const std::size_t n = next == Next::word_of_warp ? 1 : 1000;
    if (block.leader())
      for (int i = 0; i < 1000; ++i) in[i] = 1 + me.rank();
    block.sync();
    std::uint32_t bad = 0;
    for (int round = 0; round < 5; ++round) {
      if (block.leader()) me.barrier(gpu::this_thread());
      const Span<const int> mine(in, n);
      const Span<int> sum(out, n);
      bad += (next == Next::block ? me.all_reduce(block, mine, sum, Sum{}) : me.all_reduce(warp, mine, sum, Sum{})) !=
             Code::ok;
      if (block.leader())
        for (std::size_t i = 0; i < n; ++i) bad += out[i] != 3;
      block.sync();
    }
    if (bad) fetch_add(*wrong, bad);
  }
};

// ---- what the last lane has written is sent

enum class What { all_reduce, all_gather, broadcast };

struct LastLaneWrites {
  What what;

  DCGN_HOST_DEVICE void operator()(gpu::Context& ctx, gpu::Comm comm, int* memory, std::uint32_t* wrong) const {
    const gpu::Slot me = comm.slot(ctx.block_rank());
    const gpu::WarpScope warp = gpu::this_warp(ctx);
    int* const in = memory + 64 * ctx.block_rank();
    int* const out = in + 32;
    std::uint32_t bad = 0;
    for (int round = 1; round < 6; ++round) {
      if (warp.rank() + 1 == warp.size() && (what != What::broadcast || me.rank() == 0)) in[0] = round;
      const Span<int> one(in, 1);
      if (what == What::all_reduce) me.all_reduce(warp, one, Span<int>(out, 1), Sum{});
      if (what == What::all_gather) me.all_gather(warp, one, Span<int>(out, 2));
      if (what == What::broadcast) me.broadcast(warp, one, 0);
      if (warp.leader())
        bad += what == What::all_reduce   ? out[0] != 2 * round
               : what == What::all_gather ? out[0] != round || out[1] != round
                                          : in[0] != round;
      me.barrier(warp);
    }
    if (bad) fetch_add(*wrong, bad);
  }
};

template <class Kernel>
std::uint32_t wrong_of_two_slots(const Kernel& kernel) {
  Job job(slots_of_gpus({2}));
  const DeviceBuffer<int> memory(job.world().device(0), 8192);
  const DeviceBuffer<std::uint32_t> wrong(job.world().device(0), std::vector<std::uint32_t>(1));
  job.gpu_on(0, {.grid = 2, .block = 32}, kernel, memory.data(), wrong.data());
  job.run();
  std::uint32_t count = 0;
  wrong.download(&count);
  return count;
}

TEST(TurnOrder, TheFirstThreadMayHaveMadeACallByItself) {
  for (const Next next : {Next::word_of_warp, Next::warp, Next::block})
    EXPECT_EQ(wrong_of_two_slots(ThreadThenOthers{next}), 0u) << static_cast<int>(next);
}

TEST(TurnOrder, AWarpSendsWhatAnyLaneHasWritten) {
  for (const What what : {What::all_reduce, What::all_gather, What::broadcast})
    EXPECT_EQ(wrong_of_two_slots(LastLaneWrites{what}), 0u) << static_cast<int>(what);
}

// ---- teams

struct MeetOnce {
  DCGN_HOST_DEVICE void operator()(gpu::Context& ctx, gpu::Comm comm) const {
    comm.slot(ctx.block_rank()).barrier(gpu::this_thread());
  }
};

TEST(TurnOrder, TeamsMeetAlikeThoughOneHasASingleSlot) {
  if (Device::count() < 2) GTEST_SKIP() << "needs two GPUs";
  for (const int other : {1, 2, 20}) {
    Job job(slots_of_gpus({20, other}));
    job.gpu_on(0, {.grid = 20, .block = 1}, MeetOnce{});
    job.gpu_on(1, {.grid = static_cast<unsigned>(other), .block = 1}, MeetOnce{});
    EXPECT_NO_THROW(job.run()) << other;
  }
}

// ---- a root that waits for nobody hears in its next call that a rank gave it another size

struct OtherSizes {
  int of_root, of_other;

  DCGN_HOST_DEVICE void operator()(gpu::Context& ctx, gpu::Comm comm, int* memory, Code* codes) const {
    const gpu::Slot me = comm.slot(ctx.block_rank());
    const auto n = static_cast<std::size_t>(me.rank() == 0 ? of_root : of_other);
    codes[2 * me.rank()] = me.broadcast(gpu::this_thread(), Span<int>(memory + 40000 * me.rank(), n), 0);
    codes[2 * me.rank() + 1] = me.barrier(gpu::this_thread());
  }
};

TEST(TurnOrder, ARootHearsOfOtherSizesInItsNextCall) {
  struct Case {
    int of_root, of_other;
  };
  for (const auto& [of_root, of_other] : {Case{250, 30000}, Case{25, 1}, Case{250, 100}, Case{1, 100}}) {
    SCOPED_TRACE(std::to_string(of_root) + " and " + std::to_string(of_other));
    Config c = slots_of_gpus({2});
    c.errors_fatal = false;
    Job job(c);
    const DeviceBuffer<int> memory(job.world().device(0), 80000);
    const DeviceBuffer<Code> on_gpu(job.world().device(0), 4);
    job.gpu_on(0, {.grid = 2, .block = 1}, OtherSizes{of_root, of_other}, memory.data(), on_gpu.data());
    const Report report = job.run();
    Code codes[4];
    on_gpu.download(codes);
    EXPECT_EQ(codes[1], Code::mismatch) << "the root's next call";
    EXPECT_EQ(codes[2], Code::mismatch) << "the other's broadcast";
    EXPECT_EQ(codes[3], Code::ok) << "the other's next call";
    const std::string text =
        "gave " + std::to_string(4 * of_other) + " bytes where this one expects " + std::to_string(4 * of_root);
    EXPECT_TRUE(contains(report.ranks.at(0).failure, text)) << report.ranks.at(0).failure;
  }
}

}  // namespace
}  // namespace dcgn::test
