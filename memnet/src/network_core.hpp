// The state of a network at work: flat arrays, indexed by numbers given out once.
//
//   sender      what puts flits on a link and holds its credits: every router output, then every terminal port
//   input       a router's end of a link: where flits wait, with V virtual channels
//   sink        a terminal's end of an ejection link
//
// A cycle goes: flits and credits that arrive, terminals, then each router's VC allocation and switch allocation.
// Whatever one part of the network does reaches another a cycle later at the earliest, so that the order of routers
// within a cycle does not matter, but to UGAL where it looks along whole routes.
//
// Partitions are routers in a row, and the terminals whose first ports they have. Each has a thread, and a cycle has
// two parts: every thread does a cycle of its partition; then the first takes what came out, in the order that one
// thread would have it. What a partition does to another is an event of a later cycle: the sender writes it to a list
// that this pair has for itself, the receiver reads it in its cycle.
#pragma once

#include "memnet/src/network.hpp"
#include "memnet/src/routing.hpp"
#include "memnet/src/team.hpp"
#include "memnet/src/traffic.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace dcgn::memnet {

class Network::Core {
 public:
  Core(const Topology& topology, const Parameters& parameters);

  void inject(const Packet& packet, std::int64_t created);
  void step();
  void check_conservation() const;
  void check_pair(int source, int destination) const;
  std::int64_t zero_load_latency(int source, int destination, int flits, int* routers) const;
  bool quiet() const;

  struct Source {             // of one message class at one terminal port
    std::int32_t first = -1;  // of the queue, linked
    std::int32_t last = -1;
    std::int32_t packet = -1;  // that is entering the network
    std::int32_t flits = 0;    // queued, and those of the packet that have not left
    std::int32_t sent = 0;     // of the packet
    std::int16_t vc = -1;      // of the packet
    std::int16_t last_vc = -1;
  };

 private:
  friend class Network;  // whose state this is

  Topology topology_;
  Parameters parameters_;
  RouteTable routes_;
  Random random_;
  std::int64_t now_ = 0;
  std::int64_t packets_in_network_ = 0;  // queued ones too
  Counters counters_;
  std::vector<Delivery> deliveries_;
  std::vector<std::int32_t> port_begin_;      // by terminal: its first port
  std::vector<std::int32_t> eject_sender_;    // by port
  std::vector<std::int32_t> only_exit_;       // by terminal: the sender to it, or -1 where there are several
  std::vector<std::int32_t> channel_sender_;  // by channel
  std::vector<std::int32_t> queued_;          // flits by terminal and message class
  int router_outputs_ = 0;                    // senders below are routers', those from here on the ports'
  int classes_ = 0;
  int vcs_ = 0;
  int shift_ = 0;                              // a port's VCs take up a power of two of places
  std::uint32_t vc_bits_ = 0;                  // of places
  std::uint64_t class_mask_ = 0;               // the VCs of message class 0
  std::array<std::uint8_t, 64> class_base_{};  // by VC: the first VC of its message class

  // Route computation takes `rc` cycles, the switch is allocated in the same cycle as the VC or in the next, and the
  // flit is on the link `st` cycles after that.
  struct Pipeline {
    int rc = 0;
    bool same_cycle = false;
    int st = 1;
  };
  static Pipeline pipeline_of(int stages);

  // Past saturation source queues grow without bound: what routers look at is kept apart from what waits there, so that
  // it stays in the cache.
  struct QueuedPacket {
    Packet packet;
    std::int64_t created = 0;
    RouteState route;
    std::int32_t target = 0;  // router
    std::int32_t next = -1;   // of the queue, or of the free ones
  };

  struct PacketState {  // half a cache line: routers read one for every head
    RouteState route;
    std::int32_t target = 0;
    std::int32_t source = 0;  // terminals
    std::int32_t destination = 0;
    std::int32_t flits = 0;
    std::int32_t hops = 0;
  };

  struct PacketRecord {  // what its delivery tells, at the packet's index
    Packet packet;
    std::int64_t created = 0;
    std::int64_t injected = 0;
    std::int32_t next = -1;  // of the free ones
  };

  struct alignas(64) Sender {
    std::uint64_t free_vcs = 0;    // that no packet holds
    std::uint64_t credit_vcs = 0;  // with a credit left
    std::uint64_t blocked = 0;     // VCs that new packets may not take
    std::uint64_t busy_until = 0;  // in 1/65536 cycles
    std::int64_t sent_flits = 0;
    std::int32_t used = 0;          // credits that are out
    std::int32_t bound = 0;         // flits that are to leave by it, of packets whose heads have come
    std::int32_t latency = 0;       // cycles on the link
    std::int32_t receiver = -1;     // input, or -1 for a sink
    std::uint8_t switch_grant = 0;  // the input whose turn it is
    std::uint8_t to = 0;            // the receiver's partition
    std::uint8_t pass_through = 0;  // a pass-through channel
  };

