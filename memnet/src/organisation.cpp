#include "memnet/src/organisation.hpp"

#include <dcgn/error.hpp>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

namespace dcgn::memnet {

namespace {

// Which interconnect carries what, by Table III.
bool is_zero_copy(Organisation organisation) {
  switch (organisation) {
    case Organisation::pcie_zero_copy:
    case Organisation::cmn_zero_copy:
    case Organisation::gmn_zero_copy: return true;
    case Organisation::pcie:
    case Organisation::cmn:
    case Organisation::gmn:
    case Organisation::umn: return false;
  }
  return false;
}

// GPUs' own memory hangs on each GPU alone; `cmn`: their way out is the CPU's memory network, else PCIe.
Topology separate_memories(const SystemModel& model, bool cmn) {
  const int clusters = model.gpus + 1, cubes = model.hmcs_per_cluster;
  Topology topology((cmn ? "CMN of " : "PCIe of ") + counted(model.gpus, "GPU"));
  Link off_chip;
  off_chip.serdes = true;
  for (int c = 0; c < clusters; ++c) {
    for (int i = 0; i < cubes; ++i) {
      topology.add_router({"hmc " + std::to_string(c * cubes + i), {}, c, i, c * 2.0, static_cast<double>(i)});
    }
  }
  std::vector<int> ways_out;
  for (int c = 0; c < clusters; ++c) {
    const std::string name = c == 0 ? "cpu 0" : "gpu " + std::to_string(c - 1);
    const int terminal = topology.add_terminal(name, c == 0 ? TerminalKind::cpu : TerminalKind::gpu, c);
    for (int i = 0; i < 2 * cubes; ++i) topology.attach(terminal, c * cubes + i % cubes, off_chip);
    if (cmn && c == 0) {
      ways_out.push_back(-1);  // the CPU is on its network already
      continue;
    }
    // The processor's own way out, over which others come in to its memory.
    const int router = topology.add_router({name + " i/o", {}, c, -1, c * 2.0, -1.0});
    ways_out.push_back(router);
    topology.attach(terminal, router);
    for (int i = 0; i < cubes; ++i) topology.add_channel(router, c * cubes + i, off_chip);
  }
  for (int h = 0; h < clusters * cubes; ++h) {
    const int terminal = topology.add_terminal("hmc " + std::to_string(h), TerminalKind::hmc, h / cubes);
    for (int i = 0; i < 8; ++i) topology.attach(terminal, h);
  }
  if (cmn) {
    for (int i = 0; i < cubes; ++i) {
      for (int j = i + 1; j < cubes; ++j) topology.add_channel(i, j, off_chip);
    }
    for (int g = 0; g < model.gpus; ++g) {
      for (int i = 0; i < model.cmn_channels; ++i) topology.add_channel(ways_out[g + 1], (g + i) % cubes, off_chip);
    }
    return topology;
  }
  const Parameters parameters;
  Link pcie;
  pcie.bandwidth = model.pcie_gbytes / parameters.flits_to_gbytes();
  pcie.extra_latency = static_cast<int>(std::lround(model.pcie_latency_ns * parameters.clock_ghz));
  const int pcie_switch = topology.add_router({"switch", {}, -1, -1, clusters - 1.0, -2.0});
  for (const int router : ways_out) topology.add_channel(router, pcie_switch, pcie);
  return topology;
}

Parameters parameters_of(const SystemModel& model, bool pcie) {
  Parameters parameters;
  parameters.seed = model.seed;
  parameters.routing = model.routing;
  parameters.ugal_threshold = model.ugal_threshold;
  // PCIe's flow control covers its long round trip; the paper's buffers are those of HMCs.
  if (pcie) parameters.vc_buffer_bytes = 4096;
  return parameters;
}

bool on_pcie(Organisation organisation, bool copies) {
  switch (organisation) {
    case Organisation::pcie:
    case Organisation::pcie_zero_copy:
    case Organisation::gmn_zero_copy: return true;  // GPU memory is not touched: its network makes no difference
    case Organisation::gmn: return copies;
    case Organisation::cmn:
    case Organisation::cmn_zero_copy:
    case Organisation::umn: return false;
  }
  return false;
}

std::vector<int> terminals_of(const Topology& topology, TerminalKind kind) {
  std::vector<int> found;
  for (std::size_t t = 0; t < topology.terminals().size(); ++t) {
    if (topology.terminals()[t].kind == kind) found.push_back(static_cast<int>(t));
  }
  return found;
}

// What every GPU of a phase does.
struct Demand {
  double requests = 0;  // all GPUs together
  int launches = 1;     // that share the requests evenly; each waits for the one before
  double gap_ns = 0;    // of one GPU, from a request to the next
  int window = 1;
  AccessPattern pattern;                     // count, start and seed are filled in
  std::vector<std::vector<double>> weights;  // of the clusters: for all GPUs, or for each its own
};

// One placement of pages for all GPUs, or one each.
MemorySystem memory_of(const SystemModel& model, const std::vector<std::vector<double>>& weights) {
  MemorySystem memory;
  memory.timing = model.dram;
  AddressMap map;
  map.clusters = static_cast<std::uint32_t>(weights.front().size());
  map.locals = static_cast<std::uint32_t>(model.hmcs_per_cluster);
  for (const std::vector<double>& its : weights) memory.placements.emplace_back(map, its, model.seed);
  return memory;
}

// Simulates a sample of a launch and scales it: what goes beyond the sample goes at the pace of its middle, and every
// launch fills and drains the network anew.
Phase simulate(const Topology& topology, const Parameters& parameters, const SystemModel& model,
               const std::vector<int>& terminals, const Demand& demand) {
  Phase phase;
  phase.requests = std::ceil(demand.requests);
  if (phase.requests < 1) return phase;
  const auto n = static_cast<std::int64_t>(terminals.size());
  const double launches = std::min<double>(demand.launches, phase.requests);
  const double a_launch = phase.requests / launches;
  const auto each = static_cast<std::int64_t>(std::ceil(a_launch / static_cast<double>(n)));
  const std::int64_t sample = std::min(each, model.sample_requests);
  const MemorySystem memory = memory_of(model, demand.weights);
  std::vector<Requester> requesters;
  for (std::int64_t i = 0; i < n; ++i) {
    AccessPattern pattern = demand.pattern;
    pattern.count = sample;
    // Static CTA assignment: each GPU has a chunk.
    pattern.start = pattern.bytes / static_cast<std::uint64_t>(n) * static_cast<std::uint64_t>(i);
    pattern.seed = model.seed * 1000 + static_cast<std::uint64_t>(i);
    Requester requester;
    requester.terminal = terminals[static_cast<std::size_t>(i)];
    requester.window = demand.window;
    requester.gap_cycles = demand.gap_ns * parameters.clock_ghz;
    requester.source = pattern_accesses(pattern);
    if (demand.weights.size() > 1) requester.placement = static_cast<int>(i);
    requesters.push_back(std::move(requester));
  }
  phase.sampled = run_closed_loop(topology, parameters, memory, requesters);

  const ClosedLoopResult& result = phase.sampled;
  const auto simulated = static_cast<double>(result.requests);
  const double beyond = std::max(0.0, a_launch - simulated);
  const double cycles = launches * (static_cast<double>(result.cycles) + beyond * result.cycles_per_request);
  phase.ns = cycles / parameters.clock_ghz;
  phase.energy = energy_of_all(result, parameters, phase.requests, cycles);
  return phase;
}

KernelPhase run_trace(const Topology& topology, const Parameters& parameters, const SystemModel& model,
                      const MemorySystem& memory, const GpuCores& cores, const base::KernelTrace& trace,
                      const Progress& progress) {
  KernelPhase made;
  constexpr std::int64_t most_cycles = 100'000'000;
  made.kernels = run_kernels(topology, parameters, memory, terminals_of(topology, TerminalKind::gpu), cores, trace,
                             BlockSchedule::chunks, progress, most_cycles, model.kernel_requests);
  Phase& phase = made.phase;
  phase.requests = made.kernels.all_requests();
  phase.ns = made.kernels.cycles() / parameters.clock_ghz;
  phase.sampled = made.kernels.network;
  phase.energy = made.kernels.energy;
  return made;
}

Demand kernel_demand(const SystemModel& model, int gpus, const Workload& workload) {
  Demand demand;
  demand.requests = request_count(workload);
  demand.launches = workload.launches;
  demand.gap_ns = compute_ns(workload, gpus, model.gpu) / (demand.requests / gpus);
  demand.window = request_window(workload, gpus, model.gpu);
  demand.pattern.read_share = read_share(workload);
  demand.pattern.random_share = workload.random;
  demand.pattern.write_bytes = static_cast<std::uint32_t>(workload.write_bytes);
  demand.pattern.bytes =
      static_cast<std::uint64_t>(std::max(workload.copied_in + workload.copied_out, 1048576.0)) / 4096 * 4096;
  return demand;
}

std::vector<std::vector<double>> host_only(const SystemModel& model) {
  std::vector<double> weights(static_cast<std::size_t>(model.gpus) + 1, 0.0);
  weights[0] = 1;
  return {weights};
}

// Each GPU's CTAs have data of their own, so that each has a busiest cluster of its own, which is another GPU's: 1, 3,
// 0, 2 for four GPUs, some of them next to each other on a ring and some not.
std::vector<std::vector<double>> by_gpu(const Workload& workload, int gpus, int clusters) {
  if (workload.imbalance <= 1) return {cluster_weights(workload, clusters, 0)};
  std::vector<std::vector<double>> weights;
  for (int g = 0; g < gpus; ++g) {
    const int busiest = clusters - gpus + (2 * g + 1) % (gpus + 1) % gpus;
    weights.push_back(cluster_weights(workload, clusters, busiest));
  }
  return weights;
}

}  // namespace

std::string_view to_string(Organisation organisation) noexcept {
  switch (organisation) {
    case Organisation::pcie: return "PCIe";
    case Organisation::pcie_zero_copy: return "PCIe-ZC";
    case Organisation::cmn: return "CMN";
    case Organisation::cmn_zero_copy: return "CMN-ZC";
    case Organisation::gmn: return "GMN";
    case Organisation::gmn_zero_copy: return "GMN-ZC";
    case Organisation::umn: return "UMN";
  }
  return "unknown";
}

Topology organisation_topology(Organisation organisation, const SystemModel& model) {
  switch (organisation) {
    case Organisation::pcie:
    case Organisation::pcie_zero_copy:
    case Organisation::gmn_zero_copy: return separate_memories(model, false);
    case Organisation::cmn:
    case Organisation::cmn_zero_copy: return separate_memories(model, true);
    case Organisation::gmn:
    case Organisation::umn: break;
  }
  MemoryNetwork network;
  network.kind = model.network;
  network.gpus = model.gpus;
  network.cpus = organisation == Organisation::umn ? 1 : 0;
  network.hmcs_per_cluster = model.hmcs_per_cluster;
  network.channels_per_hmc = model.channels_per_hmc;
  return memory_network(network);
}

Phase copy_phase(Organisation organisation, const SystemModel& model, double bytes, bool to_gpus) {
  if (bytes <= 0 || is_zero_copy(organisation) || organisation == Organisation::umn) return {};
  const bool pcie = on_pcie(organisation, true);
  const Topology topology = separate_memories(model, !pcie);
  Demand demand;
  demand.requests = bytes / 128;
  demand.window = model.gpu.lines;
  demand.pattern.read_share = to_gpus ? 1 : 0;
  demand.pattern.bytes = 64 << 20;
  demand.weights = host_only(model);
  return simulate(topology, parameters_of(model, pcie), model, terminals_of(topology, TerminalKind::gpu), demand);
}

Phase kernel_phase(Organisation organisation, const SystemModel& model, const Workload& workload) {
  const bool pcie = on_pcie(organisation, false);
  const Topology topology = organisation_topology(organisation, model);
  Demand demand = kernel_demand(model, model.gpus, workload);
  if (is_zero_copy(organisation)) {
    demand.weights = host_only(model);
  } else {
    demand.weights = by_gpu(workload, model.gpus, organisation == Organisation::umn ? model.gpus + 1 : model.gpus);
    // Copied data are in the GPUs' memories alone.
    if (organisation == Organisation::pcie || organisation == Organisation::cmn) {
      for (std::vector<double>& weights : demand.weights) weights.insert(weights.begin(), 0.0);
    }
  }
  return simulate(topology, parameters_of(model, pcie), model, terminals_of(topology, TerminalKind::gpu), demand);
}

double copied(const base::KernelTrace& trace, base::KernelStep::Kind kind) {
  double bytes = 0;
  for (const base::KernelStep& step : trace.steps)
    if (step.kind == kind) bytes += static_cast<double>(step.bytes);
  return bytes;
}

KernelPhase kernel_phase(Organisation organisation, const SystemModel& model, const GpuCores& cores,
                         const base::KernelTrace& trace, const Progress& progress) {
  const Topology topology = organisation_topology(organisation, model);
  const bool umn = organisation == Organisation::umn;
  std::vector<std::vector<double>> weights{
      std::vector<double>(static_cast<std::size_t>(model.gpus) + (umn ? 1 : 0), 1)};
  if (is_zero_copy(organisation)) weights = host_only(model);
  // Copied data are in the GPUs' memories alone.
  if (organisation == Organisation::pcie || organisation == Organisation::cmn)
    weights.front().insert(weights.front().begin(), 0.0);
  return run_trace(topology, parameters_of(model, on_pcie(organisation, false)), model, memory_of(model, weights),
                   cores, trace, progress);
}

Phase network_kernel(const MemoryNetwork& network, const SystemModel& model, const Workload& workload) {
  const Topology topology = memory_network(network);
  SystemModel its = model;
  its.hmcs_per_cluster = network.hmcs_per_cluster;
  Demand demand = kernel_demand(its, network.gpus, workload);
  demand.weights = by_gpu(workload, network.gpus, network.gpus + network.cpus);
  return simulate(topology, parameters_of(its, false), its, terminals_of(topology, TerminalKind::gpu), demand);
}

KernelPhase network_kernel(const MemoryNetwork& network, const SystemModel& model, const GpuCores& cores,
                           const base::KernelTrace& trace) {
  SystemModel its = model;
  its.hmcs_per_cluster = network.hmcs_per_cluster;
  const std::vector<double> weights(static_cast<std::size_t>(network.gpus + network.cpus), 1.0);
  return run_trace(memory_network(network), parameters_of(its, false), its, memory_of(its, {weights}), cores, trace,
                   {});
}

Phase network_host(const MemoryNetwork& network, const SystemModel& model, const Workload& workload) {
  const Topology topology = memory_network(network);
  SystemModel its = model;
  its.hmcs_per_cluster = network.hmcs_per_cluster;
  Demand demand;
  demand.requests = workload.host_misses;
  demand.gap_ns = 0;
  demand.window = workload.host_window;
  demand.pattern.line_bytes = 64;
  demand.pattern.random_share = 1;
  demand.pattern.bytes = 64 << 20;
  demand.weights.emplace_back(static_cast<std::size_t>(network.gpus + network.cpus), 1.0);
  return simulate(topology, parameters_of(its, false), its, terminals_of(topology, TerminalKind::cpu), demand);
}

}  // namespace dcgn::memnet
