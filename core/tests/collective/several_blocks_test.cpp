// all_reduce by several blocks of each slot: by as many at every rank or not, and with other calls between. The
// operands must not change places.
#include "expect.hpp"
#include "sanitized.hpp"

#include <dcgn/dcgn.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

namespace dcgn::test {
namespace {

// x -> factor * x + summand, modulo 2^16.
struct Step {
  std::uint16_t factor, summand;
};
struct InTurn {
  DCGN_HOST_DEVICE Step operator()(const Step& a, const Step& b) const {
    const auto factor = std::uint32_t{b.factor};
    return {static_cast<std::uint16_t>(a.factor * factor), static_cast<std::uint16_t>(a.summand * factor + b.summand)};
  }
};

// The calling block among those of its slot: each slot of a GPU has as many.
struct SlotBlocks {
  unsigned slot, first, blocks, block;

  DCGN_HOST_DEVICE SlotBlocks(const gpu::Context& ctx, int slots)
      : slot(ctx.block_rank() / (ctx.num_blocks() / static_cast<unsigned>(slots))),
        first(slot * (ctx.num_blocks() / static_cast<unsigned>(slots))),
        blocks(ctx.num_blocks() / static_cast<unsigned>(slots)),
        block(ctx.block_rank() - first) {}

  // All of them, whichever make calls.
  DCGN_HOST_DEVICE void meet(const gpu::Context& ctx, std::uint32_t& come) const {
    ctx.sync_block();
    if (ctx.thread_rank() == 0) {
      const std::uint32_t turn = fetch_add(come, 1) / blocks;
      while (load_acquire(come) / blocks == turn) relax();
    }
    ctx.sync_block();
  }
};

// So many ranks: a GPU for each, or slots of one GPU.
struct Ranks {
  int gpus, slots;

  explicit Ranks(int count) : gpus(Device::count() < count ? 1 : count), slots(Device::count() < count ? count : 1) {}
  Config config() const {
    Config config{.nodes = {{.gpus = gpus, .slots = slots}}};
    config.deadline_s = 20 * fewer;
    return config;
  }
};

enum class Blocks { all, some, others, one };  // of the grid: at every rank; or different ones; or at one rank a block

struct SharesInTurns {
  std::int64_t n;
  int turns;
  int skew;  // elements by which the last rank's buffers are off a line
  int slots = 1;
  static constexpr unsigned max_threads = 512;

  DCGN_HOST_DEVICE static Step step(int turn, int rank, std::int64_t i) {
    const std::uint64_t seed = static_cast<std::uint64_t>(i * 1000003 + turn * 97 + rank * 7 + 1) * 0x9e3779b97f4a7c15u;
    return {static_cast<std::uint16_t>(seed >> 20 | 1), static_cast<std::uint16_t>(seed >> 37)};
  }
  DCGN_HOST_DEVICE static unsigned blocks_of(int turn, int rank, unsigned all) {
    switch (static_cast<Blocks>(turn % 5 % 4)) {
      case Blocks::all: return all;
      case Blocks::some: return 2 + static_cast<unsigned>(turn) % (all - 1);
      case Blocks::others: return 2 + static_cast<unsigned>(turn + rank) % (all - 1);
      case Blocks::one: return rank == turn % 3 ? 1 : all;
    }
    return all;
  }