  struct Input {
    std::int32_t router = 0;
    std::int32_t sender = 0;         // the other end of the link
    std::uint8_t from = 0;           // the sender's partition
    std::uint8_t switch_vc = 0;      // the VC whose turn it is
    std::uint8_t switch_accept = 0;  // the output whose turn it is
    std::uint8_t pass_through = 0;   // a pass-through channel
    std::int32_t credit_cycles = 0;  // until a credit is the sender's
  };

  struct InputVc {
    std::uint64_t request = 0;  // output VCs that its packet may take
    std::uint32_t front = 0;    // the first flit; the others are in the ring
    std::uint16_t head = 0;     // of the ring: where the first flit would be
    std::uint16_t count = 0;
    std::uint8_t output = 0;  // of its packet, by number within the router
    std::uint8_t output_vc = 0;
    std::uint8_t accept_output = 0;  // the output and VC whose turn it is to be accepted
    std::uint8_t accept_vc = 0;
    bool busy = false;  // its first flit's packet has been routed
    bool pass = false;  // that packet passes through
  };

  struct RouterState {
    std::uint32_t first_vc = 0;     // of its inputs
    std::int32_t first_output = 0;  // its first sender
    std::int32_t first_word = 0;    // of its VCs' bits
    std::uint8_t words = 0;
    std::uint8_t inputs = 0;
    std::uint8_t outputs = 0;
    bool special = false;  // some link is slower than a flit a cycle, or passes through
  };

  struct FlitEvent {
    std::uint32_t place;  // input VC
    std::uint32_t flit;
  };

  struct SinkEvent {
    std::uint32_t place;  // sender and VC
    std::uint32_t flit;
    std::int64_t left;  // the cycle in which it left its VC
  };

  // What happens in a cycle to come; the arrays keep their memory.
  struct alignas(128) Slot {
    std::vector<FlitEvent> flits;
    std::vector<SinkEvent> sinks;
    std::vector<std::uint32_t> credits;  // sender and VC
    std::vector<std::uint32_t> routed;   // input VCs whose route is known from then on
    bool empty() const { return flits.empty() && sinks.empty() && credits.empty() && routed.empty(); }
    void clear() {
      flits.clear();
      sinks.clear();
      credits.clear();
      routed.clear();
    }
  };

  struct Attachment {  // the ports of a terminal on one router
    std::int32_t router = 0;
    std::int32_t first = 0;  // in Attachments::ports
    std::int32_t count = 0;
  };

  struct Attachments {                // by which terminals send, or receive
    std::vector<std::int32_t> begin;  // by terminal, in `all`
    std::vector<Attachment> all;
    std::vector<std::int32_t> ports;
  };

  struct Entry {
    std::int32_t port = -1;
    std::int32_t target = -1;
    std::int32_t intermediate = -1;
    bool overlay = false;
    std::int64_t hops = 0;
    std::int64_t queue = 0;   // flits
    std::int64_t cycles = 0;  // that the hops and the queues promise
  };

  struct Queues {  // of a route
    std::int64_t flits = 0;
    std::int64_t held_up = 0;  // of them: that wait for others
  };

  // Scratch of one router's allocation.
  struct Request {
    std::int32_t number;  // of the input VC within the router
    std::int32_t next;    // for the same output
    std::uint64_t vcs;
  };

  struct Arrived {
    std::int64_t left;  // the cycle in which its tail left the last router
    std::int32_t packet;
  };

  // Of these each thread changes its own alone while threads run; the counts are sums, over all partitions, of which
  // one may be negative.
  struct alignas(128) Partition {
    std::size_t number = 0;
    std::int32_t first_router = 0;
    std::vector<Slot> slots;                  // by receiving partition and cycle
    std::vector<std::uint64_t> active;        // routers with a flit, as bits
    std::vector<std::int32_t> ports;          // of its terminals
    std::vector<std::uint64_t> active_ports;  // of these: with a packet queued, as bits
    std::int32_t free_queued = -1;            // of queue_
    std::int32_t free_packet = -1;            // of packets_
    std::int64_t free_packets = 0;
    std::int64_t injected_flits = 0;
    std::int64_t delivered_flits = 0;
    std::int64_t flit_hops = 0;
    std::vector<Arrived> arrived;  // packets whose tails came out in this cycle

    std::vector<Request> requests;               // room for all of a router
    std::array<std::int32_t, 64> requests_of{};  // by output: the last request
    std::array<std::uint64_t, 64> wanted{};      // by output: inputs
    std::array<std::uint64_t, 64> granted{};     // by input: outputs
    std::vector<std::uint8_t> candidate;         // by input and output: the VC
  };

