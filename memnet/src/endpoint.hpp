// Closed-loop endpoints: GPUs and CPUs that keep up to a window of requests to memory outstanding, and the memory cubes
// (HMCs) that serve them. Requests go as class 0, replies as class 1. A read is a header flit, its reply a header and
// the data; a write carries the data, its reply is a header.
#pragma once

#include "memnet/src/address_map.hpp"
#include "memnet/src/network.hpp"
#include "memnet/src/simulation.hpp"
#include "memnet/src/trace.hpp"
#include "memnet/src/vault.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace dcgn::memnet {

// One read or write, of at most a line and within one.
struct Access {
  std::uint64_t address = 0;  // the program's: where it lies is the page placement's affair
  std::uint32_t bytes = 128;
  bool write = false;
  std::int64_t earliest = 0;  // the cycle before which it is not asked for
  std::uint64_t tag = 0;      // the source's own
};

// What a requester asks for, one access after another.
class AccessSource {
 public:
  enum class Next { access, later, end };

  virtual ~AccessSource() = default;
  // later: none now; it is asked again each cycle, after advance().
  virtual Next next(Access& access) = 0;
  // Once in each cycle in which anything happens.
  virtual void advance(std::int64_t /*now*/) {}
  // Whose reply has come.
  virtual void completed(const Access& /*access*/, std::int64_t /*now*/) {}
  // The first cycle behind `now` at which it does anything by itself, advance() being called; INT64_MAX: never.
  virtual std::int64_t next_cycle(std::int64_t /*now*/) const { return INT64_MAX; }
};

// The accesses of a traffic model: a walk line by line through a region of its own, mixed with random lines of all
// memory that is in use.
struct AccessPattern {
  std::int64_t count = 0;
  double read_share = 1;    // of the accesses
  double random_share = 0;  // of the accesses: to any line of `bytes`, by equal chance
  std::uint64_t bytes = 0;  // in use by all; at least a page
  std::uint64_t start = 0;  // where the walk starts
  std::uint32_t line_bytes = 128;
  std::uint32_t write_bytes = 128;  // of a write
  std::uint64_t seed = 1;
};
std::unique_ptr<AccessSource> pattern_accesses(const AccessPattern& pattern);

// The accesses of one source of a trace, none before its cycle. Packets of the trace are left out: see
// check_accesses() and replay_packets().
std::unique_ptr<AccessSource> trace_accesses(std::shared_ptr<const Trace> trace, std::uint32_t source);

// A GPU or CPU.
struct Requester {
  int terminal = 0;
  int window = 512;       // outstanding requests
  double gap_cycles = 0;  // least time from a request to the next: what computing takes
  int issue_width = 8;    // requests a cycle
  std::shared_ptr<AccessSource> source;
  std::int64_t count = 0;  // of the source's accesses, for Progress; 0: not known
  int placement = 0;       // which of the memory system's page placements its addresses mean
};

// The cubes are the topology's hmc terminals: of cluster c, the `locals` ones from c * locals on.
struct MemorySystem {
  DramTiming timing;
  std::vector<PagePlacement> placements;  // all of the same map
  int cube_queue = 32;  // requests in a cube's logic layer that wait for a full vault; then it takes no more
};

struct ClosedLoopResult {
  std::int64_t cycles = 0;  // until the last reply
  std::int64_t requests = 0;
  std::int64_t replies = 0;
  bool finished = true;            // false: stopped at max_cycles
  double cycles_per_request = 0;   // of all requesters together, while their windows are full
  LatencySummary latency;          // from issue to reply
  double hops = 0;                 // routers passed by a request and its reply
  std::vector<std::int64_t> done;  // by requester: the cycle of its last reply
  std::vector<int> peak;           // by requester: the most that was outstanding
  Energy energy;
  double active_flits_per_request = 0;
  double row_hit_share = 0;
  Counters counters;
};

// Runs until every access has its reply. Parameters need 2 message classes or more. With `record`, what was asked for
// is appended to it. `progress` is told the share of the replies that have come, where requesters say how many there
// will be. The same arguments give the same result. Throws Error(configuration) for requesters that are no
// processors of the topology, cubes that do not fit the map, a window below 1, an access that is not within a line.
ClosedLoopResult run_closed_loop(const Topology& topology, const Parameters& parameters, const MemorySystem& memory,
                                 const std::vector<Requester>& requesters, std::int64_t max_cycles = 100000000,
                                 Trace* record = nullptr, const Progress& progress = {},
                                 RunObserver* observer = nullptr);

// The energy of a run of so many requests and cycles, of which `result` is a sample.
Energy energy_of_all(const ClosedLoopResult& result, const Parameters& parameters, double requests, double cycles);

// Sends a trace's packets at their cycles and waits for all: the deliveries in order. Throws Error(configuration),
// naming the record, where one does not fit the topology.
std::vector<Delivery> replay_packets(const Topology& topology, const Parameters& parameters, const Trace& trace,
                                     RunObserver* observer = nullptr);

// Whether a trace is what `requesters` may ask for, or what replay_packets() may send. Throw Error(configuration),
// naming the first record that is not.
void check_accesses(const Trace& trace, std::size_t requesters);
void check_packets(const Topology& topology, const Parameters& parameters, const Trace& trace);

// Flits of a request and of its reply.
int request_flits(const Access& access, int flit_bytes);
int reply_flits(const Access& access, int flit_bytes);

}  // namespace dcgn::memnet