  // errors[0]: elements that are wrong, errors[1]: calls that failed; errors[2]: for meet().
  DCGN_HOST_DEVICE void operator()(gpu::Context& ctx, gpu::Comm comm, Step* memory, std::uint32_t* errors) const {
    const SlotBlocks its(ctx, slots);
    const gpu::Slot me = comm.slot(its.slot);
    memory += its.slot * (2 * n + 16);
    errors += 3 * its.slot;
    const auto ranks = me.size(), rank = me.rank();
    Step* const in = memory + (rank + 1 == ranks ? skew : 0);
    Step* const out = in + n + 4;
    const std::int64_t first = its.block * ctx.num_threads() + ctx.thread_rank();
    const std::int64_t stride = its.blocks * ctx.num_threads();
    for (int turn = 0; turn < turns; ++turn) {
      const unsigned blocks = blocks_of(turn, rank, its.blocks);
      const auto all = [&](std::int64_t i) {
        Step sum = step(turn, 0, i);
        for (int r = 1; r < ranks; ++r) sum = InTurn{}(sum, step(turn, r, i));
        return sum;
      };
      const auto check = [&](const Step* at, std::int64_t count, const auto& of) {
        std::uint32_t wrong = 0;
        for (std::int64_t i = first; i < count; i += stride)
          wrong += at[i].factor != of(i).factor || at[i].summand != of(i).summand;
        if (wrong) fetch_add(errors[0], wrong);
      };
      const auto call = [&](const auto& act) {
        if (its.block >= blocks) return;
        Code code = Code::ok;
        if (blocks == 1)
          code = act(gpu::this_block(ctx));
        else
          code = act(gpu::these_blocks(ctx, me, its.first, blocks));
        if (code != Code::ok) fetch_add(errors[1], 1);
      };
      for (std::int64_t i = first; i < n; i += stride) {
        in[i] = step(turn, rank, i);
        out[i] = {3, 4};
      }
      if (blocks < its.blocks) its.meet(ctx, errors[2]);  // who makes the call waits for itself alone
      const Span<Step> from(in, static_cast<std::size_t>(n)), to(out, static_cast<std::size_t>(n));
      call([&](const auto& scope) { return me.all_reduce(scope, from, to, InTurn{}); });
      its.meet(ctx, errors[2]);
      check(out, n, all);
      check(in, n, [&](std::int64_t i) { return step(turn, rank, i); });
      if (blocks < its.blocks) its.meet(ctx, errors[2]);
      call([&](const auto& scope) { return me.all_reduce(scope, from, InTurn{}); });
      call([&](const auto& scope) { return me.barrier(scope); });
      its.meet(ctx, errors[2]);
      check(in, n, all);
      if (turn % 2) call([&](const auto& scope) { return me.broadcast(scope, to, turn % ranks); });
      its.meet(ctx, errors[2]);
    }
  }
};

void expect_shares(int count, unsigned blocks, unsigned block, SharesInTurns kernel,
                   const std::vector<std::optional<std::uint64_t>>& seeds = {std::nullopt}) {
  const Ranks ranks(count);
  kernel.slots = ranks.slots;
  const auto slots = static_cast<std::size_t>(ranks.slots);
  for (const auto& seed : seeds) {
    SCOPED_TRACE(std::to_string(count) + " ranks, " + std::to_string(blocks) + " blocks of " + std::to_string(block) +
                 ", " + std::to_string(kernel.n) + " elements");
    Config config = ranks.config();
    config.seed = seed;
    Job job(config);
    std::vector<DeviceBuffer<Step>> memory;
    std::vector<DeviceBuffer<std::uint32_t>> errors;
    for (int g = 0; g < ranks.gpus; ++g) {
      const Device device = job.world().device(g);
      memory.emplace_back(device, slots * static_cast<std::size_t>(2 * kernel.n + 16));
      errors.emplace_back(device, std::vector<std::uint32_t>(3 * slots));
      job.gpu_on(g, {.grid = blocks * static_cast<unsigned>(slots), .block = block, .resident = true}, kernel,
                 memory.back().data(), errors.back().data());
    }
    ASSERT_NO_THROW(job.run());
    for (const auto& its : errors) {
      std::vector<std::uint32_t> found(3 * slots);
      its.download(found.data());
      for (std::size_t k = 0; k < slots; ++k) {
        EXPECT_EQ(found[3 * k], 0u) << "wrong elements";
        EXPECT_EQ(found[3 * k + 1], 0u) << "failed calls";
      }
    }
  }
}

TEST(SeveralBlocks, OfTwoRanks) {
  if (!Device::count()) GTEST_SKIP() << "needs a GPU";
  expect_shares(2, 4, 40, {17003, sanitized ? 2 : 7, 0});
  if (sanitized) return;
  expect_shares(2, 3, 64, {33000, 7, 0});
  expect_shares(2, 2, 40, {50001, 3, 1});
}

// In blocks of fewer threads than a warp, the first 32 threads are in several blocks.
TEST(SeveralBlocks, OfFewThreads) {
  if (!Device::count()) GTEST_SKIP() << "needs a GPU";
  for (const unsigned block : {1u, 8u}) expect_shares(2, 4, block, {17003, sanitized ? 2 : 5, 0});
}

TEST(SeveralBlocks, OfMoreRanks) {
  if (!Device::count()) GTEST_SKIP() << "needs a GPU";
  for (const int ranks : {3, 8}) {
    if (sanitized && ranks > 3) continue;
    expect_shares(ranks, 3, 40, {17003, sanitized ? 1 : 6, 0});
    if (!sanitized) expect_shares(ranks, 2, 64, {60000, 3, 1});
  }
}

TEST(SeveralBlocks, InManyInterleavings) {
  if (!Device::count() || Device(0).kind() != DeviceKind::emulated) GTEST_SKIP() << "needs emulated GPUs";
  std::vector<std::optional<std::uint64_t>> seeds;
  for (std::uint64_t seed = 0; seed < (fewer == 1 ? 40 : 2); ++seed) seeds.emplace_back(seed);
  expect_shares(2, 3, 32, {16650, 4, 0}, seeds);
  expect_shares(3, 2, 32, {16650, 1, 0}, seeds);
}

// reduce, scan, exclusive_scan and reduce_scatter of buffers so long that ranks work on them directly; in place, too.
struct ReducesLongBuffers {
  std::int64_t n;
  int slots;
  static constexpr unsigned max_threads = 512;