  void build_ports();
  void build_attachments();
  int add_sender(const Link& link);
  // Numbers of VCs, at inputs or at senders.
  std::uint32_t place_of(int port, int vc) const {
    return static_cast<std::uint32_t>(port) << shift_ | static_cast<std::uint32_t>(vc);
  }
  int port_of(std::uint32_t place) const { return static_cast<int>(place >> shift_); }
  int vc_of(std::uint32_t place) const { return static_cast<int>(place & vc_bits_); }
  Slot& slot(Partition& from, std::size_t to, std::int64_t cycle) {
    return from.slots[to << slot_bits_ | static_cast<std::size_t>(cycle & slot_mask_)];
  }

  int new_queued(Partition& partition);
  void add_packets(Partition& partition);
  void enter(Partition& partition, Source& source);
  Entry choose_entry(int source, int destination);
  bool chooses_late(int source, const RouteState& route) const;
  void choose_late(PacketState& state);
  int draw_intermediate(int from, int target);
  std::uint8_t draw_ties();
  int first_sender(int router, int target, RouteState state) const;
  std::int64_t flits_around(int sender) const;
  Queues queues_along(int router, int target, RouteState state, int flits) const;
  Queues queues_by_first(int router, int target, const RouteState& state, int hops, int flits) const;
  int emptiest(const Hop& hop, int turn) const;
  int emptiest_exit(int router, const PacketState& packet) const;

  void build_partitions();
  void step_partition(Partition& own);
  void arrive(Partition& own, const Slot& events);
  void take_flits(Partition& own, const Slot& events);
  void sink(Partition& own, const SinkEvent& event);
  void deliver();
  void send_from_port(Partition& own, std::size_t place_in_partition);
  void route_head(Partition& own, const Input& input, std::uint32_t input_vc, std::int64_t ready);
  template <int Words>
  bool step_router(Partition& own, const RouterState& router);
  static void share_vcs(Request* requests, int first, const std::uint16_t* turns, int count);
  bool traverse(Partition& own, const RouterState& router, int number, int output);
  bool link_free(const Sender& sender, const InputVc& state) const;
  // A VC of a router waits for an output VC, or has one and a flit.
  void await_vc(Partition& own, const Input& input, std::uint32_t input_vc) { mark(waiting_, own, input, input_vc); }
  void await_switch(Partition& own, const Input& input, std::uint32_t input_vc) { mark(ready_, own, input, input_vc); }
  void mark(std::vector<std::uint64_t>& bits, Partition& own, const Input& input, std::uint32_t input_vc) {
    const RouterState& router = routers_[input.router];
    const std::uint32_t number = input_vc - router.first_vc;
    bits[router.first_word + (number >> 6)] |= std::uint64_t{1} << (number & 63);
    activate(own, input.router);
  }
  static void activate(Partition& own, int router) {
    const int bit = router - own.first_router;
    own.active[bit >> 6] |= std::uint64_t{1} << (bit & 63);
  }

  std::vector<QueuedPacket> queue_;
  std::vector<PacketState> packets_;
  std::vector<PacketRecord> records_;

  std::vector<Partition> partitions_;
  std::unique_ptr<Team> team_;  // where there are several
  std::vector<std::uint8_t> terminal_partition_;
  std::vector<Arrived> merged_;
  int slot_bits_ = 0;
  std::int64_t slot_mask_ = 0;
  Pipeline normal_;
  Pipeline pass_;
  int depth_ = 0;       // flits per VC
  bool large_ = false;  // the network does not fit the caches of a core
  int serdes_ = 0;
  bool single_ports_ = false;  // every terminal has one, and no path passes through
  bool chooses_late_ = false;  // routes of some packets are chosen when they leave their first routers
  bool draws_late_ = false;    // UGAL draws the other router where it decides, as it did before there were partitions

  std::vector<RouterState> routers_;
  std::vector<std::uint64_t> waiting_;  // by router: input VCs that wait for an output VC, as bits
  std::vector<std::uint64_t> ready_;    // and those with an output VC and a flit
  std::vector<Sender> senders_;
  std::vector<std::uint64_t> period_;    // by sender: of a flit, in 1/65536 cycles
  std::vector<std::uint16_t> credits_;   // by sender and VC
  std::vector<std::uint16_t> vc_grant_;  // by sender and VC: the input VC whose turn it is

  std::vector<Input> inputs_;
  std::vector<InputVc> input_vcs_;    // by input and VC
  std::vector<std::uint32_t> flits_;  // by input, VC and place: packet, tail, head

  std::vector<std::int32_t> port_terminal_;
  std::vector<std::int32_t> port_place_;   // in its partition's ports
  std::vector<Source> sources_;            // by port and message class
  std::vector<std::uint8_t> source_turn_;  // by port: the message class
  Attachments entries_, exits_;
  std::vector<std::uint32_t> turn_;  // by terminal: packets sent, for taking turns
};

// The lowest set bit at or after `start`, 0 .. 64, else the lowest of all; `bits` is not 0.
inline int next_bit(std::uint64_t bits, int start) {
  const std::uint64_t later = bits & (~std::uint64_t{0} << (start & 63));
  return __builtin_ctzll(later != 0 ? later : bits);
}

}  // namespace dcgn::memnet
