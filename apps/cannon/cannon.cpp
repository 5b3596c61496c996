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

// What Memory points to, for a CPU rank.
struct HostMemory {
  std::vector<float> tiles;
  std::vector<std::uint64_t> took_ns;
};

// lines: begin
// And for the slots of a GPU.
struct GpuMemory {
  DeviceBuffer<float> tiles;
  DeviceBuffer<std::uint64_t> took_ns;
};
// lines: end

// What the ranks of this process leave: their tiles of C, one behind the other, and the times of rank 0.
struct Left {
  std::vector<float> tiles;
  std::vector<std::uint64_t> took_ns;
};

Left left_by(const std::vector<RankReport>& ranks, const Task& task, const World& world, int gpus_of_node,
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
      world.device(gpu).copy(left.tiles.data() + end,
                             from.tiles.data() + static_cast<std::size_t>(3 * r.place.slot + 2) * task.elements(),
                             task.elements() * sizeof(float));
      if (r.rank == 0) from.took_ns.download(left.took_ns.data());
    } else {
      left.tiles.insert(left.tiles.end(), host->tiles.end() - static_cast<std::ptrdiff_t>(task.elements()),
                        host->tiles.end());
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
  // lines: begin
  const int across = grid_of(options.nodes);
  const Task task{options.size, (options.size + across - 1) / across, across, options.repeats};
  // sendrecv_replace keeps what it sends in buffered_bytes.
  Job job({.nodes = {options.nodes},
           .buffered_bytes = std::max<std::uint64_t>(2 * task.elements() * sizeof(float), 1 << 20)});
  // lines: end
  const Placement& placement = job.placement();
  std::deque<HostMemory> hosts;
  for (int r = 0; r < placement.size(); ++r)
    if (job.world().is_here(r) && !placement.place(r).is_slot()) {
      hosts.push_back({std::vector<float>(3 * task.elements()),
                       std::vector<std::uint64_t>(static_cast<std::size_t>(task.repeats))});
      HostMemory& m = hosts.back();
      job.cpu_rank(r, multiply_on_cpu, task, Memory{m.tiles.data(), m.took_ns.data()});
    }
  // lines: begin
  std::vector<GpuMemory> gpus;
  for (int g = 0; g < job.world().gpus(); ++g) {
    const Device device = job.world().device(g);
    const int slots = options.nodes.slots;
    gpus.push_back({{device, 3 * task.elements() * static_cast<std::size_t>(slots)},
                    {device, static_cast<std::size_t>(task.repeats)}});
    const unsigned grid = options.blocks ? static_cast<unsigned>(slots * options.blocks) : most_blocks_per_slot;
    job.gpu_on(g, {.grid = grid, .block = tile_threads, .shared_bytes = tile_shared_bytes}, SlotMultiplier{}, task,
               Memory{gpus.back().tiles.data(), gpus.back().took_ns.data()});
  }
  const Report report = job.run();
  // lines: end
  outcome.across = across;
  outcome.elapsed_s = report.elapsed_s;
  Left left = left_by(report.ranks, task, job.world(), options.nodes.gpus, hosts, gpus);
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