  // errors[0]: elements that are wrong, errors[1]: calls that failed; errors[2]: for meet().
  DCGN_HOST_DEVICE void operator()(gpu::Context& ctx, gpu::Comm comm, Step* memory, std::uint32_t* errors) const {
    const SlotBlocks its(ctx, slots);
    const gpu::Slot me = comm.slot(its.slot);
    const int ranks = me.size(), rank = me.rank();
    memory += its.slot * n * (ranks + 1);
    errors += 3 * its.slot;
    Step* const in = memory;
    Step* const out = memory + n * ranks;
    const std::int64_t first = its.block * ctx.num_threads() + ctx.thread_rank();
    const std::int64_t stride = its.blocks * ctx.num_threads();
    int turn = 0;
    // Elements `begin` to begin + n of ranks 0 to operands - 1.
    const auto expect = [&](const Step* at, std::int64_t begin, int operands) {
      std::uint32_t wrong = 0;
      for (std::int64_t i = first; operands && i < n; i += stride) {
        Step sum = SharesInTurns::step(turn, 0, begin + i);
        for (int r = 1; r < operands; ++r) sum = InTurn{}(sum, SharesInTurns::step(turn, r, begin + i));
        wrong += at[i].factor != sum.factor || at[i].summand != sum.summand;
      }
      if (wrong) fetch_add(errors[0], wrong);
    };
    for (const bool many : {true, false}) {
      const auto call = [&](const auto& act) {
        ++turn;
        for (std::int64_t i = first; i < n * ranks; i += stride) in[i] = SharesInTurns::step(turn, rank, i);
        for (std::int64_t i = first; i < n; i += stride) out[i] = {3, 4};
        its.meet(ctx, errors[2]);
        Code code = Code::ok;
        if (many)
          code = act(gpu::these_blocks(ctx, me, its.first, its.blocks));
        else if (its.block == 0)
          code = act(gpu::this_block(ctx));
        if (code != Code::ok) fetch_add(errors[1], 1);
        its.meet(ctx, errors[2]);
      };
      const auto length = static_cast<std::size_t>(n);
      const Span<Step> part(in, length), result(out, length);
      const Span<const Step> all(in, length * static_cast<std::size_t>(ranks));
      const int root = ranks - 1;
      call([&](const auto& scope) { return me.reduce(scope, part, result, InTurn{}, root); });
      if (rank == root) expect(out, 0, ranks);
      expect(in, 0, rank == 0 ? 1 : 0);  // rank 0 still has its own
      call([&](const auto& scope) { return me.reduce(scope, part, part, InTurn{}, root); });
      if (rank == root) expect(in, 0, ranks);
      call([&](const auto& scope) { return me.scan(scope, part, result, InTurn{}); });
      expect(out, 0, rank + 1);
      call([&](const auto& scope) { return me.scan(scope, part, part, InTurn{}); });
      expect(in, 0, rank + 1);
      call([&](const auto& scope) { return me.exclusive_scan(scope, part, result, InTurn{}); });
      expect(out, 0, rank);
      call([&](const auto& scope) { return me.reduce_scatter(scope, all, result, InTurn{}); });
      expect(out, rank * n, ranks);
      call([&](const auto& scope) {
        return me.reduce_scatter(scope, all, Span<Step>(in + rank * n, length), InTurn{});
      });
      expect(in + rank * n, rank * n, ranks);
      its.meet(ctx, errors[2]);
    }
  }
};

TEST(SeveralBlocks, ReduceLongBuffers) {
  if (!Device::count()) GTEST_SKIP() << "needs a GPU";
  const int count = std::clamp(Device::count(), 2, 4);
  const Ranks ranks(count);
  const auto slots = static_cast<std::size_t>(ranks.slots);
  for (const std::int64_t n : {17003, 20480}) {
    Job job(ranks.config());
    std::vector<DeviceBuffer<Step>> memory;
    std::vector<DeviceBuffer<std::uint32_t>> errors;
    for (int g = 0; g < ranks.gpus; ++g) {
      const Device device = job.world().device(g);
      memory.emplace_back(device, slots * static_cast<std::size_t>(n * (count + 1)));
      errors.emplace_back(device, std::vector<std::uint32_t>(3 * slots));
      job.gpu_on(g, {.grid = 3 * static_cast<unsigned>(slots), .block = 64, .resident = true},
                 ReducesLongBuffers{n, ranks.slots}, memory.back().data(), errors.back().data());
    }
    ASSERT_NO_THROW(job.run());
    for (const auto& its : errors) {
      std::vector<std::uint32_t> found(3 * slots);
      its.download(found.data());
      for (std::size_t k = 0; k < slots; ++k) {
        EXPECT_EQ(found[3 * k], 0u) << "wrong elements";
        EXPECT_EQ(found[3 * k + 1], 0u) << "failed calls";
      }
    }
    if (sanitized) break;
  }
}

// A communicator of one rank: every call gives the rank its own elements, and finds what is wrong.
struct Alone {
  static constexpr int n = 4000;

