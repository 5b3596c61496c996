// What slots store in each other's inboxes: pairs of slots whose turns differ in number, since they are in several
// communicators; blocks with fewer threads than there are ranks; buffers that do not lie on words; roots that run
// ahead.
#include "expect.hpp"
#include "sanitized.hpp"

#include <dcgn/dcgn.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dcgn::test {
namespace {

// Calls of the slots' own communicator and of one of each half of them, now this one and now that one.
struct CallsInTurn {
  int turns, n;
  bool cpu;  // whether there is a CPU rank, which is in none of these communicators

  DCGN_HOST_DEVICE static std::uint16_t value(int turn, int rank, std::int64_t i) {
    return static_cast<std::uint16_t>((turn * 31 + rank * 7 + i * 13 + 1) % 251);
  }

  template <class Scope>
  DCGN_HOST_DEVICE void operator()(const Scope& scope, const gpu::Slot& me, std::uint16_t* memory,
                                   std::uint32_t& errors) const {
    const gpu::Slot slots = cpu ? me.split(scope, 0, me.rank()) : me.dup(scope);
    const gpu::Slot half = slots.split(scope, slots.rank() % 2, 0);
    std::uint16_t* const in = memory + 1;  // not on a word
    std::uint16_t* const out = memory + n + 2;
    std::uint32_t wrong = 0;
    const auto each = [&](const auto& act) {
      scope.sync();
      for (auto i = static_cast<int>(scope.rank()); i < n; i += static_cast<int>(scope.size())) act(i);
      scope.sync();
    };
    for (int turn = 0; turn < turns; ++turn) {
      const gpu::Slot& comm = turn % 3 == 1 ? half : slots;
      const int size = comm.size(), rank = comm.rank(), root = turn % size;
      const auto count = static_cast<std::size_t>(turn % 2 ? n : 3);
      const Span<std::uint16_t> from(in, count), to(out, count);
      const auto check = [&](const auto& right) {
        each([&](int i) { wrong += static_cast<std::size_t>(i) < count && out[i] != right(i); });
      };
      const auto sum = [&](int i, int ranks) {
        std::uint32_t all = 0;
        for (int r = 0; r < ranks; ++r) all += value(turn, r, i);
        return static_cast<std::uint16_t>(all);
      };
      each([&](int i) { in[i] = value(turn, rank, i); });
      wrong += comm.all_reduce(scope, from, to, Sum{}) != Code::ok;
      check([&](int i) { return sum(i, size); });
      wrong += comm.scan(scope, from, to, Sum{}) != Code::ok;
      check([&](int i) { return sum(i, rank + 1); });
      // The root may be several turns ahead.
      for (int k = 0; k < 4; ++k) {
        each([&](int i) { out[i] = rank == root ? value(turn + k, 99, i) : 0; });
        wrong += comm.broadcast(scope, to, root) != Code::ok;
        check([&](int i) { return value(turn + k, 99, i); });
      }
      wrong += comm.reduce(scope, from, rank == root ? to : Span<std::uint16_t>(), Sum{}, root) != Code::ok;
      if (rank == root) check([&](int i) { return sum(i, size); });
      wrong += slots.barrier(scope) != Code::ok;
    }
    if (wrong) fetch_add(errors, wrong);
  }
};

struct InTurnByBlocks {
  CallsInTurn calls;

  DCGN_HOST_DEVICE void operator()(gpu::Context& ctx, gpu::Comm comm, std::uint16_t* memory,
                                   std::uint32_t* errors) const {
    calls(gpu::this_block(ctx), comm.slot(ctx.block_rank()),
          memory + ctx.block_rank() * static_cast<unsigned>(2 * calls.n + 4), *errors);
  }
};
struct InTurnByWarps {
  CallsInTurn calls;

