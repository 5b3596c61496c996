// How packets get into the network: the port, and the route where there is a choice.
#include "memnet/src/network_core.hpp"

#include <dcgn/error.hpp>

#include <algorithm>
#include <string>

namespace dcgn::memnet {

int Network::Core::new_queued(Partition& partition) {
  if (partition.free_queued < 0) {
    queue_.emplace_back();
    return static_cast<int>(queue_.size()) - 1;
  }
  const int index = partition.free_queued;
  partition.free_queued = queue_[index].next;
  return index;
}

// Each port may let a packet in, in a cycle.
void Network::Core::add_packets(Partition& partition) {
  while (partition.free_packets < static_cast<std::int64_t>(partition.ports.size())) {
    packets_.emplace_back();
    records_.emplace_back().next = partition.free_packet;
    partition.free_packet = static_cast<std::int32_t>(packets_.size()) - 1;
    ++partition.free_packets;
  }
}

// The first of a source's queue becomes a packet of the network.
void Network::Core::enter(Partition& partition, Source& source) {
  QueuedPacket& queued = queue_[source.first];
  source.packet = partition.free_packet;
  source.sent = 0;
  PacketState& state = packets_[source.packet];
  PacketRecord& record = records_[source.packet];
  partition.free_packet = record.next;
  --partition.free_packets;
  const Packet& packet = queued.packet;
  state = {queued.route, queued.target, packet.source, packet.destination, packet.flits, 0};
  record = {packet, queued.created, now_, -1};
  const std::int32_t next = queued.next;
  queued.next = partition.free_queued;
  partition.free_queued = source.first;
  source.first = next;
}

void Network::Core::inject(const Packet& packet, std::int64_t created) {
  const auto fail = [](const std::string& detail) { throw Error(Code::configuration, "simulate", detail); };
  check_pair(packet.source, packet.destination);
  if (packet.message_class < 0 || packet.message_class >= classes_) {
    fail("message class " + std::to_string(packet.message_class) + " is out of range, expected 0.." +
         std::to_string(classes_ - 1));
  }
  if (packet.flits < 1) fail("a packet of " + std::to_string(packet.flits) + " flits, expected 1 or more");
  if (created > now_) {
    fail("a packet created at cycle " + std::to_string(created) + ", expected at most now, " + std::to_string(now_));
  }
  std::int32_t& queued = queued_[packet.source * classes_ + packet.message_class];
  if (parameters_.source_queue_flits > 0 && queued > 0 && queued + packet.flits > parameters_.source_queue_flits) {
    fail("the source queue of " + topology_.terminals()[packet.source].name + " is full, expected can_inject()");
  }
  const Entry entry = choose_entry(packet.source, packet.destination);
  Partition& partition = partitions_[terminal_partition_[packet.source]];
  const int index = new_queued(partition);
  RouteState route = routes_.start(entry.intermediate, entry.overlay, draw_ties());
  // Threads draw nothing: there is one generator, and an order of its numbers.
  if (!draws_late_ && chooses_late(packet.source, route)) {
    const int from = entries_.all[entries_.begin[packet.source]].router;
    if (from != entry.target) route.intermediate = draw_intermediate(from, entry.target);
  }
  queue_[index] = {packet, created, route, entry.target, -1};
  ++turn_[packet.source];

  Source& source = sources_[static_cast<std::size_t>(entry.port) * classes_ + packet.message_class];
  if (source.first < 0) {
    source.first = index;
  } else {
    queue_[source.last].next = index;
  }
  source.last = index;
  source.flits += packet.flits;
  queued += packet.flits;
  const int place = port_place_[entry.port];
  partition.active_ports[place >> 6] |= std::uint64_t{1} << (place & 63);
  ++packets_in_network_;
  ++counters_.injected_packets;
}

// Of parallel channels the one with most room; those that are alike take turns.
int Network::Core::emptiest(const Hop& hop, int turn) const {
  int best = hop.channels[turn % hop.count];
  for (int i = 1; i < hop.count; ++i) {
    const int channel = hop.channels[(turn + i) % hop.count];
    if (senders_[channel_sender_[channel]].used < senders_[channel_sender_[best]].used) best = channel;
  }
  return best;
}

// Of the ports from a packet's last router to its terminal.
int Network::Core::emptiest_exit(int router, const PacketState& packet) const {
  int a = exits_.begin[packet.destination];
  while (exits_.all[a].router != router) ++a;
  const Attachment& attachment = exits_.all[a];
  int best = -1;
  for (int i = 0; i < attachment.count; ++i) {
    const int place = (i + packet.source) % attachment.count;
    const int sender = eject_sender_[exits_.ports[attachment.first + place]];
    if (best < 0 || senders_[sender].used < senders_[best].used) best = sender;
  }
  return best;
}

// The sender of a route's first channel; -1: the route ends where it starts.
int Network::Core::first_sender(int router, int target, RouteState state) const {
  const int goal = state.intermediate >= 0 && state.intermediate != router ? state.intermediate : target;
  return router == goal ? -1 : channel_sender_[emptiest(routes_.next(router, target, state), 0)];
}

// Flits that are to leave by a sender, and those at the other end of its link: a flit that nothing holds up is among
// them twice, at one router and at the next.
std::int64_t Network::Core::flits_around(int sender) const {
  std::int64_t flits = senders_[sender].bound;
  for (int vc = 0; vc < vcs_; ++vc) flits += input_vcs_[place_of(senders_[sender].receiver, vc)].count;
  return flits;
}

// What is along a route. Held up is what exceeds two packets of `flits` at a channel: so many are there if nothing
// waits.
Network::Core::Queues Network::Core::queues_along(int router, int target, RouteState state, int flits) const {
  Queues queues;
  while (router != target || (state.intermediate >= 0 && state.intermediate != router)) {
    const int sender = channel_sender_[emptiest(routes_.next(router, target, state), 0)];
    const std::int64_t here = flits_around(sender);
    queues.flits += here;
    queues.held_up += std::max<std::int64_t>(0, here - std::int64_t{2} * flits);
    router = inputs_[senders_[sender].receiver].router;
  }
  return queues;
}

// The same by the first channel alone, whose credits are out for as long as its flits and the credits are on their way.
Network::Core::Queues Network::Core::queues_by_first(int router, int target, const RouteState& state, int hops,
                                                     int flits) const {
  const int sender = first_sender(router, target, state);
  const std::int64_t here = sender < 0 ? 0 : senders_[sender].used;
  return {hops * here, hops * std::max<std::int64_t>(0, here - std::int64_t{2} * flits)};
}

// -1 where the draw makes the route minimal.
int Network::Core::draw_intermediate(int from, int target) {
  const int routers = static_cast<int>(topology_.routers().size());
  for (int attempt = 0; attempt < 64; ++attempt) {
    const int router = random_.below(routers);
    if (routes_.distance(from, router) < 0 || routes_.distance(router, target) < 0) continue;
    return router == from || router == target ? -1 : router;
  }
  return -1;
}

std::uint8_t Network::Core::draw_ties() {
  return static_cast<std::uint8_t>(routes_.tie_bits() > 0 ? random_.below(256) : 0);
}

// A longer way is taken where the least hops times the flits waiting there exceed its own hops times flits by more than
// the threshold, which spares the channels of a network that is full; and only if it also promises to be the faster
// one, which an idle network's is not.
Network::Core::Entry Network::Core::choose_entry(int source, int destination) {
  if (single_ports_) {
    Entry only;
    only.port = port_begin_[source];
    only.target = exits_.all[exits_.begin[destination]].router;
    return only;
  }
  const int first = entries_.begin[source];
  const int last = entries_.begin[source + 1];
  const bool one_port = port_begin_[source + 1] - port_begin_[source] == 1;
  const bool adapts = parameters_.routing == Routing::adaptive || parameters_.routing == Routing::ugal;
  const bool cpu = topology_.terminals()[source].kind == TerminalKind::cpu ||
                   topology_.terminals()[destination].kind == TerminalKind::cpu;
  const std::uint32_t turn = turn_[source];
  Entry best;
  Entry other;  // the one with the least hops times flits
  for (int i = first; i < last; ++i) {
    const Attachment& attachment = entries_.all[first + (i - first + turn) % (last - first)];
    Entry entry;
    for (int b = exits_.begin[destination]; b < exits_.begin[destination + 1]; ++b) {
      const int router = exits_.all[b].router;
      const int along = cpu ? routes_.overlay_distance(attachment.router, router) : -1;
      const int distance = along > 0 ? along : routes_.distance(attachment.router, router);
      if (distance < 0 || (entry.target >= 0 && distance + 1 >= entry.hops)) continue;
      entry.target = router;
      entry.hops = distance + 1;
      entry.overlay = along > 0;
    }
    if (entry.target < 0) continue;
    const auto waiting = [&](int port) {
      std::int64_t flits = senders_[router_outputs_ + port].used;
      for (int c = 0; c < classes_; ++c) flits += sources_[static_cast<std::size_t>(port) * classes_ + c].flits;
      return flits;
    };
    entry.port = entries_.ports[attachment.first];
    if (one_port) {
      entry.queue = 0;
    } else {
      entry.queue = -1;
      for (int p = 0; p < attachment.count; ++p) {
        const int port = entries_.ports[attachment.first + (p + turn) % attachment.count];
        const std::int64_t flits = waiting(port);
        if (entry.queue >= 0 && flits >= entry.queue) continue;
        entry.queue = flits;
        entry.port = port;
      }
    }
    if (adapts && !one_port) {
      const std::int64_t credits = entry.queue;
      const int port = router_outputs_ + entry.port;
      // The port's queue is met once, the first channel's stands for those of all channels.
      const auto add_channels = [&](Entry& way) {
        const int sender = first_sender(attachment.router, way.target, routes_.start(way.intermediate, way.overlay));
        way.queue = credits + (sender < 0 ? 0 : senders_[sender].used);
        way.cycles = way.hops * (parameters_.stages + senders_[port].latency) + credits - senders_[port].used +
                     flits_around(port) + (sender < 0 ? 0 : (way.hops - 1) * flits_around(sender));
      };
      add_channels(entry);
      if (other.port < 0 || entry.hops * entry.queue < other.hops * other.queue) other = entry;
      if (parameters_.routing == Routing::ugal) {
        const int middle = draw_intermediate(attachment.router, entry.target);
        if (middle >= 0) {
          Entry longer = entry;
          longer.intermediate = middle;
          longer.overlay = false;
          longer.hops = 1 + routes_.distance(attachment.router, middle) + routes_.distance(middle, entry.target);
          add_channels(longer);
          if (longer.hops * longer.queue < other.hops * other.queue) other = longer;
        }
      }
    }
    const bool better =
        best.port < 0 || entry.hops < best.hops || (entry.hops == best.hops && entry.queue < best.queue);
    if (better) best = entry;
  }
  if (adapts && !one_port && best.cycles > other.cycles &&
      static_cast<double>(best.hops * best.queue) >
          static_cast<double>(other.hops * other.queue) + parameters_.ugal_threshold) {
    best = other;
  }
  if (parameters_.routing == Routing::valiant && !one_port && !best.overlay) {
    const int terminal = port_terminal_[best.port];
    const int router = topology_.terminals()[terminal].ports[best.port - port_begin_[terminal]].router;
    best.intermediate = draw_intermediate(router, best.target);
  }
  return best;
}

// Where there is one way in, the route is chosen when the packet is about to leave its first router, by what waits
// then.
bool Network::Core::chooses_late(int source, const RouteState& route) const {
  return chooses_late_ && !route.overlay && port_begin_[source + 1] - port_begin_[source] == 1;
}

// Until then the route has the router that was drawn for it.
void Network::Core::choose_late(PacketState& state) {
  if (!chooses_late(state.source, state.route)) return;
  const int from = entries_.all[entries_.begin[state.source]].router;
  int middle = state.route.intermediate;
  if (draws_late_ && from != state.target) middle = draw_intermediate(from, state.target);
  if (middle < 0) return;
  const RouteState other = routes_.start(middle, false, state.route.ties);
  state.route = routes_.start(-1, false, state.route.ties);
  if (parameters_.routing == Routing::ugal) {
    Queues least;
    Queues longer;
    switch (parameters_.ugal_queues) {
      case UgalQueues::route:
        least = queues_along(from, state.target, state.route, state.flits);
        longer = queues_along(from, state.target, other, state.flits);
        break;
      case UgalQueues::channel:
        least = queues_by_first(from, state.target, state.route, routes_.distance(from, state.target), state.flits);
        longer = queues_by_first(from, state.target, other,
                                 routes_.distance(from, middle) + routes_.distance(middle, state.target), state.flits);
        break;
    }
    if (least.held_up <= longer.held_up) return;
    if (static_cast<double>(least.flits) <= static_cast<double>(longer.flits) + parameters_.ugal_threshold) return;
  }
  state.route = other;
}

}  // namespace dcgn::memnet