  template <class Scope>
  DCGN_HOST_DEVICE static void call(const Scope& scope, const gpu::Slot& me, int* in, int* out, std::uint32_t* wrong) {
    const Span<int> from(in, n), to(out, n);
    const auto check = [&](Code code) {
      std::uint32_t bad = code != Code::ok;
      for (int i = static_cast<int>(scope.rank()); i < n; i += static_cast<int>(scope.size())) {
        bad += out[i] != i;
        out[i] = -1;
      }
      if (bad) fetch_add(*wrong, bad);
      scope.sync();
    };
    for (int i = static_cast<int>(scope.rank()); i < n; i += static_cast<int>(scope.size())) {
      in[i] = i;
      out[i] = -1;
    }
    check(me.gather(scope, from, to, 0));
    check(me.scatter(scope, from, to, 0));
    check(me.all_gather(scope, from, to));
    check(me.all_to_all(scope, from, to));
    check(me.reduce(scope, from, to, Sum{}, 0));
    check(me.all_reduce(scope, from, to, Sum{}));
    check(me.reduce_scatter(scope, from, to, Sum{}));
    check(me.scan(scope, from, to, Sum{}));
    for (int i = static_cast<int>(scope.rank()); i < n; i += static_cast<int>(scope.size())) out[i] = i;
    check(me.broadcast(scope, to, 0));
    const bool refused =
        me.broadcast(scope, to, 1) == Code::invalid_rank && me.gather(scope, from, to, 1) == Code::invalid_rank &&
        me.all_gather(scope, from, Span<int>(out, n - 1)) == Code::invalid_size && me.barrier(scope) == Code::ok;
    if (!refused) fetch_add(*wrong, 1);
  }
  DCGN_HOST_DEVICE void operator()(gpu::Context& ctx, gpu::Comm comm, int* memory, std::uint32_t* wrong) const {
    const gpu::Slot me = comm.slot(0);
    const gpu::BlocksScope all = gpu::this_grid(ctx, me);
    call(all, me, memory, memory + n, wrong);
    all.sync();
    if (ctx.block_rank() == 0) call(gpu::this_block(ctx), me, memory, memory + n, wrong);
    all.sync();
    if (ctx.block_rank() == 0 && ctx.thread_rank() < gpu::warp_size)
      call(gpu::this_warp(ctx), me, memory, memory + n, wrong);
  }
};

TEST(SeveralBlocks, OfOneRank) {
  if (!Device::count()) GTEST_SKIP() << "needs a GPU";
  Config config{.nodes = {{.gpus = 1, .slots = 1}}};
  config.deadline_s = 20 * fewer;
  config.errors_fatal = false;
  Job job(config);
  const Device device = job.world().device(0);
  const DeviceBuffer<int> memory(device, 2 * Alone::n);
  const DeviceBuffer<std::uint32_t> wrong(device, std::vector<std::uint32_t>(1));
  job.gpu_on(0, {.grid = 3, .block = 64, .resident = true}, Alone{}, memory.data(), wrong.data());
  ASSERT_NO_THROW(job.run());
  std::uint32_t count = 0;
  wrong.download(&count);
  EXPECT_EQ(count, 0u);
}

// Calls that the first block makes for all, each directly before one that all make together, and the other way round.
struct OddThenEven {
  int slots;
  static constexpr int n = 3000, rounds = 60;

