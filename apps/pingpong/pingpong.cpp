#include "apps/pingpong/pingpong.hpp"

#include "apps/meeting/meeting.hpp"
#include "apps/pingpong/pingpong_kernel.hpp"

#include <dcgn/gpu/launch.hpp>
#include <dcgn/job.hpp>

#include <cstddef>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

namespace dcgn::pingpong {

namespace {

// In one process a node, in two a node for each.
std::vector<NodeShape> nodes_of(Between between, int processes) {
  const bool one = processes == 1;
  const NodeShape cpu{.cpus = 1}, slot{.gpus = 1, .slots = 1};
  switch (between) {
    case Between::cpu_cpu: return one ? std::vector{NodeShape{.cpus = 2}} : std::vector{cpu, cpu};
    case Between::cpu_slot:
      return one ? std::vector{NodeShape{.cpus = 1, .gpus = 1, .slots = 1}} : std::vector{cpu, slot};
    case Between::slot_slot: return one ? std::vector{NodeShape{.gpus = 1, .slots = 2}} : std::vector{slot, slot};
  }
  return {};
}

// Rank 0 begins with 0, 1, 2, ...; the first number then counts the hops, the last of which rank 1 does not see.
std::int64_t count_wrong(int rank, const std::vector<int>& data, int rounds) {
  const int hops = 2 * rounds - rank;
  std::int64_t wrong = 0;
  for (std::size_t i = 0; i < data.size(); ++i) wrong += data[i] != (i == 0 ? hops : static_cast<int>(i));
  return wrong;
}

// Of the slots that are here.
struct GpuMemory {
  DeviceBuffer<int> data;
  DeviceBuffer<std::uint64_t> elapsed_ns;
};

}  // namespace

Result run(Between between, std::int64_t bytes, int rounds, int threads, int processes) {
  const auto count = static_cast<std::size_t>(bytes) / sizeof(int);
  std::vector<int> data[2] = {std::vector<int>(count), std::vector<int>(count)};
  std::iota(data[0].begin(), data[0].end(), 0);

  Config config;
  config.nodes = nodes_of(between, processes);
  Job job(config);
  std::vector<int> here, slots;
  std::uint64_t elapsed_ns = 0;
  for (int r = 0; r < 2; ++r) {
    if (!job.world().is_here(r)) continue;
    here.push_back(r);
    if (job.placement().place(r).is_slot())
      slots.push_back(r);
    else
      job.cpu_rank(r, cpu_kernel, as_span(data[r]), rounds, &elapsed_ns);
  }
  std::optional<GpuMemory> gpu;
  if (!slots.empty()) {
    const Device device = job.world().device(0);
    gpu.emplace(GpuMemory{{device, count * slots.size()}, {device, 1}});
    for (std::size_t i = 0; i < slots.size(); ++i)
      device.copy(gpu->data.data() + count * i, data[slots[i]].data(), count * sizeof(int));
    job.gpu({.grid = one_block_per_slot, .block = static_cast<unsigned>(threads)}, SlotKernel{}, gpu->data.data(),
            count, rounds, gpu->elapsed_ns.data());
  }
  job.run();

  for (std::size_t i = 0; i < slots.size(); ++i)
    job.world().device(0).copy(data[slots[i]].data(), gpu->data.data() + count * i, count * sizeof(int));
  if (!slots.empty() && slots[0] == 0) gpu->elapsed_ns.download(&elapsed_ns);
  std::int64_t wrong = 0;
  for (const int r : here) wrong += count_wrong(r, data[r], rounds);
  const std::vector<std::int64_t> all = apps::Meeting(std::move(job)).gather(std::vector{wrong});
  return {static_cast<double>(elapsed_ns) / 2e3 / rounds, std::accumulate(all.begin(), all.end(), std::int64_t{0})};
}

}  // namespace dcgn::pingpong
