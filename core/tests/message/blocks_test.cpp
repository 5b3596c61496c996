// Calls that several blocks make together: calls of every kind one after the other, blocks that do not come, and jobs
// that are stopped meanwhile.
#include "script_kernels.hpp"
#include "tests/expect.hpp"

#include <dcgn/gpu/launch.hpp>

#include <cstdint>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace dcgn::test {
namespace {

// How many blocks each of two slots has, and the threads of each.
struct Shape {
  unsigned blocks[2];
  unsigned threads;

  DCGN_HOST_DEVICE unsigned slot_of(unsigned block) const { return block < blocks[0] ? 0 : 1; }
  DCGN_HOST_DEVICE unsigned first(unsigned slot) const { return slot ? blocks[0] : 0; }
  unsigned all() const { return blocks[0] + blocks[1]; }
};

// ---- lead()

// Each thread writes a number; the leader alone adds them up, and all have the sum.
struct AddUp {
  template <class Scope>
  DCGN_HOST_DEVICE void operator()(const Scope& scope, unsigned* numbers, std::uint32_t* wrong) const {
    for (unsigned round = 1; round <= 5; ++round) {
      numbers[scope.rank()] = round * (scope.rank() + 1);
      const unsigned sum = scope.lead([&] {
        unsigned total = 0;
        for (unsigned i = 0; i < scope.size(); ++i) total += numbers[i];
        numbers[0] = 7;  // seen by all
        return total;
      });
      if (sum != round * scope.size() * (scope.size() + 1) / 2 || numbers[0] != 7) fetch_add(*wrong, 1u);
      scope.sync();
    }
  }
};

struct AddUpInEveryScope {
  DCGN_HOST_DEVICE void operator()(gpu::Context& ctx, gpu::Comm comm, unsigned* numbers, std::uint32_t* wrong) const {
    const unsigned block = ctx.block_rank() * ctx.num_threads();
    AddUp{}(gpu::this_thread(), numbers + block + ctx.thread_rank(), wrong);
    ctx.sync_block();
    AddUp{}(gpu::this_warp(ctx), numbers + block + ctx.warp() * gpu::warp_size, wrong);
    ctx.sync_block();
    AddUp{}(gpu::this_block(ctx), numbers + block, wrong);
    ctx.sync_block();
    const gpu::Slot slot = comm.slot(0);
    AddUp{}(gpu::this_grid(ctx, slot), numbers, wrong);
  }
};

TEST(Blocks, TheLeadersPartComesAfterAllHaveComeAndBeforeAnyGoesOn) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Config config;
    config.nodes = {{.gpus = 1, .slots = 1}};
    config.deadline_s = 20 * fewer;
    if (emulated()) config.seed = seed;
    Job job(config);
    constexpr unsigned threads = 40;
    DeviceBuffer<unsigned> numbers(job.world().device(0), 3 * threads);
    DeviceBuffer<std::uint32_t> wrong(job.world().device(0), 1);
    std::uint32_t count = 0;
    wrong.upload(&count);
    job.gpu({.grid = 3, .block = threads}, AddUpInEveryScope{}, numbers.data(), wrong.data());
    job.run();
    wrong.download(&count);
    EXPECT_EQ(count, 0u);
  }
}

// ---- agree()

// One after the other with nothing between; in every third a thread refuses, another one each time.
struct AgreeAgain {
  template <class Scope>
  DCGN_HOST_DEVICE void operator()(const Scope& scope, std::uint32_t* wrong) const {
    for (unsigned round = 0; round < 24; ++round) {
      const bool refused = round % 3 == 1, mine = refused && round * 13 % scope.size() == scope.rank();
      if (scope.agree(!mine) == refused) fetch_add(*wrong, 1u);
    }
    // What the compiler knows is no reason for a barrier less, nor for one more.
    for (unsigned round = 0; round < 3; ++round)
      if (!scope.agree(true)) fetch_add(*wrong, 1u);
  }
};

struct AgreeInEveryScope {
  DCGN_HOST_DEVICE void operator()(gpu::Context& ctx, gpu::Comm comm, std::uint32_t* wrong) const {
    AgreeAgain{}(gpu::this_thread(), wrong);
    AgreeAgain{}(gpu::this_warp(ctx), wrong);
    ctx.sync_block();
    AgreeAgain{}(gpu::this_block(ctx), wrong);
    ctx.sync_block();
    const gpu::Slot slot = comm.slot(0);
    AgreeAgain{}(gpu::this_grid(ctx, slot), wrong);
  }
};