  DCGN_HOST_DEVICE void operator()(gpu::Context& ctx, gpu::Comm comm, int* memory, std::uint32_t* errors) const {
    const SlotBlocks its(ctx, slots);
    const gpu::Slot me = comm.slot(its.slot);
    const gpu::BlocksScope blocks = gpu::these_blocks(ctx, me, its.first, its.blocks);
    const int ranks = me.size(), rank = me.rank();
    int* const in = memory + static_cast<int>(its.slot) * (2 * n + 2 * n * ranks + 16);
    int* const out = in + n;
    auto* const odd = reinterpret_cast<unsigned char*>(out + n * ranks) + 1;  // no words: the first block gathers them
    unsigned char* const all = odd + n;
    const auto each = [&](int count, const auto& act) {
      for (auto i = static_cast<int>(blocks.rank()); i < count; i += static_cast<int>(blocks.size())) act(i);
    };
    std::uint32_t bad = 0;
    for (int round = 0; round < rounds; ++round) {
      each(n, [&](int i) { in[i] = i * 16 + rank + round; });
      each(n, [&](int i) { odd[i] = static_cast<unsigned char>(i * 3 + rank + round); });
      const std::size_t whole = std::size_t{n} * static_cast<std::size_t>(ranks);
      bad += me.all_gather(blocks, Span<const unsigned char>(odd, n), Span<unsigned char>(all, whole)) != Code::ok;
      bad += me.all_gather(blocks, Span<const int>(in, n), Span<int>(out, whole)) != Code::ok;
      each(n * ranks, [&](int i) {
        bad += out[i] != i % n * 16 + i / n + round;
        bad += all[i] != static_cast<unsigned char>(i % n * 3 + i / n + round);
      });
      bad += me.barrier(blocks) != Code::ok;
    }
    if (bad) fetch_add(errors[its.slot], bad);
  }
};

TEST(SeveralBlocks, AfterACallOfTheFirstBlock) {
  if (!Device::count()) GTEST_SKIP() << "needs a GPU";
  const int count = std::clamp(Device::count(), 2, 3);
  const Ranks ranks(count);
  const auto slots = static_cast<std::size_t>(ranks.slots);
  Job job(ranks.config());
  std::vector<DeviceBuffer<int>> memory;
  std::vector<DeviceBuffer<std::uint32_t>> errors;
  constexpr auto n = static_cast<std::size_t>(OddThenEven::n);
  for (int g = 0; g < ranks.gpus; ++g) {
    const Device device = job.world().device(g);
    memory.emplace_back(device, slots * (2 * n + 2 * n * static_cast<std::size_t>(count) + 16));
    errors.emplace_back(device, std::vector<std::uint32_t>(slots));
    job.gpu_on(g, {.grid = 3 * static_cast<unsigned>(slots), .block = 96, .resident = true}, OddThenEven{ranks.slots},
               memory.back().data(), errors.back().data());
  }
  ASSERT_NO_THROW(job.run());
  for (const auto& its : errors) {
    std::vector<std::uint32_t> found(slots);
    its.download(found.data());
    for (const std::uint32_t bad : found) EXPECT_EQ(bad, 0u);
  }
}

// First the ranks give different lengths, and are told so; then they do better.
struct OtherLengthsFirst {
  int slots;
  static constexpr int n = 40000;

