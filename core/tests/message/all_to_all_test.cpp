// As many slots as a GPU has multiprocessors, on all GPUs: each sends to every other, within a budget of memory.
#include "script_kernels.hpp"

#include <dcgn/gpu/launch.hpp>

#include <cstdint>

namespace dcgn::test::all_to_all {
namespace {

constexpr unsigned threads = 32;
constexpr std::uint64_t most_bytes = 8u << 20;  // of each slot

DCGN_HOST_DEVICE inline std::uint64_t word(int from, int to, int i) {
  return static_cast<std::uint64_t>(from) << 40 ^ static_cast<std::uint64_t>(to) << 20 ^ static_cast<std::uint64_t>(i);
}

// Every slot exchanges a word and then many with every other one, the partners in turn.
struct ExchangeWithAll {
  static constexpr int words = 40;

  DCGN_HOST_DEVICE void operator()(gpu::Context& ctx, gpu::Comm comm, std::uint64_t* memory,
                                   std::uint32_t* wrong) const {
    const gpu::Slot me = comm.slot(ctx.block_rank());
    const auto block = gpu::this_block(ctx);
    std::uint64_t* const out = memory + ctx.block_rank() * std::uint64_t{2 * words};
    std::uint64_t* const in = out + words;
    for (const int count : {1, words})
      for (int step = 1; step < me.size(); ++step) {
        const int to = (me.rank() + step) % me.size(), from = (me.rank() + me.size() - step) % me.size();
        for (unsigned i = block.rank(); i < words; i += block.size()) out[i] = word(me.rank(), to, static_cast<int>(i));
        block.sync();
        const Status s = me.sendrecv(block, Span<std::uint64_t>(out, static_cast<std::size_t>(count)), to, count,
                                     Span<std::uint64_t>(in, static_cast<std::size_t>(count)), from, count);
        if (s.code != Code::ok || s.source != from) fetch_add(*wrong, 1u);
        for (int i = static_cast<int>(block.rank()); i < count; i += static_cast<int>(block.size()))
          if (in[i] != word(from, me.rank(), i)) fetch_add(*wrong, 1u);
        block.sync();
      }
  }
};

TEST(AllToAll, EverySlotOfEveryGpuReachesEveryOther) {
  Config config;
  const int gpus = Device::count(), slots = emulated() ? 48 / (gpus * fewer) + 1 : 132;
  config.nodes = {{.gpus = gpus, .slots = slots}};
  config.deadline_s = 30 * fewer;
  Job job(config);
  std::vector<DeviceBuffer<std::uint64_t>> memory;
  std::vector<DeviceBuffer<std::uint32_t>> wrong;
  for (int g = 0; g < gpus; ++g) {
    memory.emplace_back(job.world().device(g), static_cast<std::size_t>(slots) * 2 * ExchangeWithAll::words);
    wrong.emplace_back(job.world().device(g), 1);
    const std::uint32_t none = 0;
    wrong.back().upload(&none);
    if (!emulated()) {
      EXPECT_LE(job.world().device_bytes(g), most_bytes * static_cast<std::uint64_t>(slots));
    }
    job.gpu_on(g, {.grid = static_cast<unsigned>(slots), .block = threads}, ExchangeWithAll{}, memory.back().data(),
               wrong.back().data());
  }
  const Report report = job.run();
  for (const auto& w : wrong) {
    std::uint32_t found = 1;
    w.download(&found);
    EXPECT_EQ(found, 0u);
  }
  for (const RankReport& r : report.ranks) EXPECT_EQ(r.received_messages, 2u * static_cast<unsigned>(gpus * slots - 1));
}

// What a job of 8 GPUs with 132 slots each takes, whose memory the host takes only as it is used.
TEST(AllToAll, ThousandSlotsTakeNoMoreThanTheirBudget) {
  if (!emulated() || sanitized) GTEST_SKIP() << "of emulated GPUs, whose memory is the host's";
  Config config;
  config.nodes = {{.gpus = 1, .slots = 1056}};
  const World world(config);
  EXPECT_LE(world.host_bytes(), most_bytes * 1056);
  EXPECT_GE(world.host_bytes(), most_bytes * 1056 / 4);
  EXPECT_LT(world.device_bytes(0), 64u);
}

}  // namespace
}  // namespace dcgn::test::all_to_all
