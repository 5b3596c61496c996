#include "core/bench/p2p.hpp"

#include <dcgn/message/endpoint.hpp>
#include <dcgn/version.hpp>

#include <algorithm>
#include <utility>

namespace dcgn::bench {

const char* name_of(Path path) {
  switch (path) {
    case Path::cpu_cpu: return "cpu-cpu";
    case Path::cpu_slot: return "cpu-slot";
    case Path::slot_slot: return "slot-slot";
    case Path::slot_slot_local: return "slot-slot-local";
    case Path::slot_slot_staged: return "slot-slot-staged";
    case Path::device_device: return "device-device";
    case Path::device_device_local: return "device-device-local";
  }
  return "";
}

const char* name_of(Idea idea) {
  switch (idea) {
    case Idea::quick: return "quick";
    case Idea::checks: return "checks";
    case Idea::relaxed: return "relaxed";
    case Idea::bells: return "bells";
    case Idea::batches: return "batches";
    case Idea::p2p: return "p2p";
    case Idea::copy_engine: return "copy-engine";
    case Idea::placing: return "placing";
  }
  return "";
}

Path path_here(Path path) {
  const bool enough = Device::count() >= gpus_of(path);
  if (path == Path::slot_slot) return !enough ? Path::slot_slot_local : Config().p2p ? path : Path::slot_slot_staged;
  return path == Path::device_device && !enough ? Path::device_device_local : path;
}

bool is_of_slots(Path path) {
  return path == Path::slot_slot || path == Path::slot_slot_local || path == Path::slot_slot_staged;
}

bool is_of_devices(Path path) { return path == Path::device_device || path == Path::device_device_local; }

int gpus_of(Path path) {
  switch (path) {
    case Path::cpu_cpu: return 0;
    case Path::cpu_slot:
    case Path::slot_slot_local:
    case Path::device_device_local: return 1;
    case Path::slot_slot:
    case Path::slot_slot_staged:
    case Path::device_device: return 2;
  }
  return 0;
}

Config config_for(const Workload& work, std::vector<NodeShape> nodes) {
  Config config;
  config.nodes = std::move(nodes);
  if (work.path == Path::slot_slot_staged) config.p2p = false;
  if (!work.without) return config;
  switch (*work.without) {
    case Idea::quick: config.without |= message::without_quick; break;
    case Idea::checks: config.without |= message::without_checks; break;
    case Idea::relaxed: config.without |= message::without_relaxed; break;
    case Idea::bells: config.without |= message::without_bells; break;
    case Idea::batches: config.without |= message::without_batches; break;
    case Idea::p2p: config.p2p = false; break;
    case Idea::copy_engine: config.copy_engine_bytes = Config::never_copied; break;
    case Idea::placing: config.place_threads = 0; break;
  }
  return config;
}

std::string name_of(const Scope& scope) {
  switch (scope.kind) {
    case ScopeKind::thread: return "thread";
    case ScopeKind::warp: return "warp";
    case ScopeKind::block: return "block";
    case ScopeKind::blocks: return scope.blocks ? "blocks:" + std::to_string(scope.blocks) : "grid";
  }
  return "";
}

unsigned blocks_for(const Scope& scope, const Device& device, unsigned slots) {
  if (scope.kind != ScopeKind::blocks) return 1;
  const auto multiprocessors = static_cast<unsigned>(device.properties().multiprocessors);
  return scope.blocks ? scope.blocks : std::max(1u, multiprocessors / slots);
}

Launch launch_for(const Scope& scope, const Device& device, unsigned slots) {
  unsigned threads = gpu::warp_size;
  if (scope.kind == ScopeKind::block || scope.kind == ScopeKind::blocks) {
    // An emulated thread costs the host a switch. 512 threads of a GPU keep a block's share of the link busy, and agree
    // sooner than 1024; of several blocks, the more the better.
    const unsigned many = scope.kind == ScopeKind::block ? 512 : 1024;
    const unsigned suited = device.kind() == DeviceKind::cuda ? many : 128;
    threads = scope.threads ? scope.threads : suited;
  }
  return {.grid = Dim3(slots * blocks_for(scope, device, slots)), .block = Dim3(threads)};
}

Row row_for(const Workload& work, const char* measure, unsigned slots) {
  Row row{.whose = "dcgn " + std::string(version),
          .measure = measure,
          .path = name_of(work.path) + std::string(work.split ? ", split" : ""),
          .scope = "-",
          .bytes = work.bytes,
          .without = work.without ? name_of(*work.without) : ""};
  if (slots == 0) return row;
  row.scope = name_of(work.scope);
  row.blocks = blocks_for(work.scope, Device(0), slots);
  row.threads = launch_for(work.scope, Device(0), slots).block.volume();
  return row;
}

}  // namespace dcgn::bench
