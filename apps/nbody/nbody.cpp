#include "apps/nbody/nbody.hpp"

#include "apps/nbody/initial.hpp"
#include "apps/nbody/rank_kernel.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>

namespace dcgn::nbody {

namespace {

// What Memory points to, for a CPU rank.
struct HostMemory {
  std::vector<Body> bodies[2];
  std::vector<Velocity> velocities;
  std::uint64_t compute_ns = 0;

  HostMemory(const System& system, int)
      : bodies{system.bodies, std::vector<Body>(system.bodies.size())}, velocities(system.velocities) {}
  Memory view(const Partition& partition, const Journal& journal) {
    return {{bodies[0].data(), bodies[1].data()}, velocities.data(), partition.parts(), nullptr, &compute_ns, journal};
  }
};

// lines: begin
// For a GPU.
struct GpuMemory {
  Device device;
  DeviceBuffer<Body> bodies[2];
  DeviceBuffer<Velocity> velocities;
  DeviceBuffer<std::int64_t> counts, displacements;
  DeviceBuffer<Energy> energies;
  DeviceBuffer<std::uint64_t> compute_ns;

  GpuMemory(const Device& on, const System& system, const Partition& partition, int copies, int slots, int blocks)
      : device(on),
        bodies{{on, system.bodies.size() * static_cast<std::size_t>(copies)},
               {on, system.bodies.size() * static_cast<std::size_t>(copies)}},
        velocities(on, system.velocities.size()),
        counts(on, partition.counts().size()),
        displacements(on, partition.counts().size()),
        energies(on, static_cast<std::size_t>(blocks)),
        compute_ns(on, static_cast<std::size_t>(slots)) {
    for (int c = 0; c < copies; ++c)
      on.copy(bodies[0].data() + static_cast<std::size_t>(c) * system.bodies.size(), system.bodies.data(),
              system.bodies.size() * sizeof(Body));
    velocities.upload(system.velocities.data());
    counts.upload(partition.counts().data());
    displacements.upload(partition.displacements().data());
    on.fill(compute_ns.data(), 0, compute_ns.size_bytes());
  }
  Memory view(const Partition& partition, const Journal& journal) const {
    return {{bodies[0].data(), bodies[1].data()},
            velocities.data(),
            partition.on(counts.data(), displacements.data()),
            energies.data(),
            compute_ns.data(),
            journal};
  }
};

// lines: end

// Rank 0's journal, in the memory of its CPU or of its GPU.
class JournalMemory {
 public:
  JournalMemory(const Task& task, const Device* gpu)
      : bodies_(static_cast<std::size_t>(task.bodies)),
        film_(static_cast<std::size_t>(task.records()) * bodies_),
        energies_(static_cast<std::size_t>(task.records())),
        begun_ns_(static_cast<std::size_t>(task.steps) + 1) {
    if (!gpu) return;
    on_gpu_film_.emplace(*gpu, film_.size());
    on_gpu_energies_.emplace(*gpu, energies_.size());
    on_gpu_begun_ns_.emplace(*gpu, begun_ns_.size());
  }
  Journal view() {
    if (!on_gpu_film_) return {film_.data(), energies_.data(), begun_ns_.data()};
    return {on_gpu_film_->data(), on_gpu_energies_->data(), on_gpu_begun_ns_->data()};
  }
  void read_into(const Task& task, Outcome& outcome) {
    if (on_gpu_film_) {
      on_gpu_film_->download(film_.data());
      on_gpu_energies_->download(energies_.data());
      on_gpu_begun_ns_->download(begun_ns_.data());
    }
    for (auto frame = film_.begin(); frame != film_.end(); frame += static_cast<std::ptrdiff_t>(bodies_))
      outcome.film.emplace_back(frame, frame + static_cast<std::ptrdiff_t>(bodies_));
    for (int step = 0; step <= task.steps; ++step)
      if (task.recorded(step)) outcome.film_steps.push_back(step);
    outcome.energies = energies_;
    for (std::size_t s = 1; s < begun_ns_.size(); ++s)
      outcome.step_s.push_back(static_cast<double>(begun_ns_[s] - begun_ns_[s - 1]) * 1e-9);
  }

