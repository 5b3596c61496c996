// Messages between two ranks, or many, of any kinds: how long they take, how many there are, and what the machine
// allows.
//
// A measurement is a job of its own. Every function here returns one row and throws what Job does.
#pragma once

#include "bench/measure.hpp"
#include "bench/row.hpp"
#include "bench/window.hpp"

#include <dcgn/config.hpp>
#include <dcgn/device.hpp>
#include <dcgn/gpu/kernel.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace dcgn::bench {

// The two ranks. slot_slot: of two GPUs; slot_slot_local: of one; slot_slot_staged: of two that do without each other's
// memory. device_device: CPU ranks whose messages lie in the memory of two GPUs; device_device_local: of one.
enum class Path { cpu_cpu, cpu_slot, slot_slot, slot_slot_local, slot_slot_staged, device_device, device_device_local };

inline constexpr Path all_paths[] = {
    Path::cpu_cpu,          Path::cpu_slot,      Path::slot_slot,          Path::slot_slot_local,
    Path::slot_slot_staged, Path::device_device, Path::device_device_local};

const char* name_of(Path path);
// The path that is measured where this one is asked for: those of two GPUs become those of one where there are no two;
// with DCGN_P2P=off, slot_slot is slot_slot_staged.
Path path_here(Path path);
// How many GPUs it takes.
int gpus_of(Path path);
bool is_of_slots(Path path);    // both ranks
bool is_of_devices(Path path);  // CPU ranks with messages in device memory

// What a job can do without, to see what it is worth: ideas of the protocol, as in DCGN_WITHOUT; the GPUs' way to each
// other's memory; their copy engines; the storing of long messages by their senders.
enum class Idea { quick, checks, relaxed, bells, batches, p2p, copy_engine, placing };

inline constexpr Idea all_ideas[] = {Idea::quick,   Idea::checks, Idea::relaxed,     Idea::bells,
                                     Idea::batches, Idea::p2p,    Idea::copy_engine, Idea::placing};

const char* name_of(Idea idea);

// Who makes a slot's calls together.
enum class ScopeKind { thread, warp, block, blocks };

// Threads that a kernel of this scope may have: fewer leave more registers to each.
constexpr unsigned most_threads(ScopeKind kind) {
  switch (kind) {
    case ScopeKind::block: return 512;
    case ScopeKind::blocks: return 1024;
    case ScopeKind::thread:
    case ScopeKind::warp: return 32;
  }
  return 32;
}

struct Scope {
  ScopeKind kind = ScopeKind::block;
  unsigned blocks = 1;   // of ScopeKind::blocks; 0: the grid, a block for each multiprocessor
  unsigned threads = 0;  // of a block where all of them take part; 0: as many as suit the device
};

std::string name_of(const Scope& scope);
// One block for each call at a time, or several: the launch that `slots` slots of this scope on one GPU need.
Launch launch_for(const Scope& scope, const Device& device, unsigned slots);
// How many blocks each of them has.
unsigned blocks_for(const Scope& scope, const Device& device, unsigned slots);

struct Workload {
  Path path = Path::slot_slot;
  Scope scope{};  // of slots
  std::int64_t bytes = 8;
  double seconds = 0.2;       // that the timed part should take
  int window = usual_window;  // messages under way, in windows; as window_of() has it
  int slots = 0;              // streams of a rate; 0: as many as a GPU has multiprocessors
  int senders = 8;            // of any-source
  bool split = false;         // latency: of no more than a block, in what split() makes of the two ranks
  std::optional<Idea> without{};
};

// The settings of a measurement's job.
Config config_for(const Workload& work, std::vector<NodeShape> nodes);

// All that is known of a row of ours before the measurement; `slots` are on each GPU: 0 for CPU ranks.
Row row_for(const Workload& work, const char* measure, unsigned slots);

// Between two ranks. Rounds are to and fro, or windows; times are of one message, and GB/s of one direction.
Row measure_latency(const Workload& work);
Row measure_windows(const Workload& work, Measure measure);
// Streams from slots of one GPU to slots of another, or of the same: messages a second, over all. Rounds are messages.
Row measure_rate(const Workload& work);
// Half a round trip between slot 0 of GPU 0, which receives from any source, and one of the senders at a time.
Row measure_any_source(const Workload& work);

// What became of the messages of many streams.
struct Soak {
  std::uint64_t messages = 0;  // sent
  std::uint64_t received = 0;  // of them
  std::uint64_t lost = 0;      // and never came
  std::uint64_t duplicates = 0;
  std::uint64_t reordered = 0;  // behind one that was sent later
  std::uint64_t damaged = 0;    // not what was sent
  double seconds = 0;           // from the first to the last, by the receiving GPU's clock

  std::uint64_t wrong() const { return lost + duplicates + reordered + damaged; }
};
// Sends at least `messages` over all streams. `progress` is told now and then, by another thread, how many have come.
Soak soak(const Workload& work, std::uint64_t messages, const std::function<void(std::uint64_t)>& progress);
Row row_of(const Workload& work, const Soak& soak);

// The limits beside them, on the same path, in the same units, of bytes that are checked.

// Kernels that store into the other GPU's memory and, but for latency, kernels that load from it, with the blocks and
// threads of the scope. None where there are no two slots, or where they do not reach each other.
std::vector<Row> limits_of_kernels(const Workload& work, Measure measure);
// Plain copies, of no scope: memcpy between CPU ranks, the copy engine where device memory takes part, and on the
// staged path the copy engines to pinned memory, from it, and through it. As many are under way as there are messages.
// Between slots there are none for latency, where nobody would start a copy for each.
std::vector<Row> limits_of_copies(const Workload& work, Measure measure);
// Half a round trip of four bytes with their flag in one 8-byte store: two slots' memories, or pinned memory between a
// CPU thread and a GPU. Nothing where there is no such memory.
std::optional<Row> limit_of_flag(const Workload& work);

}  // namespace dcgn::bench
