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

enum class By { blocks, warps, threads };

template <By Which>
struct CallsBy {
  CallsInTurn calls;

  DCGN_HOST_DEVICE void operator()(gpu::Context& ctx, gpu::Comm comm, std::uint16_t* memory,
                                   std::uint32_t* errors) const {
    const gpu::Slot me = comm.slot(ctx.block_rank());
    std::uint16_t* const mine = memory + ctx.block_rank() * static_cast<unsigned>(2 * calls.n + 4);
    if constexpr (Which == By::blocks)
      calls(gpu::this_block(ctx), me, mine, *errors);
    else if constexpr (Which == By::warps) {
      if (ctx.warp() == 0) calls(gpu::this_warp(ctx), me, mine, *errors);
    } else if (ctx.thread_rank() == 0) {
      calls(gpu::this_thread(), me, mine, *errors);
    }
  }
};

// Communicators of four neighbours, each call with one more element than the one before.
struct FewOfMany {
  static constexpr unsigned max_threads = 32;

  DCGN_HOST_DEVICE void operator()(gpu::Context& ctx, gpu::Comm comm, std::uint16_t* memory,
                                   std::uint32_t* errors) const {
    const gpu::BlockScope block = gpu::this_block(ctx);
    const gpu::Slot me = comm.slot(ctx.block_rank());
    const gpu::Slot four = me.split(block, me.rank() / 4, 0);
    std::uint16_t* const in = memory + 2048 * ctx.block_rank();
    std::uint16_t* const out = in + 1024;
    std::uint32_t wrong = four.size() > 4;
    for (int n = 1; n < 200; n += 7) {
      const auto count = static_cast<std::size_t>(n);
      for (auto i = static_cast<int>(block.rank()); i < n; i += static_cast<int>(block.size()))
        in[i] = CallsInTurn::value(n, four.rank(), i);
      wrong +=
          four.all_reduce(block, Span<std::uint16_t>(in, count), Span<std::uint16_t>(out, count), Sum{}) != Code::ok;
      for (auto i = static_cast<int>(block.rank()); i < n; i += static_cast<int>(block.size())) {
        std::uint32_t sum = 0;
        for (int r = 0; r < four.size(); ++r) sum += CallsInTurn::value(n, r, i);
        wrong += out[i] != static_cast<std::uint16_t>(sum);
      }
      const auto all = static_cast<std::size_t>(n) * static_cast<std::size_t>(four.size());
      wrong += four.all_gather(block, Span<std::uint16_t>(in, count), Span<std::uint16_t>(out, all)) != Code::ok;
      for (auto i = static_cast<int>(block.rank()); i < n * four.size(); i += static_cast<int>(block.size()))
        wrong += out[i] != CallsInTurn::value(n, i / n, i % n);
      wrong += four.barrier(block) != Code::ok;
    }
    if (wrong) fetch_add(*errors, wrong);
  }
};

template <By Which>
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
    job.gpu_on(g, {.grid = static_cast<unsigned>(slots), .block = threads, .resident = true}, CallsBy<Which>{calls},
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
    expect_turns<By::blocks>(gpus, 3, 64, {turns, 700, cpu});
    expect_turns<By::warps>(gpus, 3, 64, {turns, 100, cpu});
    expect_turns<By::threads>(gpus, 2, 32, {turns / 2, 40, cpu});
  }
}
TEST(Turns, OfBlocksWithFewerThreadsThanRanks) {
  expect_turns<By::blocks>(one_or_two_gpus(), 5, 3, {sanitized ? 2 : 8, 60, false});
  expect_turns<By::warps>(one_or_two_gpus(), 5, 3, {sanitized ? 2 : 8, 60, false});
}
// Where there are many, little fits: the less, the more of these calls are messages.
TEST(Turns, OfFewAmongManySlots) {
  for (const int slots : {20, 70, 128}) {
    if (sanitized && slots > 20) continue;
    Config config{.nodes = {{.gpus = 1, .slots = slots}}};
    config.deadline_s = 20 * fewer;
    Job job(config);
    const Device device = job.world().device(0);
    DeviceBuffer<std::uint16_t> memory(device, static_cast<std::size_t>(slots) * 2048);
    DeviceBuffer<std::uint32_t> errors(device, 1);
    device.fill(errors.data(), 0, sizeof(std::uint32_t));
    job.gpu_on(0, {.grid = static_cast<unsigned>(slots), .block = 32, .resident = true}, FewOfMany{}, memory.data(),
               errors.data());
    ASSERT_NO_THROW(job.run());
    std::uint32_t wrong = 0;
    errors.download(&wrong);
    EXPECT_EQ(wrong, 0u) << slots << " slots";
  }
}
// A segment of signatures alone has room for what lies beside them, and for nothing else.
TEST(Turns, OfSegmentsWithoutRoomForPayloads) {
  const message::InboxHalves halves(8);
  EXPECT_EQ(halves.whole_bytes(), 0);
  EXPECT_EQ(halves.half_bytes(), 0);
  EXPECT_EQ(collective::steps_of(8, 0, 4, 4), collective::Steps::one);
  EXPECT_EQ(collective::steps_of(8, 12, 4, 4), collective::Steps::none);
  EXPECT_EQ(collective::steps_of(32, 24 * 12, 4, 4), collective::Steps::one);
  EXPECT_EQ(collective::steps_of(32, 24 * 12 + 4, 4, 4), collective::Steps::two);
  EXPECT_EQ(collective::steps_of(32, 24, 4, 4, false), collective::Steps::two);  // no room for whole operands
  EXPECT_EQ(collective::steps_of(32, 4 * 8 * 12 + 4, 4, 4), collective::Steps::none);
}
TEST(Turns, InManyInterleavings) {
  if (Device(0).kind() != DeviceKind::emulated) GTEST_SKIP() << "this machine's devices are not emulated";
  for (std::uint64_t seed = 0; seed < (fewer == 1 ? 60 : 3); ++seed) {
    expect_turns<By::blocks>(one_or_two_gpus(), 2, 5, {6, 40, seed % 2 == 0}, seed);
    expect_turns<By::threads>(one_or_two_gpus(), 2, 1, {6, 20, false}, seed);
  }
}

}  // namespace
}  // namespace dcgn::test
