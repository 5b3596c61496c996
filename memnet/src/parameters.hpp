// What a network and a run of it are made of; the defaults are those of section VI.
#pragma once

#include <cstdint>
#include <string_view>

namespace dcgn::memnet {

enum class Routing : std::uint8_t {
  minimal,   // dimension order on grids, shortest paths elsewhere; of parallel channels the one with least waiting
  valiant,   // minimal to a random router, from there minimal
  ugal,      // of a minimal and a Valiant route the one that promises less waiting
  adaptive,  // minimal, over the channel and local HMC into the network that promise least waiting
};
std::string_view to_string(Routing routing) noexcept;

// What UGAL knows of the queues on a route.
enum class UgalQueues : std::uint8_t {
  route,    // all of them, as no router does by itself
  channel,  // the first channel's, times the channels of the route
};
std::string_view to_string(UgalQueues queues) noexcept;

struct Parameters {
  // Clock and channels.
  double clock_ghz = 1.25;
  int flit_bytes = 16;             // what a channel of 20 GB/s carries in a cycle
  double serdes_ns = 3.2;          // for links with Link::serdes; rounded up to cycles
  int pass_through_stages = 1;     // of the router, for packets on a pass-through path
  double active_pj_per_bit = 2.0;  // of a flit on a channel between chips
  double idle_pj_per_bit = 1.5;    // of a slot without one

  // Routers.
  int stages = 4;           // 1 .. 16: 4 are route computation, VC allocation, switch allocation, traversal; 3 has the
                            // route from the router before; 2 allocates VC and switch at once; 1 traverses at once
  int message_classes = 2;  // requests and replies; 1 .. 4
  int vcs_per_class = 6;    // at most 64 VCs in all
  int vc_buffer_bytes = 512;
  int credit_delay = 2;  // cycles that a router takes over a credit, beyond the link's

  // Routing.
  Routing routing = Routing::minimal;
  UgalQueues ugal_queues = UgalQueues::route;  // where terminals have one port; else UGAL knows first channels
  double ugal_threshold = 0;                   // flits; larger prefers minimal routes
  // Packets of class 0 cause packets of the next class (of the same where there is one class): part of the deadlock
  // check. Runs with requests and replies set it.
  bool replies = false;
  int source_queue_flits = 0;  // per terminal and message class; 0: without bound

  // Runs.
  std::uint64_t seed = 1;
  int threads = 1;                 // of one simulation, 1 .. 64: results do not depend on them
  std::int64_t warmup_cycles = 0;  // 0: until the latency stands still
  std::int64_t measure_cycles = 10000;
  std::int64_t max_cycles = 1000000;  // more than warm-up and measurement; a run that takes longer is saturated
  double latency_limit = 500;         // cycles by which the mean may exceed that at zero load, or twice the latter

  int vcs() const { return message_classes * vcs_per_class; }
  int vc_buffer_flits() const { return vc_buffer_bytes / flit_bytes; }
  int serdes_cycles() const;
  double flits_to_gbytes() const { return flit_bytes * clock_ghz; }  // flits per cycle to GB/s

  // Throws Error(configuration) naming the key and the value.
  void validate() const;
};

}  // namespace dcgn::memnet
