// Ranks that give different roots: each is named, whatever way the call goes, and nothing hangs.
#include "mistakes.hpp"
#include "tests/sanitized.hpp"

#include <dcgn/arch/context.hpp>
#include <dcgn/gpu/comm.hpp>
#include <dcgn/gpu/launch.hpp>
#include <dcgn/job.hpp>
#include <dcgn/operation.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace dcgn::test {
namespace {

// One rank of three gives another root, in a call that may end at some ranks; then all go on, or end.
TEST(Mistake, DifferentRootsAreNamed) {
  const auto names = [](const std::string& call, const std::function<void(Comm&, int)>& make) {
    for (const bool go_on : {false, true}) {
      SCOPED_TRACE(call + (go_on ? ", barrier" : ""));
      const std::string report = failure(std::nullopt, 3, [&](Comm& comm) {
        make(comm, comm.rank() == 1 ? 1 : 0);
        if (go_on) comm.barrier();
      });
      expect_text(report, "mismatch: rank 0 gave root 0 in " + call + ", number 0, but rank 1 gave root 1");
    }
  };
  names("reduce", [](Comm& c, int root) {
    int in = 1, out = 0;
    c.reduce(in, out, Sum{}, root);
  });
  names("gather", [](Comm& c, int root) {
    std::vector<int> in(1), out(3);
    c.gather(in, out, root);
  });
  names("broadcast", [](Comm& c, int root) {
    int x = 0;
    c.broadcast(x, root);
  });
  names("scatter", [](Comm& c, int root) {
    std::vector<int> in(3), out(1);
    c.scatter(in, out, root);
  });
}

TEST(Mistake, DifferentRootsLongAgoAreHintedAt) {
  const std::string report = failure(Code::unreceived, 3, [](Comm& comm) {
    int x = 0;
    comm.broadcast(x, comm.rank() == 1 ? 1 : 0);
    for (int i = 0; i < 100; ++i) comm.all_reduce(x, Sum{});
  });
  expect_text(report, "rank 1's part in broadcast, number 0, 4 bytes at rank 2");
  expect_text(report, "expected the same roots, and sizes that fit");
}

// Of communicators, too: there those that have the same number at other ranks are not held against them.
TEST(Mistake, DifferentRootsInACommunicatorAreNamed) {
  const std::string report = failure(Code::deadlock, 4, [](Comm& comm) {
    int x = 1, y = 0;
    Comm half = comm.split(comm.rank() / 2, 0);
    half.barrier();
    if (comm.rank() < 2) half.scan(x, y, Sum{});
    if (comm.rank() >= 2) half.reduce(x, y, Sum{}, half.rank());
    comm.barrier();
  });
  expect_text(report, "mismatch: rank 2 gave root 0 in reduce, number 1 in communicator ");
  expect_text(report, ", but rank 3 gave root 1");
}

// Where all have ended.
TEST(Mistake, DifferentRootsInACommunicatorThatIsGoneAreNamed) {
  const std::string report = failure(Code::unreceived, 4, [](Comm& comm) {
    int x = 1;
    Comm half = comm.split(comm.rank() % 2, 0);
    half.barrier();
    half.broadcast(x, comm.rank() == 3 ? 1 : 0);
    half.barrier();
  });
  expect_text(report, "mismatch: rank 1 gave root 0 in broadcast, number 1 in communicator 1, but rank 3 gave root 1");
}

// Of slots, in packets and in FIFOs, where the calls of blocks go another way.
struct OtherRoots {
  std::size_t count;

  DCGN_HOST_DEVICE void operator()(gpu::Context& ctx, gpu::Comm comm, float* memory) const {
    const gpu::Slot me = comm.slot(0);
    const gpu::BlockScope block = gpu::this_block(ctx);
    if (me.broadcast(block, Span<float>(memory, count), me.rank() == 1 ? 1 : 0) == Code::ok) me.barrier(block);
  }
};

TEST(Mistake, DifferentRootsOfSlotsAreNamed) {
  if (Device::count() < 2) GTEST_SKIP() << "needs two GPUs";
  for (const std::size_t count : {std::size_t{1}, std::size_t{1000}, std::size_t{5000}}) {
    SCOPED_TRACE(count);
    Config config{.nodes = {{.gpus = 2, .slots = 1}}};
    config.deadline_s = 20 * fewer;
    Job job(config);
    std::vector<DeviceBuffer<float>> memory;
    for (int g = 0; g < 2; ++g) {
      memory.emplace_back(job.world().device(g), count);
      job.gpu_on(g, {.grid = 1, .block = 64}, OtherRoots{count}, memory.back().data());
    }
    std::string what;
    try {
      job.run();
    } catch (const Error& e) {
      what = e.what();
    }
    expect_text(what, "broadcast: rank ");
    expect_text(what, " where this one gave ");
  }
}

// Rank 11, a slot, gives another root; then all make a call that needs none.
struct AnotherRootAmongMany {
  int root;
  std::size_t bytes;
  bool reduces;

  DCGN_HOST_DEVICE int root_of(int rank) const { return rank == 11 ? root : 0; }
  DCGN_HOST_DEVICE Span<unsigned char> part(unsigned char* memory, std::size_t k) const {
    return {memory + k * bytes, bytes};
  }
  DCGN_HOST_DEVICE void operator()(gpu::Context& ctx, gpu::Comm comm, unsigned char* memory) const {
    const gpu::Slot me = comm.slot(ctx.block_rank());
    const gpu::BlockScope block = gpu::this_block(ctx);
    const auto x = part(memory, 2ul * ctx.block_rank()), y = part(memory, 2ul * ctx.block_rank() + 1);
    const Code code =
        reduces ? me.reduce(block, x, y, BitXor{}, root_of(me.rank())) : me.broadcast(block, x, root_of(me.rank()));
    if (code == Code::ok) me.barrier(block);
  }
};

// Through teams' leaders, and down trees: one whom a message comes from in any case finds out by its tag alone.
TEST(Mistake, AnotherRootIsNoticedBySomebodyWhoHasNothingToDoWithIt) {
  for (const auto without : {message::without_quick, message::without_rounds})
    for (const bool reduces : {false, true})
      for (const auto& [root, bytes] : {std::pair{10, 8}, {2, 1}, {1, 6000}}) {
        SCOPED_TRACE(std::to_string(without) + (reduces ? " reduce" : " broadcast") + " of " + std::to_string(bytes) +
                     ", root " + std::to_string(root));
        Config config{.nodes = {{.cpus = 10, .gpus = 1, .slots = 10}}};
        config.deadline_s = 20 * fewer;
        config.without = without;
        Job job(config);
        const AnotherRootAmongMany calls{root, static_cast<std::size_t>(bytes), reduces};
        DeviceBuffer<unsigned char> memory(job.world().device(0), 20 * calls.bytes);
        job.cpu([&](Comm& comm) {
          std::vector<unsigned char> mine(2 * calls.bytes);
          const auto x = calls.part(mine.data(), 0), y = calls.part(mine.data(), 1);
          if (reduces)
            comm.reduce(x, y, BitXor{}, 0);
          else
            comm.broadcast(x, 0);
          comm.barrier();
        });
        job.gpu({.grid = 10, .block = 32}, calls, memory.data());
        std::string what;
        try {
          job.run();
        } catch (const Error& e) {
          what = e.what();
        }
        expect_text(what, std::string("mismatch: rank 0 gave root 0 in ") + (reduces ? "reduce" : "broadcast") +
                              ", number 0, but rank 11 gave root " + std::to_string(root));
      }
}

}  // namespace
}  // namespace dcgn::test