// A thread that leaves an agreement late must not hear who refuses the next one.
TEST(Blocks, AgreementsMayFollowEachOtherAtOnce) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Config config;
    config.nodes = {{.gpus = 1, .slots = 1}};
    config.deadline_s = 5 * fewer;
    if (emulated()) config.seed = seed;
    Job job(config);
    DeviceBuffer<std::uint32_t> wrong(job.world().device(0), 1);
    std::uint32_t count = 0;
    wrong.upload(&count);
    job.gpu({.grid = 3, .block = 40}, AgreeInEveryScope{}, wrong.data());
    job.run();
    wrong.download(&count);
    ASSERT_EQ(count, 0u);
  }
}

// ---- calls of every kind

struct Ends {
  static constexpr std::int64_t room = 6000;
  unsigned char* out[2];
  unsigned char* in[2];
};

// Two slots of one GPU. No barrier between the calls, and a new scope for each: all that orders them is the calls.
struct EveryKindInTurn {
  DCGN_HOST_DEVICE void operator()(gpu::Context& ctx, gpu::Comm comm, Shape shape, Ends ends, int rounds,
                                   std::uint32_t* wrong) const {
    const unsigned index = shape.slot_of(ctx.block_rank());
    const gpu::Slot me = comm.slot(index);
    const auto ours = [&] { return gpu::these_blocks(ctx, me, shape.first(index), shape.blocks[index]); };
    const unsigned rank = ours().rank(), size = ours().size();
    const int other = 1 - static_cast<int>(index);
    unsigned char* const out = ends.out[index];
    unsigned char* const in = ends.in[index];
    constexpr std::int64_t lengths[] = {8, 100, 4000, 0, 900, 5999};
    for (int i = 0; i < rounds; ++i) {
      const std::int64_t bytes = lengths[i % 6];
      bool receives = true;
      for (std::int64_t k = rank; k < bytes; k += size) out[k] = pattern(i * 2 + static_cast<int>(index), k);
      Request requests[2];
      bool good = true;
      switch (i % 5) {
        case 0:
        case 1:
          receives = static_cast<unsigned>(i % 5) != index;
          if (receives)
            good = static_cast<bool>(me.recv_bytes(ours(), in, bytes, i % 10 < 5 ? other : any_source));
          else
            good = me.send_bytes(ours(), out, bytes, other) == Code::ok;
          break;
        case 2:
          good = static_cast<bool>(me.sendrecv(ours(), Span<unsigned char>(out, static_cast<std::size_t>(bytes)), other,
                                               3, Span<unsigned char>(in, static_cast<std::size_t>(bytes)), other, 3));
          break;
        case 3:
          requests[0] = me.irecv_bytes(ours(), in, bytes, other, 1);
          requests[1] = me.isend_bytes(ours(), out, bytes, other, 1);
          good = me.wait_all(ours(), Span<const Request>(requests, 2)) == Code::ok;
          break;
        case 4:
          requests[0] = me.isend_bytes(ours(), out, bytes, other, 2);
          good = me.recv_bytes(ours(), in, bytes, other, 2).bytes == bytes;
          good = static_cast<bool>(me.wait(ours(), requests[0])) && good;
          break;
      }
      for (std::int64_t k = 0; receives && k < bytes; ++k)
        good = good && in[k] == pattern(i * 2 + other, k);  // every thread sees all of it
      if (!good) fetch_add(*wrong, 1u);
    }
  }
};

