// The state of a network at work: flat arrays, indexed by numbers given out once.
//
//   sender      what puts flits on a link and holds its credits: every router output, then every terminal port
//   input       a router's end of a link: where flits wait, with V virtual channels
//   sink        a terminal's end of an ejection link
//
// A cycle goes: flits and credits that arrive, terminals, then each router's VC allocation and switch allocation.
// Whatever one part of the network does reaches another a cycle later at the earliest, so that the order of routers
// within a cycle does not matter, but to UGAL where it looks along whole routes.
#pragma once

#include "memnet/src/network.hpp"
#include "memnet/src/routing.hpp"
#include "memnet/src/traffic.hpp"

#include <array>
#include <cstdint>
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
  bool quiet() const { return packets_in_network_ == 0 && pending_events_ == 0; }

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
  std::int64_t pending_events_ = 0;
  Counters counters_;
  std::vector<Delivery> deliveries_;
  std::vector<std::int32_t> port_begin_;      // by terminal: its first port
  std::vector<std::int32_t> eject_sender_;    // by port
  std::vector<std::int32_t> channel_sender_;  // by channel
  std::vector<std::int64_t> sent_flits_;      // by sender
  std::vector<std::int32_t> queued_;          // flits by terminal and message class
  std::vector<std::uint64_t> blocked_;        // by sender: VCs that new packets may not take
  int router_outputs_ = 0;                    // senders below are routers', those from here on the ports'
  int classes_ = 0;
  int vcs_ = 0;
  int shift_ = 0;                              // a port's VCs take up a power of two of places
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

  struct InputVc {
    std::uint64_t request = 0;  // output VCs that its packet may take
    std::uint16_t head = 0;     // of the ring
    std::uint16_t count = 0;
    std::uint8_t output = 0;  // of its packet, by number within the router
    std::uint8_t output_vc = 0;
    bool busy = false;  // its first flit's packet has been routed
    bool pass = false;  // that packet passes through
  };

  struct FlitEvent {
    std::uint32_t place;  // input VC, or sink: sender and VC with the top bit
    std::uint32_t flit;
  };

  // What happens in a cycle to come; the arrays keep their memory.
  struct Slot {
    std::vector<FlitEvent> flits;
    std::vector<std::uint32_t> credits;  // sender and VC
    std::vector<std::uint32_t> routed;   // input VCs whose route is known from then on
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

  static constexpr std::uint32_t sink_bit = 1U << 31;

  void build_ports();
  void build_attachments();
  int add_sender(const Link& link);
  // Numbers of VCs, at inputs or at senders.
  std::uint32_t place_of(int port, int vc) const {
    return static_cast<std::uint32_t>(port) << shift_ | static_cast<std::uint32_t>(vc);
  }
  int port_of(std::uint32_t place) const { return static_cast<int>(place >> shift_); }
  int vc_of(std::uint32_t place) const { return static_cast<int>(place & ((1U << shift_) - 1)); }
  Slot& slot(std::int64_t cycle) { return slots_[cycle & slot_mask_]; }

  int new_queued();
  void enter(Source& source);
  Entry choose_entry(int source, int destination);
  void choose_late(PacketState& state);
  int draw_intermediate(int from, int target);
  std::uint8_t draw_ties();
  int first_sender(int router, int target, RouteState state) const;
  std::int64_t flits_around(int sender) const;
  Queues queues_along(int router, int target, RouteState state, int flits) const;
  Queues queues_by_first(int router, int target, const RouteState& state, int hops, int flits) const;
  int emptiest(const Hop& hop, int turn) const;

  void arrive(const Slot& events);
  void sink(std::uint32_t place, std::uint32_t flit);
  void send_from_port(int port);
  void route_head(int router, std::uint32_t input_vc, std::int64_t ready);
  void allocate_vcs(int router);
  void grant_vcs(int router, int output);
  void take_vc(int router, int output, std::uint32_t input_vc, int vc);
  void allocate_switch(int router);
  void traverse(int router, int input, int output, int vc);
  bool link_free(int sender, const InputVc& state) const;
  void activate(int router) { active_[router >> 6] |= std::uint64_t{1} << (router & 63); }

  std::vector<QueuedPacket> queue_;
  std::int32_t free_queued_ = -1;
  std::vector<PacketState> packets_;
  std::vector<PacketRecord> records_;
  std::int32_t free_packet_ = -1;

  std::vector<Slot> slots_;
  std::int64_t slot_mask_ = 0;
  Pipeline normal_;
  Pipeline pass_;
  int depth_ = 0;  // flits per VC
  int serdes_ = 0;

  std::vector<std::int32_t> input_begin_;   // by router
  std::vector<std::int32_t> output_begin_;  // by router: its first sender
  std::vector<std::int32_t> input_router_;
  std::vector<std::int32_t> input_sender_;  // the other end of the link
  std::vector<std::uint8_t> input_pass_;    // by input: a pass-through channel
  std::vector<std::uint8_t> special_;       // by router: some link is slower than a flit a cycle, or passes through

  std::vector<std::int32_t> latency_;   // by sender: cycles on the link
  std::vector<std::int32_t> receiver_;  // by sender: input, or -1 for a sink
  std::vector<std::int32_t> sink_terminal_;
  std::vector<std::uint8_t> sender_pass_;
  std::vector<std::uint64_t> period_;      // by sender: of a flit, in 1/65536 cycles
  std::vector<std::uint64_t> busy_until_;  // by sender, the same unit
  std::vector<std::uint64_t> free_vcs_;    // by sender: VCs that no packet holds
  std::vector<std::uint64_t> credit_vcs_;  // by sender: VCs with a credit left
  std::vector<std::uint16_t> credits_;     // by sender and VC
  std::vector<std::int32_t> used_;         // by sender: credits that are out
  std::vector<std::int32_t> bound_;        // by sender: flits that are to leave by it, of packets whose heads have come
  std::vector<std::uint16_t> vc_grant_;    // by sender and VC: the input VC whose turn it is
  std::vector<std::uint8_t> switch_grant_;  // by sender: the input whose turn it is

  std::vector<InputVc> input_vcs_;           // by input and VC
  std::vector<std::uint32_t> flits_;         // by input, VC and place: packet, tail, head
  std::vector<std::uint8_t> accept_output_;  // by input and VC: the output and VC whose turn it is to be accepted
  std::vector<std::uint8_t> accept_vc_;
  std::vector<std::uint64_t> vc_waiting_;      // by input: VCs that wait for an output VC
  std::vector<std::uint64_t> vc_ready_;        // by input: VCs with an output VC and a flit
  std::vector<std::uint8_t> switch_vc_;        // by input: the VC whose turn it is
  std::vector<std::uint8_t> switch_accept_;    // by input: the output whose turn it is
  std::vector<std::uint64_t> waiting_inputs_;  // by router
  std::vector<std::uint64_t> ready_inputs_;    // by router
  std::vector<std::uint64_t> active_;          // routers with a flit, as bits

  std::vector<std::int32_t> port_terminal_;
  std::vector<Source> sources_;              // by port and message class
  std::vector<std::uint8_t> source_turn_;    // by port: the message class
  std::vector<std::uint64_t> active_ports_;  // with a packet queued, as bits
  Attachments entries_, exits_;
  std::vector<std::uint32_t> turn_;  // by terminal: packets sent, for taking turns

  // Scratch of one router's allocation.
  struct Request {
    std::uint32_t input_vc;
    std::int32_t number;  // of the input VC within the router
    std::int32_t next;
    std::uint64_t vcs;
    std::uint64_t granted;
  };
  std::vector<Request> requests_;
  std::array<std::int32_t, 64> requests_of_{};  // by output: the first request
  std::array<std::uint64_t, 64> wanted_{};      // by output: inputs
  std::array<std::uint64_t, 64> granted_{};     // by input: outputs
  std::vector<std::uint8_t> candidate_;         // by input and output: the VC
  std::vector<std::uint32_t> allocated_;        // input VCs that may bid for the switch in the next cycle
};

// The lowest set bit at or after `start`, else the lowest of all; `bits` is not 0.
inline int next_bit(std::uint64_t bits, int start) {
  const std::uint64_t later = start < 64 ? bits & (~std::uint64_t{0} << start) : 0;
  return __builtin_ctzll(later != 0 ? later : bits);
}

}  // namespace dcgn::memnet
