// The limits that kernels find: stores, loads, and a flag.
#include "bench/memory.hpp"
#include "bench/window.hpp"
#include "core/bench/limit_kernel.hpp"
#include "core/bench/p2p.hpp"
#include "core/bench/pinned.hpp"

#include <dcgn/gpu/launch.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace dcgn::bench {

namespace {

// The GPUs of both ends; there is one where an end is a CPU.
struct TwoDevices {
  explicit TwoDevices(Path path) : first(0), second(gpus_of(path) == 2 ? 1 : 0) {}
  const Device& of(int side) const { return side == 0 ? first : second; }

  Device first, second;
};

// Whether kernels of the path's GPUs reach each other's memory. Calls that say so open the way; no kernel may run
// meanwhile.
bool kernels_reach(Path path) {
  if (gpus_of(path) == 0) return false;
  const TwoDevices devices(path);
  return devices.first.can_reach(devices.second) && devices.second.can_reach(devices.first);
}

template <Crossing How>
Row limit_of_kernel(const Workload& work, Measure measure) {
  const TwoDevices devices(work.path);
  const bool local = work.path == Path::slot_slot_local;
  const int window = measure == Measure::latency ? 1 : window_of(work.bytes, work.window);
  const std::size_t extent = static_cast<std::size_t>(CopyKernel<How>::begin_of(window - 1, work.bytes) + work.bytes);
  // One GPU of a pair has the blocks of one slot, as the messages beside it have.
  Row row = row_for(work, name_of(measure), local ? 2 : 1);
  row.whose = std::string(local ? "limit: " : "limit: peer ") + (How == Crossing::stores ? "stores" : "loads");
  // Of a scope of one thread the others of its block are no part.
  if (work.scope.kind == ScopeKind::thread) row.threads = 1;
  const Launch launch{.grid = Dim3(row.blocks), .block = Dim3(row.threads)};
  if (measure != Measure::latency) row.window = window;

  constexpr unsigned char sent = 0x5a;
  std::vector<DeviceBuffer<unsigned char>> from, to;
  std::vector<Stream> streams;
  const int ways = measure == Measure::bidirectional ? 2 : 1;
  const auto runs_on = [&](int way) -> const Device& { return devices.of(How == Crossing::stores ? way : 1 - way); };
  for (int way = 0; way < ways; ++way) {
    from.emplace_back(devices.of(way), extent);
    to.emplace_back(devices.of(1 - way), extent);
    devices.of(way).fill(from.back().data(), sent, extent);
    devices.of(1 - way).fill(to.back().data(), static_cast<unsigned char>(~sent), extent);
    streams.emplace_back(runs_on(way));
  }
  // Microseconds for so many messages each way.
  const auto time = [&](std::uint64_t passes) {
    const std::uint64_t begin = now_ns();
    for (int way = 0; way < ways; ++way) {
      const auto w = static_cast<std::size_t>(way);
      runs_on(way).launch(streams[w], launch, CopyKernel<How>{}, to[w].data(), from[w].data(), work.bytes, window,
                          passes);
    }
    for (Stream& stream : streams) stream.synchronize();
    return static_cast<double>(now_ns() - begin) * 1e-3;
  };
  // Launches so long that their start does not count.
  constexpr int launches = 10;
  const double wanted_us = std::max(work.seconds * 1e6 / launches, 3e3);
  std::uint64_t passes = 1;
  time(passes);
  for (double us = time(passes); us < wanted_us / 2; us = time(passes))
    passes = static_cast<std::uint64_t>(static_cast<double>(passes) * std::clamp(wanted_us / us, 2.0, 1000.0));
  std::vector<double> us;
  us.reserve(launches);
  for (int i = 0; i < launches; ++i) us.push_back(time(passes) / static_cast<double>(passes));
  set_figures(row, us, passes);
  time(static_cast<std::uint64_t>(window));  // all of it, so that all of it can be checked
  for (int way = 0; way < ways; ++way)
    for (int i = 0; i < window; ++i)
      row.wrong += count_other(devices.of(1 - way),
                               to[static_cast<std::size_t>(way)].data() + CopyKernel<How>::begin_of(i, work.bytes),
                               static_cast<std::size_t>(work.bytes), sent);
  return row;
}

}  // namespace

std::vector<Row> limits_of_kernels(const Workload& work, Measure measure) {
  if ((work.path != Path::slot_slot && work.path != Path::slot_slot_local) || !kernels_reach(work.path)) return {};
  std::vector<Row> rows = {limit_of_kernel<Crossing::stores>(work, measure)};
  if (measure != Measure::latency) rows.push_back(limit_of_kernel<Crossing::loads>(work, measure));
  return rows;
}

std::optional<Row> limit_of_flag(const Workload& work) {
  if (work.path == Path::slot_slot_staged || is_of_devices(work.path) || !kernels_reach(work.path)) return std::nullopt;
  Row row{.whose = "limit: flag", .path = name_of(work.path), .scope = "-", .bytes = 8};
  const bool cpu = work.path == Path::cpu_slot;
  const TwoDevices devices(work.path);
  // Each side looks at memory of its own; a CPU and a GPU have none but pinned memory in common.
  constexpr std::size_t apart = 64;
  const PinnedWords pinned(devices.first, 2 * apart);
  std::vector<DeviceBuffer<std::uint64_t>> memory;
  std::uint64_t* words[2];
  for (int side = 0; side < 2; ++side) {
    memory.emplace_back(devices.of(side), apart);
    words[side] = cpu ? pinned.data() + static_cast<std::size_t>(side) * apart : memory.back().data();
  }
  const FlagSide leader{words[0], words[1]}, follower{words[1], words[0]};
  const auto samples = std::make_unique<Samples>();
  const DeviceBuffer<Samples> slot_samples(devices.first, 1);

  const auto run = [&](const FlagPlan& plan) {
    for (int side = 0; side < 2; ++side)
      cpu ? store_relaxed(*words[side], 0) : devices.of(side).fill(words[side], 0, sizeof *words[side]);
    Stream first(devices.first), second(devices.second);
    if (cpu) {
      devices.first.launch(first, {}, FlagKernel{}, leader, follower, false, plan, slot_samples.data());
      lead_flag(leader, plan, *samples);
    } else if (work.path == Path::slot_slot_local) {
      devices.first.launch(first, {.grid = 2, .block = 1}, FlagKernel{}, leader, follower, true, plan,
                           slot_samples.data());
    } else {
      devices.first.launch(first, {}, FlagKernel{}, leader, follower, true, plan, slot_samples.data());
      devices.second.launch(second, {}, FlagKernel{}, leader, follower, false, plan, slot_samples.data());
    }
    first.synchronize();
    second.synchronize();
    if (!cpu) slot_samples.download(samples.get());
    if (samples->blocks != plan.blocks)
      throw Error(Code::deadline, "bench", std::string("limit: flag, ") + name_of(work.path) + ": no answer in 10 s");
    return samples->ns[plan.blocks - 1];
  };
  run({1, 0});  // the kernel is where it will run, before one side of it waits for the other
  const std::uint64_t round_ns = run({2, 1000}) / 1000 + 1;
  const auto rounds = static_cast<std::uint64_t>(work.seconds * 1e9) / round_ns;
  constexpr std::uint32_t blocks = 100;
  run({blocks, static_cast<std::uint32_t>(std::clamp<std::uint64_t>(rounds / blocks, 100, 1'000'000))});
  set_figures(row, *samples);
  return row;
}

}  // namespace dcgn::bench
