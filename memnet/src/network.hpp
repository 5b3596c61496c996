// The network at work, cycle by cycle: input-queued virtual-channel routers with credits.
//
//   Network network(topology, parameters);
//   network.inject({.source = 0, .destination = 5, .message_class = 0, .flits = 1, .tag = 7});
//   while (!network.idle()) network.step();
//   for (const Delivery& delivery : network.deliveries()) ...
#pragma once

#include "memnet/src/parameters.hpp"
#include "memnet/src/topology.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace dcgn::memnet {

struct Packet {
  int source = 0;  // terminals
  int destination = 0;
  int message_class = 0;
  int flits = 1;
  std::uint64_t tag = 0;  // the caller's
};

// Times are cycles. Latency is delivered - created, network latency delivered - injected.
struct Delivery {
  Packet packet;
  std::int64_t created = 0;
  std::int64_t injected = 0;   // when its head left the source queue
  std::int64_t delivered = 0;  // when its tail came out
  int hops = 0;                // routers passed
};

// All numbers since construction.
struct Counters {
  std::int64_t cycles = 0;
  std::int64_t injected_packets = 0;  // accepted by inject()
  std::int64_t delivered_packets = 0;
  std::int64_t injected_flits = 0;  // that have left source queues
  std::int64_t delivered_flits = 0;
  std::int64_t flit_hops = 0;  // flits through switches
};

class Network {
 public:
  // Checks parameters and topology, and refuses with the cycle what could deadlock: Error(configuration).
  Network(const Topology& topology, const Parameters& parameters);
  Network(Network&&) noexcept;
  Network& operator=(Network&&) noexcept;
  ~Network();

  // Whether the source queue has room for so many flits more. A packet longer than the queue fits an empty one.
  bool can_inject(int terminal, int message_class, int flits) const;
  // Created now, or at an earlier cycle that the second form names. Throws Error(configuration) for a terminal, class
  // or size that is not there, a pair that may not talk, a queue without room.
  void inject(const Packet& packet);
  void inject(const Packet& packet, std::int64_t created);

  // Whether a terminal takes new packets of a class: true at first. What is on its way waits in the network meanwhile;
  // a packet whose head has been let through comes out in full.
  void set_accepting(int terminal, int message_class, bool accepting);

  std::int64_t now() const;
  void step();
  // Neither queued nor in flight: nothing will happen until the next inject().
  bool idle() const;
  // Goes on to a cycle not before now() in no time while idle; otherwise steps until then.
  void advance(std::int64_t cycle);
  // The first cycle from now on at which anything can happen; now() if that is not known to be later.
  std::int64_t next_event() const;

  // Packets that came out since clear_deliveries(), in order.
  const std::vector<Delivery>& deliveries() const;
  void clear_deliveries();

  const Counters& counters() const;
  // Flits carried, by the topology's directed channels; into the network and out of it, by terminal and port.
  std::int64_t channel_flits(int channel) const;
  std::int64_t injection_flits(int terminal, int port) const;
  std::int64_t ejection_flits(int terminal, int port) const;
  std::int64_t source_queue_flits(int terminal, int message_class) const;

  // Throws Error(configuration) that says what is wrong where flits or credits got lost or doubled; for tests.
  void check_conservation() const;

  // The latency of a packet without others in its way: 2 + (stages + 1) * R + extra link cycles + (flits - 1) on
  // one-cycle links without SerDes, R routers on the way. For minimal routing, and packets that fit a VC or VCs that
  // hold what a link and the way of its credits take: other packets wait for credits even alone. Links slower than a
  // flit a cycle and pass-through paths are counted.
  std::int64_t zero_load_latency(int source, int destination, int flits) const;
  int routers_on_route(int source, int destination) const;
  std::string routes() const;  // RouteTable::description(), for reports

  const Topology& topology() const;
  const Parameters& parameters() const;

 private:
  class Core;
  std::unique_ptr<Core> core_;
};

}  // namespace dcgn::memnet
