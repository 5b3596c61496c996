#include "core/bench/any_source_kernel.hpp"

#include <dcgn/gpu/launch.hpp>
#include <dcgn/job.hpp>

#include <algorithm>
#include <memory>
#include <vector>

namespace dcgn::bench {

namespace {

// A node a GPU, so that each can have its own number of slots: ranks are counted through the GPUs, the receiver first.
std::vector<NodeShape> spread(int slots, Path path) {
  const int gpus = path == Path::slot_slot_local ? 1 : std::min(Device::count(), slots);
  std::vector<NodeShape> nodes;
  nodes.reserve(static_cast<std::size_t>(gpus));
  for (int g = 0; g < gpus; ++g) nodes.push_back({.gpus = 1, .slots = slots / gpus + (g < slots % gpus)});
  return nodes;
}

}  // namespace

Row measure_any_source(const Workload& work) {
  const AnySourcePlan plan{static_cast<std::uint64_t>(work.seconds * 1e9), work.senders};
  const Config config = config_for(work, spread(work.senders + 1, work.path));
  Job job(config);
  const DeviceBuffer<Samples> samples(job.world().device(0), 1);
  std::vector<DeviceBuffer<std::uint64_t>> memory;
  for (int g = 0; g < job.world().gpus(); ++g) {
    const Device device = job.world().device(g);
    const auto slots = static_cast<unsigned>(config.nodes[static_cast<std::size_t>(g)].slots);
    memory.emplace_back(device, std::size_t{32} * slots);
    const Launch launch = launch_for(work.scope, device, slots);
    const auto add = [&](const auto& kernel) {
      job.gpu_on(g, launch, kernel, memory.back().data(), plan, samples.data());
    };
    switch (work.scope.kind) {
      case ScopeKind::thread: add(AnySourceKernel<ScopeKind::thread>{}); break;
      case ScopeKind::warp: add(AnySourceKernel<ScopeKind::warp>{}); break;
      case ScopeKind::block: add(AnySourceKernel<ScopeKind::block>{}); break;
      case ScopeKind::blocks:
        throw Error(Code::configuration, "bench",
                    "--scope " + name_of(work.scope) + ": expected thread, warp or block for receives from any source");
    }
  }
  job.run();
  const auto found = std::make_unique<Samples>();
  samples.download(found.get());
  Row row = row_for(work, "any-source", 1);
  row.path = name_of(path_here(work.path));
  row.bytes = 8;
  row.senders = work.senders;
  set_figures(row, *found);
  return row;
}

}  // namespace dcgn::bench
