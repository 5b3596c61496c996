#include "apps/cannon/cannon.hpp"

#include "apps/cannon/rank_kernel.hpp"
#include "apps/meeting/meeting.hpp"

#include <dcgn/gpu/launch.hpp>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <utility>

namespace dcgn::cannon {

namespace {

// The tiles of a CPU rank.
struct HostMemory {
  std::vector<float> tiles[5];
  std::vector<std::uint64_t> took_ns;

  explicit HostMemory(const Task& task) : took_ns(static_cast<std::size_t>(task.repeats)) {
    for (std::vector<float>& tile : tiles) tile.resize(task.elements());
  }
  Memory view() {
    return {tiles[0].data(), tiles[1].data(), tiles[2].data(), tiles[3].data(), tiles[4].data(), took_ns.data()};
  }
};

// lines: begin
// Of the slots of a GPU.
struct GpuMemory {
  Device device;
  std::vector<DeviceBuffer<float>> tiles;
  DeviceBuffer<std::uint64_t> took_ns;

  GpuMemory(const Device& on, const Task& task, int slots)
      : device(on), took_ns(on, static_cast<std::size_t>(task.repeats)) {
    for (int k = 0; k < 5; ++k) tiles.emplace_back(on, task.elements() * static_cast<std::size_t>(slots));
  }
  Memory view() const {
    return {tiles[0].data(), tiles[1].data(), tiles[2].data(), tiles[3].data(), tiles[4].data(), took_ns.data()};
  }
};

// lines: end

// What the ranks of this process leave: their tiles of C, one behind the other, and the times of rank 0.
struct Left {
  std::vector<float> tiles;
  std::vector<std::uint64_t> took_ns;
};

Left left_by(const std::vector<RankReport>& ranks, const Task& task, int gpus_of_node,
             const std::deque<HostMemory>& hosts, const std::vector<GpuMemory>& gpus) {
  Left left;
  auto host = hosts.begin();
  for (const RankReport& r : ranks) {
    if (r.rank >= task.across * task.across) break;
    if (r.rank == 0) left.took_ns.resize(static_cast<std::size_t>(task.repeats));
    if (r.place.is_slot()) {
      const int gpu = (r.place.node - ranks.front().place.node) * gpus_of_node + r.place.device;
      const GpuMemory& from = gpus[static_cast<std::size_t>(gpu)];
      const std::size_t end = left.tiles.size();
      left.tiles.resize(end + task.elements());
      from.device.copy(left.tiles.data() + end,
                       from.tiles[2].data() + static_cast<std::size_t>(r.place.slot) * task.elements(),
                       task.elements() * sizeof(float));
      if (r.rank == 0) from.took_ns.download(left.took_ns.data());
    } else {
      left.tiles.insert(left.tiles.end(), host->tiles[2].begin(), host->tiles[2].end());
      if (r.rank == 0) left.took_ns = host->took_ns;
      ++host;
    }
  }
  return left;
}

// A rank's tile in its place of the whole.
void place_tile(const Task& task, int rank, const float* tile, std::vector<float>& whole) {
  const int first_row = rank / task.across * task.edge, first_column = rank % task.across * task.edge;
  const int rows = std::min(task.edge, task.size - first_row), columns = std::min(task.edge, task.size - first_column);
  for (int r = 0; r < rows && columns > 0; ++r)
    std::copy_n(tile + static_cast<std::ptrdiff_t>(r) * task.edge, columns,
                whole.data() + static_cast<std::ptrdiff_t>(first_row + r) * task.size + first_column);
}

}  // namespace

Outcome run(const Options& options) {
  validate(options);
  Outcome outcome;
  outcome.across = grid_of(options.nodes);
  // lines: begin
  const Task task{.size = options.size,
                  .edge = (options.size + outcome.across - 1) / outcome.across,
                  .across = outcome.across,
                  .repeats = options.repeats,
                  .shift = options.overlap ? Shift::overlap : Shift::replace};
  Config config;
  config.nodes = {options.nodes};
  // sendrecv_replace keeps what it sends there.
  config.buffered_bytes = std::max<std::uint64_t>(2 * task.elements() * sizeof(float), 1 << 20);
  Job job(config);
  const Placement& placement = job.placement();

  // lines: end
  std::deque<HostMemory> hosts;
  std::vector<GpuMemory> gpus;
  for (int r = 0; r < placement.size(); ++r)
    if (job.world().is_here(r) && !placement.place(r).is_slot()) {
      hosts.emplace_back(task);
      job.cpu_rank(r, multiply_on_cpu, task, hosts.back().view());
    }
  // lines: begin
  for (int g = 0; g < job.world().gpus(); ++g) {
    const Device device = job.world().device(g);
    const int slots = options.nodes.slots;
    gpus.emplace_back(device, task, slots);
    const Memory memory = gpus.back().view();
    Launch launch{.grid = 1, .block = tile_threads, .shared_bytes = tile_shared_bytes};
    outcome.blocks =
        options.blocks ? options.blocks
        : device.kind() == DeviceKind::emulated
            ? 1
            : std::max(
                  1, device.max_resident_blocks(launch, SlotMultiplier{}, job.world().handle(g), task, memory) / slots);
    launch.grid = static_cast<unsigned>(slots * outcome.blocks);
    job.gpu_on(g, launch, SlotMultiplier{}, task, memory);
  }

  const Report report = job.run();
  // lines: end
  outcome.elapsed_s = report.elapsed_s;
  Left left = left_by(report.ranks, task, options.nodes.gpus, hosts, gpus);
  apps::Meeting meeting(std::move(job));
  outcome.ranks = meeting.all_reports(report.ranks);
  const std::vector<float> tiles = meeting.gather(std::move(left.tiles));
  if (!tiles.empty()) outcome.c.resize(static_cast<std::size_t>(task.size) * static_cast<std::size_t>(task.size));
  for (std::size_t at = 0, rank = 0; at < tiles.size(); at += task.elements(), ++rank)
    place_tile(task, static_cast<int>(rank), tiles.data() + at, outcome.c);
  for (const std::uint64_t ns : left.took_ns) outcome.product_s.push_back(static_cast<double>(ns) * 1e-9);
  return outcome;
}

}  // namespace dcgn::cannon
