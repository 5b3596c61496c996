#include "bench/processes/slots.hpp"

#include "core/bench/pair_kernel.hpp"

#include <dcgn/gpu/launch.hpp>
#include <dcgn/version.hpp>

#include <string>

namespace dcgn::bench {

namespace {

template <ScopeKind Kind, class Plan>
Samples run(const Plan& plan, int window, unsigned threads) {
  Job job({.nodes = {{.cpus = 0, .gpus = 1, .slots = 1}}});
  const Device device = job.world().device(0);
  constexpr std::size_t control = 256;
  const std::size_t room = (static_cast<std::size_t>(plan.extent()) + 255) / 256 * 256;
  const DeviceBuffer<unsigned char> memory(device, control + 2 * room);
  const DeviceBuffer<Samples> samples(device, 1);
  device.fill(samples.data(), 0, samples.size_bytes());
  unsigned char* const mine = memory.data() + control;
  const Buffers buffers{mine, mine + room, reinterpret_cast<std::uint64_t*>(memory.data())};
  job.gpu({.grid = 1, .block = threads, .shared_bytes = 2 * static_cast<std::size_t>(window) * sizeof(Request)},
          PairKernel<Kind, Plan>{}, 1u, typename PairKernel<Kind, Plan>::Ends{{buffers, buffers}}, plan,
          samples.data());
  job.run();
  Samples found{};
  samples.download(&found);
  return found;
}

template <class Plan>
Samples run(const Plan& plan, int window, bool by_block) {
  const bool real = Device(0).kind() == DeviceKind::cuda;
  return by_block ? run<ScopeKind::block>(plan, window, real ? 512 : 64) : run<ScopeKind::thread>(plan, window, 32);
}

}  // namespace

Row measure_slots(Measure measure, std::int64_t bytes, int window, double seconds, bool by_block) {
  const auto ns = static_cast<std::uint64_t>(seconds * 1e9);
  Row row;
  row.whose = "dcgn " + std::string(version);
  row.measure = name_of(measure);
  row.path = "slot-slot";
  row.scope = by_block ? "block" : "thread";
  row.bytes = bytes;
  const bool to_and_fro = measure == Measure::latency;
  if (!to_and_fro) row.window = window_of(bytes, window);
  const bool both_ways = measure == Measure::bidirectional;
  const Samples found = to_and_fro ? run(Plan{bytes, ns}, 1, by_block)
                                   : run(WindowPlan{bytes, ns, row.window, both_ways}, row.window, by_block);
  if (found.blocks) set_figures_of_rounds(row, found, to_and_fro ? 2 : row.window);
  return row;
}

}  // namespace dcgn::bench