  DCGN_HOST_DEVICE void operator()(gpu::Context& ctx, gpu::Comm comm, Step* memory, int* codes) const {
    const SlotBlocks its(ctx, slots);
    const gpu::Slot me = comm.slot(its.slot);
    const gpu::BlocksScope grid = gpu::these_blocks(ctx, me, its.first, its.blocks);
    memory += std::ptrdiff_t{5 * n} * its.slot;
    codes += 4 * its.slot;
    for (int turn = 0; turn < 4; ++turn) {
      for (auto i = static_cast<int>(grid.rank()); i < n; i += static_cast<int>(grid.size()))
        memory[i] = SharesInTurns::step(turn, me.rank(), i);
      const int length = turn == 1 ? n - 8 * me.rank() : n;
      const Span<const Step> in(memory, static_cast<std::size_t>(length));
      const Code code = me.all_reduce(grid, in, Span<Step>(memory + (turn + 1) * n, in.size()), InTurn{});
      if (grid.leader()) codes[turn] = static_cast<int>(code);
    }
  }
};

TEST(SeveralBlocks, AfterAMismatchThatIsReturned) {
  if (!Device::count()) GTEST_SKIP() << "needs a GPU";
  const int count = std::clamp(Device::count(), 2, 3);
  const Ranks ranks(count);
  const auto slots = static_cast<std::size_t>(ranks.slots);
  Config config = ranks.config();
  config.errors_fatal = false;
  Job job(config);
  constexpr int n = OtherLengthsFirst::n;
  std::vector<DeviceBuffer<Step>> memory;
  std::vector<DeviceBuffer<int>> codes;
  for (int g = 0; g < ranks.gpus; ++g) {
    memory.emplace_back(job.world().device(g), slots * 5 * n);
    codes.emplace_back(job.world().device(g), slots * 4);
    job.gpu_on(g, {.grid = 3 * static_cast<unsigned>(slots), .block = 64, .resident = true},
               OtherLengthsFirst{ranks.slots}, memory.back().data(), codes.back().data());
  }
  ASSERT_NO_THROW(job.run());
  for (std::size_t g = 0; g < memory.size(); ++g) {
    std::vector<int> said(slots * 4);
    codes[g].download(said.data());
    std::vector<Step> found(slots * 5 * n);
    memory[g].download(found.data());
    for (std::size_t k = 0; k < slots; ++k) {
      EXPECT_EQ(std::vector(said.begin() + static_cast<std::ptrdiff_t>(4 * k),
                            said.begin() + static_cast<std::ptrdiff_t>(4 * k + 4)),
                std::vector<int>({0, static_cast<int>(Code::mismatch), 0, 0}));
      int wrong = 0;
      for (const int turn : {0, 2, 3})
        for (int i = 0; i < n; ++i) {
          Step sum = SharesInTurns::step(turn, 0, i);
          for (int r = 1; r < count; ++r) sum = InTurn{}(sum, SharesInTurns::step(turn, r, i));
          const Step& result = found[(5 * k + static_cast<std::size_t>(turn) + 1) * n + static_cast<std::size_t>(i)];
          wrong += result.factor != sum.factor || result.summand != sum.summand;
        }
      EXPECT_EQ(wrong, 0);
    }
  }
}

TEST(SeveralBlocks, ManyOfThem) {
  if (!Device::count() || Device(0).kind() == DeviceKind::emulated) GTEST_SKIP() << "needs a GPU with many blocks";
  const int count = std::clamp(Device::count(), 2, 8);
  const auto all = static_cast<unsigned>(Device(0).properties().multiprocessors / Ranks(count).slots);
  for (const std::int64_t n : {17003, 131072, 1 << 20, 3'000'001})
    for (const unsigned block : {64u, 512u}) expect_shares(count, all, block, {n, 30, 0});
}

}  // namespace
}  // namespace dcgn::test
