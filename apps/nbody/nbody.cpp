#include "apps/nbody/nbody.hpp"

#include "apps/meeting/meeting.hpp"
#include "apps/nbody/initial.hpp"
#include "apps/nbody/journal.hpp"
#include "apps/nbody/rank_kernel.hpp"

#include <dcgn/gpu/launch.hpp>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <optional>
#include <utility>

namespace dcgn::nbody {

namespace {

// What Memory points to, for a CPU rank.
struct HostMemory {
  std::vector<Body> bodies;
  std::vector<Velocity> velocities;
  std::uint64_t compute_ns = 0;

  Memory view(const Partition& partition, const Journal& journal) {
    return {bodies.data(), velocities.data(), partition.parts(), {nullptr, &compute_ns, journal}};
  }
};

std::vector<Body> repeated(const std::vector<Body>& bodies, int times) {
  std::vector<Body> all;
  for (int k = 0; k < times; ++k) all.insert(all.end(), bodies.begin(), bodies.end());
  return all;
}

// lines: begin
// And for the slots of a GPU.
struct GpuMemory {
  Device device;
  DeviceBuffer<Body> bodies;
  DeviceBuffer<Velocity> velocities;
  DeviceBuffer<std::int64_t> parts;
  GpuRecords records;
};

// Each slot has as many blocks as there is room for.
Launch launch_of(const Options& options, const Device& device) {
  const bool real = device.kind() == DeviceKind::cuda;
  const int slots = options.nodes.slots;
  const int most = real ? std::max(1, device.properties().multiprocessors / slots) : 1;
  const auto threads = static_cast<unsigned>(options.threads ? options.threads : real ? 512 : 64);
  return {.grid = static_cast<unsigned>(slots * (options.blocks ? options.blocks : most)),
          .block = threads,
          .shared_bytes = force_shared_bytes(threads)};
}
// lines: end

// What the ranks of this process leave, in their order.
struct Left {
  std::vector<Velocity> velocities;
  std::vector<std::uint64_t> compute_ns;
  std::int64_t stale = 0;
};

// `end` is what rank 0 has.
Left left_by(const std::vector<RankReport>& ranks, const Options& options, const Partition& partition,
             const std::vector<HostMemory>& hosts, const std::vector<GpuMemory>& gpus, const std::vector<Body>& end) {
  Left left;
  std::vector<Body> copy(end.size());
  const auto compare = [&](const Body* theirs) {
    for (const Body& b : end) {
      left.stale += !(theirs->x == b.x && theirs->y == b.y && theirs->z == b.z);
      ++theirs;
    }
  };
  const auto last = [&](const Body* copies, int slot) {
    return copies + static_cast<std::ptrdiff_t>(2 * slot + options.steps % 2) * static_cast<std::ptrdiff_t>(end.size());
  };
  auto host = hosts.begin();
  for (const RankReport& r : ranks) {
    const Range part = partition.range(r.rank);
    const auto count = static_cast<std::size_t>(part.count);
    left.velocities.resize(left.velocities.size() + count);
    Velocity* const to = left.velocities.data() + left.velocities.size() - count;
    std::uint64_t& ns = left.compute_ns.emplace_back();
    if (r.place.is_slot()) {
      const int gpu = (r.place.node - ranks.front().place.node) * options.nodes.gpus + r.place.device;
      const GpuMemory& from = gpus[static_cast<std::size_t>(gpu)];
      from.device.copy(to, from.velocities.data() + part.first, count * sizeof(Velocity));
      from.device.copy(copy.data(), last(from.bodies.data(), r.place.slot), copy.size() * sizeof(Body));
      compare(copy.data());
      from.device.copy(&ns, from.records.compute_ns.data() + r.place.slot, sizeof ns);
    } else {
      std::copy_n(host->velocities.data() + part.first, count, to);
      compare(last(host->bodies.data(), 0));
      ns = host->compute_ns;
      ++host;
    }
  }
  return left;
}

void bring_together(apps::Meeting& meeting, const Partition& partition, const std::vector<RankReport>& mine, Left left,
                    Outcome& outcome) {
  outcome.velocities = meeting.gather(std::move(left.velocities));
  const std::vector<std::int64_t> stale = meeting.gather(std::vector{left.stale});
  outcome.stale = std::accumulate(stale.begin(), stale.end(), std::int64_t{0});
  const std::vector<std::uint64_t> compute_ns = meeting.all_gather(std::move(left.compute_ns));
  for (const RankReport& r : meeting.all_reports(mine)) {
    const auto rank = static_cast<std::size_t>(r.rank);
    outcome.ranks.push_back({r, partition.range(r.rank).count, static_cast<double>(compute_ns[rank]) * 1e-9});
  }
}

Outcome simulate(const Options& options, const System& system, const std::vector<double>& weights) {
  // lines: begin
  Job job({.nodes = {options.nodes}});
  const Partition partition(options.bodies, weights);
  const Task task{options.bodies,  options.steps, options.every, options.dt, options.softening * options.softening,
                  options.exchange};
  // lines: end
  const Placement& placement = job.placement();
  const bool first_here = job.world().is_here(0), gpu_first = first_here && placement.place(0).is_slot();
  const std::optional<Device> first_gpu = gpu_first ? std::optional(job.world().device(0)) : std::nullopt;
  std::optional<JournalMemory> journal;
  if (first_here) journal.emplace(task, gpu_first ? &*first_gpu : nullptr);

  Outcome outcome;
  std::vector<HostMemory> hosts;
  hosts.reserve(static_cast<std::size_t>(placement.size()));
  for (int r = 0; r < placement.size(); ++r)
    if (job.world().is_here(r) && !placement.place(r).is_slot()) {
      hosts.push_back({repeated(system.bodies, 2), system.velocities});
      job.cpu_rank(r, advance_on_cpu, task, hosts.back().view(partition, r == 0 ? journal->view() : Journal{}));
    }
  // lines: begin
  std::vector<GpuMemory> gpus;
  for (int g = 0; g < job.world().gpus(); ++g) {
    const Device device = job.world().device(g);
    const Launch launch = launch_of(options, device);
    const int slots = options.nodes.slots;
    gpus.push_back({device,
                    {device, repeated(system.bodies, 2 * slots)},
                    {device, system.velocities},
                    {device, partition.numbers()},
                    {device, slots, launch}});
    const GpuMemory& m = gpus.back();
    const Journal its = gpu_first && g == 0 ? journal->view() : Journal{};
    job.gpu_on(g, launch, SlotBodies{}, task,
               Memory{m.bodies.data(), m.velocities.data(), partition.on(m.parts.data()), m.records.view(its)});
    // lines: end
    outcome.blocks = static_cast<int>(launch.grid.x) / slots;
    outcome.threads = static_cast<int>(launch.block.x);
    // lines: begin
  }
  const Report report = job.run();
  // lines: end
  outcome.elapsed_s = report.elapsed_s;
  if (journal) journal->read_into(task, outcome);
  apps::Meeting meeting(std::move(job));
  std::vector<Body> end;
  if (journal) end = outcome.film.back();
  meeting.broadcast(end);
  bring_together(meeting, partition, report.ranks, left_by(report.ranks, options, partition, hosts, gpus, end),
                 outcome);
  return outcome;
}

}  // namespace

Outcome run(const Options& options) {
  validate(options);
  const System system = start_of(options.start, options.bodies);
  std::vector<double> weights(static_cast<std::size_t>(Placement({options.nodes}).size()), 1.0);
  if (options.balance == Balance::measured) {
    Options trial = options;
    trial.steps = 2;
    trial.every = 0;
    const Outcome before = simulate(trial, system, weights);
    for (std::size_t r = 0; r < weights.size(); ++r)
      weights[r] = before.ranks[r].bodies / std::max(before.ranks[r].compute_s, 1e-9);
  }
  return simulate(options, system, weights);
}

}  // namespace dcgn::nbody
