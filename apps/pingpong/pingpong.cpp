#include "apps/pingpong/pingpong.hpp"

#include "apps/pingpong/pingpong_kernel.hpp"

#include <dcgn/job.hpp>

#include <vector>

namespace dcgn::pingpong {

namespace {

NodeShape shape_of(Between between) {
  switch (between) {
    case Between::cpu_cpu: return {.cpus = 2};
    case Between::cpu_slot: return {.cpus = 1, .gpus = 1, .slots = 1};
    case Between::slot_slot: return {.gpus = 1, .slots = 2};
  }
  return {};
}

// Rank 0 begins with 0, 1, 2, ...; the first number then counts the hops.
std::int64_t count_wrong(const std::vector<int>& data, int hops) {
  std::int64_t wrong = 0;
  for (std::size_t i = 0; i < data.size(); ++i) wrong += data[i] != (i == 0 ? hops : static_cast<int>(i));
  return wrong;
}

}  // namespace

Result run(Between between, std::int64_t bytes, int rounds, int threads) {
  const auto count = static_cast<std::size_t>(bytes) / sizeof(int);
  std::vector<std::vector<int>> data(2, std::vector<int>(count));
  for (std::size_t i = 0; i < count; ++i) data[0][i] = static_cast<int>(i);

  Config config;
  config.nodes = {shape_of(between)};
  Job job(config);
  const int cpus = config.nodes[0].cpus;
  std::uint64_t cpu_elapsed = 0;
  for (int r = 0; r < cpus; ++r)
    job.cpu_rank(r, cpu_kernel, as_span(data[static_cast<std::size_t>(r)]), rounds, &cpu_elapsed);

  std::vector<DeviceBuffer<int>> slots;  // none, or one that both have a half of
  std::vector<DeviceBuffer<std::uint64_t>> elapsed;
  if (cpus < 2) {
    const Device device = job.world().device(0);
    slots.emplace_back(device, count * static_cast<std::size_t>(2 - cpus));
    elapsed.emplace_back(device, 1);
    for (int r = cpus; r < 2; ++r)
      device.copy(slots[0].data() + count * static_cast<std::size_t>(r - cpus),
                  data[static_cast<std::size_t>(r)].data(), count * sizeof(int));
    job.gpu({.grid = one_block_per_slot, .block = static_cast<unsigned>(threads)}, SlotKernel{}, slots[0].data(), count,
            rounds, elapsed[0].data());
  }
  job.run();

  std::uint64_t elapsed_ns = cpu_elapsed;
  if (cpus < 2) {
    const Device device = job.world().device(0);
    for (int r = cpus; r < 2; ++r)
      device.copy(data[static_cast<std::size_t>(r)].data(),
                  slots[0].data() + count * static_cast<std::size_t>(r - cpus), count * sizeof(int));
    if (cpus == 0) elapsed[0].download(&elapsed_ns);
  }
  // Rank 1 does not see the last hop.
  return {static_cast<double>(elapsed_ns) / 2e3 / rounds,
          count_wrong(data[0], 2 * rounds) + count_wrong(data[1], 2 * rounds - 1)};
}

}  // namespace dcgn::pingpong
