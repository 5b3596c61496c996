#include "bench/p2p.hpp"

#include <algorithm>

namespace dcgn::bench {

const char* name_of(Path path) {
  switch (path) {
    case Path::cpu_cpu: return "cpu-cpu";
    case Path::cpu_slot: return "cpu-slot";
    case Path::slot_slot: return "slot-slot";
    case Path::slot_slot_local: return "slot-slot-local";
    case Path::device_device: return "device-device";
  }
  return "";
}

const char* name_of(Measure measure) {
  switch (measure) {
    case Measure::latency: return "latency";
    case Measure::bandwidth: return "bandwidth";
    case Measure::bidirectional: return "bidirectional";
  }
  return "";
}

Path path_here(Path path) {
  return path == Path::slot_slot && Device::count() < gpus_of(path) ? Path::slot_slot_local : path;
}

int gpus_of(Path path) {
  switch (path) {
    case Path::cpu_cpu: return 0;
    case Path::cpu_slot:
    case Path::slot_slot_local: return 1;
    case Path::slot_slot:
    case Path::device_device: return 2;
  }
  return 0;
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
    // An emulated thread costs the host a switch; a GPU needs many to keep a link busy.
    const unsigned suited = device.kind() == DeviceKind::cuda ? 1024 : 128;
    threads = scope.threads ? scope.threads : suited;
  }
  return {.grid = Dim3(slots * blocks_for(scope, device, slots)), .block = Dim3(threads)};
}

}  // namespace dcgn::bench
