// How packets get into the network: the port, and the route where there is a choice.
#include "memnet/src/network_core.hpp"

#include <dcgn/error.hpp>

#include <algorithm>
#include <string>

namespace dcgn::memnet {

int Network::Core::new_queued() {
  if (free_queued_ < 0) {
    queue_.emplace_back();
    return static_cast<int>(queue_.size()) - 1;
  }
  const int index = free_queued_;
  free_queued_ = queue_[index].next;
  return index;
}

// The first of a source's queue becomes a packet of the network.
void Network::Core::enter(Source& source) {
  if (free_packet_ < 0) {
    free_packet_ = static_cast<std::int32_t>(packets_.size());
    packets_.emplace_back();
    records_.emplace_back();
  }
  QueuedPacket& queued = queue_[source.first];
  source.packet = free_packet_;
  source.sent = 0;
  PacketState& state = packets_[source.packet];
  PacketRecord& record = records_[source.packet];
  free_packet_ = record.next;
  const Packet& packet = queued.packet;
  state = {queued.route, queued.target, packet.source, packet.destination, packet.flits, 0};
  record = {packet, queued.created, now_, -1};
  const std::int32_t next = queued.next;
  queued.next = free_queued_;
  free_queued_ = source.first;
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
  const int index = new_queued();
  const RouteState route = routes_.start(entry.intermediate, entry.overlay, draw_ties());
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
  active_ports_[entry.port >> 6] |= std::uint64_t{1} << (entry.port & 63);
  ++packets_in_network_;
  ++counters_.injected_packets;
}

// Of parallel channels the one with most room; those that are alike take turns.
int Network::Core::emptiest(const Hop& hop, int turn) const {
  int best = hop.channels[turn % hop.count];
  for (int i = 1; i < hop.count; ++i) {
    const int channel = hop.channels[(turn + i) % hop.count];
    if (used_[channel_sender_[channel]] < used_[channel_sender_[best]]) best = channel;
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
  std::int64_t flits = bound_[sender];
  for (int vc = 0; vc < vcs_; ++vc) flits += input_vcs_[place_of(receiver_[sender], vc)].count;
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
    router = input_router_[receiver_[sender]];
  }
  return queues;
}

// The same by the first channel alone, whose credits are out for as long as its flits and the credits are on their way.
Network::Core::Queues Network::Core::queues_by_first(int router, int target, const RouteState& state, int hops,
                                                     int flits) const {
  const int sender = first_sender(router, target, state);
  const std::int64_t here = sender < 0 ? 0 : used_[sender];
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
      std::int64_t flits = used_[router_outputs_ + port];
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
        way.queue = credits + (sender < 0 ? 0 : used_[sender]);
        way.cycles = way.hops * (parameters_.stages + latency_[port]) + credits - used_[port] + flits_around(port) +
                     (sender < 0 ? 0 : (way.hops - 1) * flits_around(sender));
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
void Network::Core::choose_late(PacketState& state) {
  if (parameters_.routing == Routing::minimal || parameters_.routing == Routing::adaptive || state.route.overlay)
    return;
  const int source = state.source;
  if (port_begin_[source + 1] - port_begin_[source] != 1) return;
  const int from = entries_.all[entries_.begin[source]].router;
  const int middle = from == state.target ? -1 : draw_intermediate(from, state.target);
  if (middle < 0) return;
  const RouteState other = routes_.start(middle, false, state.route.ties);
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
