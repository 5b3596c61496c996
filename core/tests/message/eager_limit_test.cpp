// Ranks that all send before they receive: up to the eager limit that is told, they do not wait for each other.
#include <dcgn/gpu/comm.hpp>
#include <dcgn/gpu/launch.hpp>
#include <dcgn/job.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dcgn::test {
namespace {

// Each slot sends as much as is eager to the next rank, then receives; says how many bytes were wrong.
struct SendFirst {
  DCGN_HOST_DEVICE void operator()(gpu::Context& context, gpu::Comm comm, unsigned char* memory, std::size_t room,
                                   std::int64_t* results) const {
    const gpu::Slot me = comm.slot(context.block_rank());
    const auto block = gpu::this_block(context);
    unsigned char* const out = memory + context.block_rank() * 2 * room;
    unsigned char* const in = out + room;
    const int next = (me.rank() + 1) % me.size(), before = (me.rank() + me.size() - 1) % me.size();
    const std::int64_t bytes = me.eager_limit(block, next);
    for (std::int64_t i = block.rank(); i < bytes; i += block.size())
      out[i] = static_cast<unsigned char>(me.rank() + i);
    std::int64_t* const result = results + context.block_rank() * 2;
    if (me.send_bytes(block, out, bytes, next) != Code::ok) return;
    const Status s = me.recv_bytes(block, in, static_cast<std::int64_t>(room), before);
    if (!block.leader()) return;
    result[0] = s.bytes;
    for (std::int64_t i = 0; i < s.bytes; ++i) result[1] += in[i] != static_cast<unsigned char>(before + i);
  }
};

TEST(EagerLimit, RanksThatAllSendFirstDoNotWaitForEachOther) {
  constexpr std::size_t room = 128 << 10;
  const int gpus = Device::count() > 1 ? 2 : 1;
  Job job({.nodes = {{.cpus = 2, .gpus = gpus, .slots = 2}}});
  std::vector<DeviceBuffer<unsigned char>> memory;
  std::vector<DeviceBuffer<std::int64_t>> results;
  job.cpu([](Comm& comm) {
    const int next = (comm.rank() + 1) % comm.size(), before = (comm.rank() + comm.size() - 1) % comm.size();
    std::vector<unsigned char> out(static_cast<std::size_t>(comm.eager_limit(next))), in(room);
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = static_cast<unsigned char>(static_cast<std::size_t>(comm.rank()) + i);
    comm.send(out, next);
    const Status s = comm.recv(in, before);
    EXPECT_GT(s.bytes, 0);
    for (std::size_t i = 0; i < static_cast<std::size_t>(s.bytes); ++i)
      ASSERT_EQ(in[i], static_cast<unsigned char>(static_cast<std::size_t>(before) + i));
    EXPECT_THROW(static_cast<void>(comm.eager_limit(comm.size())), Error);
  });
  for (int g = 0; g < gpus; ++g) {
    const Device device = job.world().device(g);
    memory.emplace_back(device, 4 * room);
    results.emplace_back(device, 4);
    device.fill(results.back().data(), 0, results.back().size_bytes());
    job.gpu_on(g, {.grid = one_block_per_slot, .block = 64}, SendFirst{}, memory.back().data(), room,
               results.back().data());
  }
  job.run();
  for (const auto& r : results) {
    std::int64_t found[4];
    r.download(found);
    for (const int slot : {0, 1}) {
      EXPECT_GT(found[2 * slot], 0);
      EXPECT_EQ(found[2 * slot + 1], 0);
    }
  }
}

}  // namespace
}  // namespace dcgn::test
