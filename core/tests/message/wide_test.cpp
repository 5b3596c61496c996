// Payloads with wide groups that have no more packets than the block has threads.
#include <dcgn/gpu/comm.hpp>
#include <dcgn/gpu/launch.hpp>
#include <dcgn/job.hpp>

#include <gtest/gtest.h>

#include <cstdint>

namespace dcgn::test {
namespace {

constexpr int payload_words = 1250;  // 417 packets, of which 384 lie in wide groups
constexpr unsigned wide_block = 512;

// Slot 0 sends, slot 1 receives: from a named source, then from any.
struct WidePayload {
  static constexpr unsigned max_threads = wide_block;
  DCGN_HOST_DEVICE void operator()(gpu::Context& context, gpu::Comm comm, std::uint32_t* memory,
                                   std::uint32_t* wrong) const {
    const gpu::Slot me = comm.slot(context.block_rank());
    const auto block = gpu::this_block(context);
    std::uint32_t* const mine = memory + payload_words * context.block_rank();
    for (std::uint32_t round = 0; round < 2; ++round) {
      for (unsigned i = block.rank(); i < payload_words; i += wide_block) mine[i] = me.rank() == 0 ? i * 7 + round : 0;
      if (me.rank() == 0)
        me.send_bytes(block, mine, payload_words * 4, 1);
      else
        me.recv_bytes(block, mine, payload_words * 4, round == 0 ? 0 : any_source);
      for (unsigned i = block.rank(); me.rank() == 1 && i < payload_words; i += wide_block)
        if (mine[i] != i * 7 + round) fetch_add(*wrong, 1u);
      block.sync();
    }
  }
};

TEST(WideGroups, ComeFromAnySourceToo) {
  Config config;
  config.nodes = {{.cpus = 0, .gpus = 1, .slots = 2}};
  config.eager_bytes = 8192;
  config.lane_bytes = 64 << 10;
  Job job(config);
  const Device device = job.world().device(0);
  DeviceBuffer<std::uint32_t> memory(device, 2 * payload_words), wrong(device, 1);
  const std::uint32_t none = 0;
  wrong.upload(&none);
  job.gpu({.grid = 2, .block = wide_block}, WidePayload{}, memory.data(), wrong.data());
  job.run();
  std::uint32_t found = 1;
  wrong.download(&found);
  EXPECT_EQ(found, 0u);
}

}  // namespace
}  // namespace dcgn::test