TEST(Blocks, CallsOfEveryKindFollowOneAnotherWithNoBarrierBetween) {
  constexpr Shape shapes[] = {{{1, 3}, 5}, {{3, 2}, 33}, {{2, 5}, 4}};
  constexpr int rounds = 30;
  for (std::uint64_t seed = 0; seed < 24 / fewer; ++seed) {
    const Shape shape = shapes[seed % 3];
    SCOPED_TRACE("seed " + std::to_string(seed));
    Config config;
    config.nodes = {{.gpus = 1, .slots = 2}};
    config.deadline_s = 20 * fewer;
    config.eager_bytes = 500;
    config.direct = seed % 2 == 0;
    if (emulated() && seed % 4 < 3) config.seed = seed;
    Job job(config);
    const Device device = job.world().device(0);
    DeviceBuffer<unsigned char> memory(device, 4 * Ends::room);
    DeviceBuffer<std::uint32_t> wrong(device, 1);
    std::uint32_t count = 0;
    wrong.upload(&count);
    const auto part = [&](int i) { return memory.data() + i * Ends::room; };
    const Ends ends{{part(0), part(1)}, {part(2), part(3)}};
    // Two kernels with different numbers of blocks: the slots go on.
    const Shape turned{{shape.blocks[1], shape.blocks[0]}, shape.threads};
    for (const Shape& s : {shape, turned})
      job.gpu({.grid = s.all(), .block = s.threads}, EveryKindInTurn{}, s, ends, rounds, wrong.data());
    const Report report = job.run();
    wrong.download(&count);
    EXPECT_EQ(count, 0u);
    // 6 rounds of each kind, in two kernels: of the first two kinds one message, of the others one each way.
    for (const RankReport& r : report.ranks) {
      EXPECT_EQ(r.sent_messages, 2u * 4 * rounds / 5);
      EXPECT_EQ(r.received_messages, 2u * 4 * rounds / 5);
    }
  }
}

// ---- being stopped

// Eager: a sender whose memory is being read waits for the reader before it ends.
constexpr std::int64_t stopped_bytes = 400;

// One block of the slot may stay away. Every thread notes what its call returned.
struct ReceiveTogether {
  DCGN_HOST_DEVICE void operator()(gpu::Context& ctx, gpu::Comm comm, unsigned absent, unsigned char* buffer,
                                   Code* codes) const {
    if (ctx.block_rank() == absent) return;
    const gpu::Slot me = comm.slot(0);
    const gpu::BlocksScope grid = gpu::this_grid(ctx, me);
    codes[2 * grid.rank()] = me.recv_bytes(grid, buffer, stopped_bytes, 0).code;
    codes[2 * grid.rank() + 1] = me.send_bytes(grid, buffer, stopped_bytes, 0);
  }
};

struct Ending {
  std::vector<Code> codes;
  Code job = Code::ok;
  std::string what;
};

Ending receive_together(std::optional<std::uint64_t> seed, unsigned absent, double deadline_s, bool sends) {
  constexpr unsigned blocks = 3, threads = 8;
  Config config;
  config.nodes = {{.cpus = 1, .gpus = 1, .slots = 1}};
  config.deadline_s = deadline_s;
  config.eager_bytes = 500;
  config.seed = seed;
  Job job(config);
  DeviceBuffer<unsigned char> buffer(job.world().device(0), stopped_bytes);
  DeviceBuffer<Code> codes(job.world().device(0), 2 * blocks * threads);
  Ending ending;
  ending.codes.assign(2 * blocks * threads, Code::io);
  codes.upload(ending.codes.data());
  job.cpu([&](Comm& comm) {
    std::vector<unsigned char> data(stopped_bytes);
    if (sends) {
      comm.send(data, 1);
      comm.recv(data, 1);
    } else {
      for (int i = 0; i < 200; ++i) relax();
      throw std::runtime_error("enough");
    }
  });
  job.gpu({.grid = blocks, .block = threads}, ReceiveTogether{}, absent, buffer.data(), codes.data());
  try {
    job.run();
  } catch (const Error& e) {
    ending.job = e.code();
    ending.what = e.what();
  } catch (const std::exception& e) {
    ending.what = e.what();
  }
  codes.download(ending.codes.data());
  return ending;
}

std::optional<std::uint64_t> scheduled(std::uint64_t seed) {
  return emulated() ? std::optional<std::uint64_t>(seed) : std::nullopt;
}

TEST(Blocks, AllThreadsOfAllBlocksAreToldThatTheJobIsStopped) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Ending e = receive_together(scheduled(seed), 3, 20 * fewer, false);
    EXPECT_NE(e.what.find("enough"), std::string::npos) << e.what;
    for (const Code code : e.codes) EXPECT_TRUE(code == Code::aborted || code == Code::rank_ended) << to_string(code);
  }
}

TEST(Blocks, ABlockThatStaysAwayEndsTheCallWithTheDeadline) {
  for (const unsigned absent : {1u, 2u}) {  // block 0 has the leader
    SCOPED_TRACE("block " + std::to_string(absent));
    const Ending e = receive_together(scheduled(absent), absent, 0.5 * fewer, true);
    EXPECT_EQ(to_string(e.job), to_string(Code::deadline)) << e.what;
    EXPECT_TRUE(contains(e.what, "rank 1 (slot 0 of GPU 0, node 0): 2 of 3 blocks of its scope have come"));
    for (unsigned i = 0; i < e.codes.size(); ++i) {
      const bool here = i / 16 != absent;
      EXPECT_EQ(to_string(e.codes[i]), to_string(here ? Code::aborted : Code::io)) << i;
    }
  }
}

