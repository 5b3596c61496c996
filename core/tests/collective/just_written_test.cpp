// Calls of several blocks see what each of them wrote just before, though multiprocessors keep what they have read.
#include "sanitized.hpp"

#include <dcgn/dcgn.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace dcgn::test {
namespace {

// Each multiprocessor has read all elements before other blocks write theirs: calls must not take those that it kept.
struct ReadsBeforeOthersWrite {
  int n;
  static constexpr int rounds = 20;

  DCGN_HOST_DEVICE static int element(int round, int rank, int i) { return round * 64 + rank * 8 + i % 7; }
  DCGN_HOST_DEVICE void operator()(gpu::Context& ctx, gpu::Comm comm, int* memory, std::uint32_t* errors) const {
    const gpu::Slot me = comm.slot(ctx);
    const gpu::BlocksScope all = comm.blocks(ctx);
    const int ranks = me.size(), rank = me.rank();
    const auto whole = static_cast<std::size_t>(n), every = whole * static_cast<std::size_t>(ranks);
    int* const in = memory + me.slot() * n * (ranks + 2);
    int* const out = in + n;
    int* const gathered = out + n;
    const auto first = static_cast<int>(ctx.thread_rank()), step = static_cast<int>(ctx.num_threads());
    std::uint32_t bad = 0;
    for (int round = 0; round < rounds; ++round) {
#if defined(__CUDA_ARCH__)
      int sum = 0;
      for (int i = first; i < n * (ranks + 2); i += step) sum += in[i];
      bad += sum == -1;  // so they are read
#endif
      for (auto i = static_cast<int>(all.rank()); i < n; i += static_cast<int>(all.size()))
        in[i] = element(round, rank, i);
      bad += me.all_reduce(all, Span<const int>(in, whole), Span<int>(out, whole), Sum{}) != Code::ok;
      for (int i = first; i < n; i += step) {
        int expected = 0;
        for (int r = 0; r < ranks; ++r) expected += element(round, r, i);
        bad += out[i] != expected;
      }
      bad += me.all_gather(all, Span<const int>(in, whole), Span<int>(gathered, every)) != Code::ok;
      for (int i = first; i < n * ranks; i += step) bad += gathered[i] != element(round, i / n, i % n);
      bad += me.broadcast(all, Span<int>(out, whole), round % ranks) != Code::ok;
    }
    if (bad) fetch_add(errors[me.slot()], bad);
  }
};

TEST(SeveralBlocks, SeeWhatOthersHaveJustWritten) {
  if (!Device::count()) GTEST_SKIP() << "needs a GPU";
  const bool emulated = Device(0).kind() == DeviceKind::emulated;
  for (const int n : {300, 5000, 200'000}) {
    if (emulated && n > 5000) break;
    // A GPU for each rank, or slots of one.
    const int count = std::clamp(Device::count(), 2, 4), gpus = Device::count() < count ? 1 : count;
    const auto slots = static_cast<unsigned>(count / gpus);
    Config config{.nodes = {{.gpus = gpus, .slots = count / gpus}}};
    config.deadline_s = 20 * fewer;
    Job job(config);
    std::vector<DeviceBuffer<int>> memory;
    std::vector<DeviceBuffer<std::uint32_t>> errors;
    for (int g = 0; g < gpus; ++g) {
      const Device device = job.world().device(g);
      const std::size_t ints = std::size_t{slots} * static_cast<std::size_t>(n * (count + 2));
      memory.emplace_back(device, std::vector<int>(ints));
      errors.emplace_back(device, std::vector<std::uint32_t>(slots));
      job.gpu_on(g, {.grid = (emulated ? 3 : 16) * slots, .block = emulated ? 64u : 256u, .resident = true},
                 ReadsBeforeOthersWrite{n}, memory.back().data(), errors.back().data());
    }
    ASSERT_NO_THROW(job.run()) << n;
    for (const auto& its : errors) {
      std::vector<std::uint32_t> found(slots);
      its.download(found.data());
      for (const std::uint32_t bad : found) EXPECT_EQ(bad, 0u) << n;
    }
  }
}

}  // namespace
}  // namespace dcgn::test