  DCGN_HOST_DEVICE void operator()(gpu::Context& ctx, gpu::Comm comm, std::uint16_t* memory,
                                   std::uint32_t* errors) const {
    if (ctx.warp() == 0)
      calls(gpu::this_warp(ctx), comm.slot(ctx.block_rank()),
            memory + ctx.block_rank() * static_cast<unsigned>(2 * calls.n + 4), *errors);
  }
};
struct InTurnByThreads {
  CallsInTurn calls;

  DCGN_HOST_DEVICE void operator()(gpu::Context& ctx, gpu::Comm comm, std::uint16_t* memory,
                                   std::uint32_t* errors) const {
    if (ctx.thread_rank() == 0)
      calls(gpu::this_thread(), comm.slot(ctx.block_rank()),
            memory + ctx.block_rank() * static_cast<unsigned>(2 * calls.n + 4), *errors);
  }
};

template <class Kernel>
void expect_turns(int gpus, int slots, unsigned threads, const CallsInTurn& calls,
                  std::optional<std::uint64_t> seed = std::nullopt) {
  SCOPED_TRACE(std::to_string(gpus) + " GPUs of " + std::to_string(slots) + " slots, " + std::to_string(threads) +
               " threads" + (seed ? ", seed " + std::to_string(*seed) : ""));
  Config config{.nodes = {{.cpus = calls.cpu, .gpus = gpus, .slots = slots}}};
  config.deadline_s = 20 * fewer;
  config.seed = seed;
  Job job(config);
  if (calls.cpu) job.cpu([](Comm& comm) { (void)comm.split(-1, 0); });
  std::vector<DeviceBuffer<std::uint16_t>> memory;
  std::vector<DeviceBuffer<std::uint32_t>> errors;
  for (int g = 0; g < gpus; ++g) {
    const Device device = job.world().device(g);
    memory.emplace_back(device, static_cast<std::size_t>(slots) * static_cast<std::size_t>(2 * calls.n + 4));
    errors.emplace_back(device, 1);
    device.fill(errors.back().data(), 0, sizeof(std::uint32_t));
    job.gpu_on(g, {.grid = static_cast<unsigned>(slots), .block = threads, .resident = true}, Kernel{calls},
               memory.back().data(), errors.back().data());
  }
  ASSERT_NO_THROW(job.run());
  for (const DeviceBuffer<std::uint32_t>& of_gpu : errors) {
    std::uint32_t wrong = 0;
    of_gpu.download(&wrong);
    EXPECT_EQ(wrong, 0u);
  }
}

int one_or_two_gpus() { return std::min(2, Device::count()); }

TEST(Turns, OfCommunicatorsThatOverlap) {
  const int gpus = one_or_two_gpus(), turns = sanitized ? 4 : 24;
  for (const bool cpu : {false, true}) {
    expect_turns<InTurnByBlocks>(gpus, 3, 64, {turns, 700, cpu});
    expect_turns<InTurnByWarps>(gpus, 3, 64, {turns, 100, cpu});
    expect_turns<InTurnByThreads>(gpus, 2, 32, {turns / 2, 40, cpu});
  }
}
TEST(Turns, OfBlocksWithFewerThreadsThanRanks) {
  expect_turns<InTurnByBlocks>(one_or_two_gpus(), 5, 3, {sanitized ? 2 : 8, 60, false});
  expect_turns<InTurnByWarps>(one_or_two_gpus(), 5, 3, {sanitized ? 2 : 8, 60, false});
}
TEST(Turns, InManyInterleavings) {
  if (Device(0).kind() != DeviceKind::emulated) GTEST_SKIP() << "this machine's devices are not emulated";
  for (std::uint64_t seed = 0; seed < (fewer == 1 ? 60 : 3); ++seed) {
    expect_turns<InTurnByBlocks>(one_or_two_gpus(), 2, 5, {6, 40, seed % 2 == 0}, seed);
    expect_turns<InTurnByThreads>(one_or_two_gpus(), 2, 1, {6, 20, false}, seed);
  }
}

}  // namespace
}  // namespace dcgn::test