// The leader's, which counts the others: nobody else waits, so it is for one of those that have come to say so.
TEST(Blocks, TheFirstBlockMayBeTheOneThatStaysAway) {
  for (std::uint64_t seed = 0; seed < 2; ++seed) {
    Config config;
    config.nodes = {{.gpus = 1, .slots = 1}};
    config.deadline_s = 0.5 * fewer;
    if (seed) config.seed = scheduled(seed);
    Job job(config);
    constexpr unsigned threads = 8;
    DeviceBuffer<unsigned char> buffer(job.world().device(0), stopped_bytes);
    DeviceBuffer<Code> codes(job.world().device(0), 2 * 3 * threads);
    job.gpu({.grid = 3, .block = threads}, ReceiveTogether{}, 0u, buffer.data(), codes.data());
    const Error e = error_of([&] { job.run(); });
    EXPECT_EQ(to_string(e.code()), to_string(Code::deadline)) << e.what();
    EXPECT_TRUE(contains(e.what(), "rank 0 (slot 0 of GPU 0, node 0): not all 3 blocks of its scope have come"));
  }
}

// ---- blocks that the grid does not have

struct WithTooMany {
  DCGN_HOST_DEVICE void operator()(gpu::Context& ctx, gpu::Comm comm, unsigned first, unsigned count,
                                   unsigned char* buffer, Code* codes) const {
    if (ctx.block_rank() < first) return;
    const gpu::Slot me = comm.slot(0);
    const auto blocks = [&] { return gpu::these_blocks(ctx, me, first, count); };
    bool found = false;
    const Code got[8] = {me.recv_bytes(blocks(), buffer, 8, 0).code,
                         me.send_bytes(blocks(), buffer, 8, 0),
                         me.send_bytes(blocks(), buffer, 1 << 20, 0),
                         me.isend_bytes(blocks(), buffer, 8, 0).code(),
                         me.irecv_bytes(blocks(), buffer, 8, 0).code(),
                         me.iprobe(blocks(), 0, 0, found).code,
                         me.barrier(blocks()),
                         me.broadcast(blocks(), Span<unsigned char>(buffer, 1 << 20), 0)};
    for (const Code code : got)
      if (code != Code::invalid_size) *codes = code;
    // The slot is as it was.
    if (ctx.block_rank() != first || ctx.thread_rank() != 0) return;
    const Request r = me.irecv_bytes(gpu::this_thread(), buffer, 8, me.rank(), 3);
    codes[1] = me.send_bytes(gpu::this_thread(), buffer + 8, 8, me.rank(), 3);
    codes[2] = me.wait(gpu::this_thread(), r).code;
  }
};

TEST(Blocks, MoreThanTheGridHasAreRefusedAtOnce) {
  struct Bad {
    unsigned first, count, expected;
  };
  for (const auto& [first, count, expected] : {Bad{0, 5, 2}, Bad{1, 2, 1}, Bad{0, 0, 2}})
    for (const bool fatal : {false, true}) {
      Config config;
      config.nodes = {{.gpus = 1, .slots = 1}};
      config.deadline_s = 60;
      config.errors_fatal = fatal;
      Job job(config);
      DeviceBuffer<unsigned char> buffer(job.world().device(0), 1 << 20);
      DeviceBuffer<Code> codes(job.world().device(0), 3);
      std::vector<Code> got(3, Code::ok);
      codes.upload(got.data());
      job.gpu({.grid = 2, .block = 8}, WithTooMany{}, first, count, buffer.data(), codes.data());
      const std::string text = "recv: a scope of " + std::to_string(count) + " blocks, expected 1 to the " +
                               std::to_string(expected) + " that the grid has there";
      if (fatal) {
        const Error e = error_of([&] { job.run(); });
        EXPECT_EQ(to_string(e.code()), to_string(Code::invalid_size));
        EXPECT_TRUE(contains(e.what(), text));
      } else {
        EXPECT_EQ(job.run().ranks.at(0).failure, text);
        codes.download(got.data());
        for (const Code code : got) EXPECT_EQ(to_string(code), to_string(Code::ok));
      }
    }
}

}  // namespace
}  // namespace dcgn::test