 private:
  std::size_t bodies_;
  std::vector<Body> film_;
  std::vector<Energy> energies_;
  std::vector<std::uint64_t> begun_ns_;
  std::optional<DeviceBuffer<Body>> on_gpu_film_;
  std::optional<DeviceBuffer<Energy>> on_gpu_energies_;
  std::optional<DeviceBuffer<std::uint64_t>> on_gpu_begun_ns_;
};

// lines: begin
// The slots' launch: each block of a GPU a slot of its own, or each slot a group of blocks.
Launch launch_of(const Options& options, const Device& device) {
  const bool real = device.kind() == DeviceKind::cuda;
  const int slots = options.nodes.slots;
  const int blocks = options.exchange == Exchange::direct ? 1
                     : options.blocks                     ? options.blocks
                     : real                               ? std::max(1, device.properties().multiprocessors / slots)
                                                          : 1;
  const auto threads = static_cast<unsigned>(options.threads ? options.threads : real ? 512 : 64);
  return {.grid = static_cast<unsigned>(slots * blocks), .block = threads, .shared_bytes = force_shared_bytes(threads)};
}

// lines: end

Outcome simulate(const Options& options, const System& system, const std::vector<double>& weights) {
  // lines: begin
  Config config;
  config.nodes = {options.nodes};
  Job job(config);
  const Partition partition(options.bodies, weights);
  const Task task{.bodies = options.bodies,
                  .steps = options.steps,
                  .every = options.every,
                  .dt = options.dt,
                  .softening2 = options.softening * options.softening,
                  .exchange = options.exchange,
                  .places = places_of(options.nodes)};
  // lines: end
  const Placement& placement = job.placement();
  const bool gpu_first = placement.place(0).is_slot();
  const std::optional<Device> first_gpu = gpu_first ? std::optional(job.world().device(0)) : std::nullopt;
  JournalMemory journal(task, gpu_first ? &*first_gpu : nullptr);

  Outcome outcome;
  std::vector<HostMemory> hosts;
  std::vector<GpuMemory> gpus;
  hosts.reserve(static_cast<std::size_t>(placement.size()));
  for (int r = 0; r < placement.size(); ++r)
    if (!placement.place(r).is_slot()) {
      hosts.emplace_back(system, r);
      job.cpu_rank(r, advance_on_cpu, task, hosts.back().view(partition, r == 0 ? journal.view() : Journal{}));
    }
  // lines: begin
  for (int g = 0; g < job.world().gpus(); ++g) {
    const Device device = job.world().device(g);
    const Launch launch = launch_of(options, device);
    const int slots = options.nodes.slots, blocks = static_cast<int>(launch.grid.x);
    outcome.blocks = blocks / slots;
    outcome.threads = static_cast<int>(launch.block.x);
    const bool direct = options.exchange == Exchange::direct;
    gpus.emplace_back(device, system, partition, direct ? 1 : slots, slots, blocks);
    const Memory memory = gpus.back().view(partition, gpu_first && g == 0 ? journal.view() : Journal{});
    if (direct)
      job.gpu_on(g, launch, BlockSlots{}, task, memory);
    else
      job.gpu_on(g, launch, GroupSlots{}, task, memory);
  }

  const Report report = job.run();
  // lines: end
  outcome.elapsed_s = report.elapsed_s;
  journal.read_into(task, outcome);
  outcome.velocities.resize(system.velocities.size());
  std::vector<Body> copy(system.bodies.size());
  std::size_t host = 0;
  for (const RankReport& r : report.ranks) {
    const auto rank = static_cast<std::size_t>(r.rank);
    const auto first = static_cast<std::size_t>(partition.displacements()[rank]);
    const auto count = static_cast<std::size_t>(partition.counts()[rank]);
    std::uint64_t ns = 0;
    Velocity* const to = outcome.velocities.data() + first;
    const auto compare = [&](const Body* theirs) {
      for (const Body& b : outcome.film.back()) {
        outcome.stale += !(theirs->x == b.x && theirs->y == b.y && theirs->z == b.z);
        ++theirs;
      }
    };
    if (r.place.is_slot()) {
      const int gpu = r.place.node * options.nodes.gpus + r.place.device;
      const GpuMemory& from = gpus[static_cast<std::size_t>(gpu)];
      from.device.copy(to, from.velocities.data() + first, count * sizeof(Velocity));
      const DeviceBuffer<Body>& copies = from.bodies[options.steps & 1];
      if (static_cast<std::size_t>(r.place.slot) * copy.size() < copies.size()) {
        from.device.copy(copy.data(), copies.data() + static_cast<std::size_t>(r.place.slot) * copy.size(),
                         copy.size() * sizeof(Body));
        compare(copy.data());
      }
      from.device.copy(&ns, from.compute_ns.data() + r.place.slot, sizeof ns);
    } else {
      const HostMemory& from = hosts[host++];
      std::copy_n(from.velocities.data() + first, count, to);
      compare(from.bodies[options.steps & 1].data());
      ns = from.compute_ns;
    }
    outcome.ranks.push_back({r, static_cast<int>(count), static_cast<double>(ns) * 1e-9});
  }
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
