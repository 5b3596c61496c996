// Messages between two ranks, or many, of any kinds: how long they take, how many there are, and what the machine
// allows.
//
// A measurement is a job of its own. Every function here returns one row and throws what Job does.
#pragma once

#include "bench/row.hpp"
#include "bench/window.hpp"

#include <dcgn/device.hpp>
#include <dcgn/launch.hpp>

#include <cstdint>
#include <functional>
#include <string>

namespace dcgn::bench {

// The two ranks. slot_slot: of two GPUs; slot_slot_local: of one; device_device: CPU ranks whose messages lie in the
// memory of two GPUs.
enum class Path { cpu_cpu, cpu_slot, slot_slot, slot_slot_local, device_device };

const char* name_of(Path path);
// The path that is measured where this one is asked for: slot_slot needs two GPUs, or becomes slot_slot_local.
Path path_here(Path path);
// How many GPUs it takes.
int gpus_of(Path path);

// Who makes a slot's calls together.
enum class ScopeKind { thread, warp, block, blocks };

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
};

// Between two ranks. Latency is half a round trip, and its rounds are to and fro. Else rounds are windows, one way and
// then an answer, or each way at once; times are of one message, and GB/s of one direction.
enum class Measure { latency, bandwidth, bidirectional };

const char* name_of(Measure measure);
Row measure_latency(const Workload& work);
Row measure_windows(const Workload& work, Measure measure);
// Streams from slots of one GPU to slots of another, or of the same: messages a second, over all. Rounds are messages.
Row measure_rate(const Workload& work);
// Half a round trip between slot 0 of GPU 0, which receives from any source, and one of `senders` slots at a time.
Row measure_any_source(const Workload& work, int senders);

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

// The limits beside them, on the same path, in the same units.

// Plain copies: memcpy between CPU ranks, the copy engine where device memory takes part. As many are under way as
// there are messages: one at a time for latency.
Row limit_of_copies(const Workload& work, Measure measure);
// Whether kernels of its GPUs reach each other's memory, which the following two take for granted: calls that say so
// open the way. No kernel may run meanwhile.
bool kernels_reach(Path path);
// A kernel of stores, between slots, with the blocks and threads of the scope.
Row limit_of_stores(const Workload& work, Measure measure);
// Half a round trip of four bytes with their flag in one 8-byte store: two slots' memories, or pinned memory between a
// CPU thread and a GPU.
Row limit_of_flag(const Workload& work);

}  // namespace dcgn::bench
