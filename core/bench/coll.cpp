#include "core/bench/coll.hpp"

#include "bench/memory.hpp"
#include "core/bench/coll_ranks.hpp"

#include <dcgn/comm.hpp>
#include <dcgn/job.hpp>
#include <dcgn/version.hpp>

#include <algorithm>
#include <vector>

namespace dcgn::bench {

namespace {

std::string counted(int count, const char* what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

// Calls before the timed ones.
std::uint64_t warm_up(const CollWork& work) {
  const bool emulated =
      work.ranks.gpus && Device(0).kind() == DeviceKind::emulated;  // nothing to warm, and all is slow
  if (emulated || work.bytes > large) return 2;
  return work.bytes <= 4096 ? 100 : 20;
}

}  // namespace

CollPlan plan_of(const CollWork& work, int ranks) {
  return {.op = work.op,
          .count = count_of(work.op, work.bytes, ranks),
          .bytes = work.bytes,
          .target_ns = static_cast<std::uint64_t>(work.seconds * 1e9),
          .warm_up = warm_up(work)};
}

std::int64_t room_of(const CollPlan& plan, int ranks) {
  const std::int64_t longest = std::max(given_count(plan.op, plan.count, ranks), got_count(plan.op, plan.count, ranks));
  return longest / 64 * 64 + 64;
}

void set_figures(Row& row, const std::vector<CollSamples>& ranks) {
  const CollSamples& first = ranks.front();
  std::vector<double> us;
  for (std::uint64_t k = 0; k < first.repetitions; ++k) {
    std::uint64_t ns = 0;
    for (const CollSamples& rank : ranks) ns = std::max(ns, rank.ns[k]);
    us.push_back(static_cast<double>(ns) * 1e-3 / static_cast<double>(first.calls));
  }
  set_figures(row, us, first.calls);
  for (const CollSamples& rank : ranks) row.wrong += rank.wrong;
}

std::string name_of(const CollRanks& r) {
  std::string name = r.cpus ? counted(r.cpus, "CPU") : "";
  if (!r.gpus) return name;
  name += (r.cpus ? " + " : "") + counted(r.gpus, "GPU");
  return r.slots > 1 ? name + " x " + counted(r.slots, "slot") : name;
}

Scope usual_scope(std::int64_t bytes) {
  if (bytes <= 8) return {.kind = ScopeKind::warp};
  if (bytes < 256 << 10) return {.kind = ScopeKind::block};
  return {.kind = ScopeKind::blocks, .blocks = 0};
}

Row measure_collective(const CollWork& work) {
  const auto& [cpus, gpus, slots] = work.ranks;
  const int ranks = work.ranks.count();
  const CollPlan plan = plan_of(work, ranks);
  Config config;
  config.nodes = {{.cpus = cpus, .gpus = gpus, .slots = gpus ? slots : 0}};
  Job job(config);

  const std::int64_t each = room_of(plan, ranks);
  std::vector<CollSamples> samples(static_cast<std::size_t>(ranks));
  std::vector<Pages> pages;
  pages.reserve(static_cast<std::size_t>(cpus));
  for (int r = 0; r < cpus; ++r) {
    auto* floats =
        reinterpret_cast<float*>(pages.emplace_back(2 * static_cast<std::size_t>(each) * sizeof(float)).data());
    const CollBuffers buffers = CollMemory{floats, each, &samples[static_cast<std::size_t>(r)]}.of(0);
    job.cpu_rank(r, [=](Comm& comm) { take_part(comm, plan, buffers); });
  }
  std::vector<DeviceBuffer<float>> memory;
  std::vector<DeviceBuffer<CollSamples>> found;
  for (int g = 0; g < gpus; ++g) {
    const Device device = job.world().device(g);
    memory.emplace_back(device, 2 * static_cast<std::size_t>(each) * static_cast<std::size_t>(slots));
    found.emplace_back(device, static_cast<std::size_t>(slots));
    const CollMemory m{memory.back().data(), each, found.back().data()};
    switch (work.scope.kind) {
      case ScopeKind::thread: add_slots<ScopeKind::thread>(job, g, work, plan, m); break;
      case ScopeKind::warp: add_slots<ScopeKind::warp>(job, g, work, plan, m); break;
      case ScopeKind::block: add_slots<ScopeKind::block>(job, g, work, plan, m); break;
      case ScopeKind::blocks:
        if (work.scope.threads && work.scope.threads <= 512)
          add_slots<ScopeKind::blocks, 512>(job, g, work, plan, m);
        else
          add_slots<ScopeKind::blocks>(job, g, work, plan, m);
        break;
    }
  }
  job.run();
  CollSamples* next = samples.data() + cpus;
  for (const DeviceBuffer<CollSamples>& of_gpu : found) {
    of_gpu.download(next);
    next += slots;
  }

  Row row{.whose = "dcgn " + std::string(version),
          .measure = name_of(work.op),
          .path = name_of(work.ranks),
          .scope = "-",
          .bytes = work.bytes,
          .ranks = ranks};
  if (gpus) {
    row.scope = name_of(work.scope);
    row.blocks = blocks_for(work.scope, Device(0), static_cast<unsigned>(slots));
    row.threads = launch_for(work.scope, Device(0), static_cast<unsigned>(slots)).block.volume();
    row.slots = slots;
  }
  set_figures(row, samples);
  return row;
}

}  // namespace dcgn::bench
