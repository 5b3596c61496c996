// A simulated network for other simulators to drive, cycle by cycle: gem5, GPGPU-Sim, SST, or a program of your own.
//
//   dcgn::SimulatedNetwork network("[topology]\nkind = \"mesh\"\nextents = [4, 4]\n");
//   network.inject({.source = 0, .destination = 15, .flits = 5, .tag = 7});
//   while (!network.idle()) network.step();
//   for (const auto& delivery : network.take_deliveries()) ...
//
// Link dcgn::memnet. What fails throws dcgn::Error. Objects are independent: one thread may use one, others theirs.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace dcgn {

class SimulatedNetwork {
 public:
  struct Packet {
    int source = 0;  // terminals, from 0
    int destination = 0;
    int message_class = 0;  // below router.message_classes: requests 0, replies 1
    int flits = 1;
    std::uint64_t tag = 0;  // the caller's
  };

  // Times are cycles of network.clock. The latency is delivered - created.
  struct Delivery {
    Packet packet;
    std::int64_t created = 0;
    std::int64_t injected = 0;   // when its head left the source queue
    std::int64_t delivered = 0;  // when its tail came out
    int hops = 0;                // routers passed
  };

  // Since construction.
  struct Counters {
    std::int64_t injected_packets = 0;  // taken by inject()
    std::int64_t delivered_packets = 0;
    std::int64_t injected_flits = 0;  // that have left source queues
    std::int64_t delivered_flits = 0;
    std::int64_t flit_hops = 0;  // flits through switches
  };

  // A channel or a terminal's port, in one direction.
  struct Link {
    std::string from;  // "router 3", "node 7"
    std::string to;
    int number = 1;          // among those with the same ends, which parallel channels have
    double bandwidth = 1;    // flits a cycle
    std::int64_t flits = 0;  // carried since construction
  };

  // From the text of a configuration, as `dcgn sim run` takes it, of an open loop: its [topology], [network], [router]
  // and [routing] count, and the program is the traffic. `settings`: "key=value", which come before the text. Throws
  // Error(configuration), naming line and key, also for a network that could deadlock.
  explicit SimulatedNetwork(const std::string& toml, const std::vector<std::string>& settings = {});
  // The same from a file, which may be a booksim2 configuration, FILE.cfg. Throws Error(io), too, where it cannot be
  // read.
  static SimulatedNetwork load(const std::string& file, const std::vector<std::string>& settings = {});
  // What was moved from may be assigned to or destroyed, and no more.
  SimulatedNetwork(SimulatedNetwork&&) noexcept;
  SimulatedNetwork& operator=(SimulatedNetwork&&) noexcept;
  ~SimulatedNetwork();

  int terminals() const;
  std::string terminal_name(int terminal) const;  // "node 3", "GPU 0"; Error(configuration) where there is none
  double clock_ghz() const;
  int flit_bytes() const;

  // Whether the source's queue has room: always, unless traffic.source_queue_flits bounds it.
  bool can_inject(const Packet& packet) const;
  // Created in this cycle. Throws Error(configuration) for a terminal, class or size that is not there, a pair that may
  // not talk, a queue without room.
  void inject(const Packet& packet);
  // Whether a terminal takes new packets of a class: true at first. Others wait in the network meanwhile.
  void set_accepting(int terminal, int message_class, bool accepting);

  std::int64_t now() const;
  void step();
  // Steps until that cycle, in no time while idle(). One that has passed changes nothing. Throws Error(configuration)
  // for one beyond 2^62.
  void advance(std::int64_t cycle);
  // Nothing is queued or on its way.
  bool idle() const;

  // Packets that came out since the last call, in order. They pile up in memory until they are taken.
  std::vector<Delivery> take_deliveries();
  Counters counters() const;
  // All links with what they carried, in an order that stays.
  std::vector<Link> links() const;

 private:
  struct State;
  explicit SimulatedNetwork(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace dcgn
