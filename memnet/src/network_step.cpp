// One cycle of the network.
#include "memnet/src/network_core.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace dcgn::memnet {
namespace {

constexpr std::uint32_t head_bit = 1;
constexpr std::uint32_t tail_bit = 2;
constexpr std::size_t ahead = 6;  // events whose memory is fetched before their turn

// Numbers of a ring of `size`, counted on from `start`.
inline int turns_away(int number, int start, int size) {
  return number >= start ? number - start : number - start + size;
}

}  // namespace

bool Network::Core::quiet() const {
  const auto empty = [](const Slot& events) { return events.empty(); };
  return packets_in_network_ == 0 && std::all_of(partitions_.begin(), partitions_.end(), [&](const Partition& one) {
           return std::all_of(one.slots.begin(), one.slots.end(), empty);
         });
}

void Network::Core::step() {
  for (Partition& partition : partitions_) add_packets(partition);
  if (team_ != nullptr) {
    team_->run();
  } else {
    step_partition(partitions_[0]);
  }
  deliver();
  ++now_;
  counters_.cycles = now_;
}

// A head came to the front: in this cycle, or in the next one where this cycle's allocation has been.
[[gnu::always_inline]] inline void Network::Core::route_head(Partition& own, const Input& input, std::uint32_t input_vc,
                                                             std::int64_t ready) {
  InputVc& state = input_vcs_[input_vc];
  PacketState& packet = packets_[state.front >> 2];
  const int vc = vc_of(input_vc);
  const int base = class_base_[vc];
  if (packet.hops++ == 0) {
    if (chooses_late_) choose_late(packet);
  } else {
    routes_.settle(packet.route, vc - base);
  }
  int number = -1;
  const bool pending = packet.route.intermediate >= 0 && packet.route.intermediate != input.router;
  if (input.router == packet.target && !pending) {
    number = only_exit_[packet.destination];
    if (number < 0) number = emptiest_exit(input.router, packet);
    state.request = class_mask_ << base;
  } else {
    const Hop hop = routes_.next(input.router, packet.target, packet.route);
    number = channel_sender_[hop.count == 1 ? hop.channels[0] : emptiest(hop, packet.source)];
    state.request = routes_.vc_mask(hop) << base;
  }
  Sender& sender = senders_[number];
  state.output = static_cast<std::uint8_t>(number - routers_[input.router].first_output);
  sender.bound += packet.flits;
  state.busy = true;
  state.pass = false;
  int cycles = normal_.rc;
  if (input.pass_through != 0) {
    state.pass = packet.route.overlay && sender.pass_through != 0;
    cycles = state.pass ? pass_.rc : normal_.rc + serdes_;
  }
  if (cycles > 0) {
    slot(own, own.number, ready + cycles).routed.push_back(input_vc);
  } else {
    await_vc(own, input, input_vc);
  }
}

void Network::Core::arrive(Partition& own, const Slot& events) {
  const std::size_t credits = events.credits.size();
  for (std::size_t i = 0; i < credits; ++i) {
    if (large_ && i + ahead < credits) __builtin_prefetch(&senders_[port_of(events.credits[i + ahead])], 1);
    const std::uint32_t credit = events.credits[i];
    Sender& sender = senders_[port_of(credit)];
    ++credits_[credit];
    --sender.used;
    sender.credit_vcs |= std::uint64_t{1} << vc_of(credit);
  }
  for (const std::uint32_t input_vc : events.routed) {
    await_vc(own, inputs_[port_of(input_vc)], input_vc);
  }
}

void Network::Core::take_flits(Partition& own, const Slot& events) {
  const std::size_t flits = events.flits.size();
  for (std::size_t i = 0; i < flits; ++i) {
    if (large_ && i + ahead < flits) {
      const FlitEvent& later = events.flits[i + ahead];
      __builtin_prefetch(&input_vcs_[later.place], 1);
      __builtin_prefetch(&packets_[later.flit >> 2], 1);
    }
    const FlitEvent event = events.flits[i];
    InputVc& state = input_vcs_[event.place];
    if (state.count++ > 0) {
      int tail = state.head + state.count - 1;
      if (tail >= depth_) tail -= depth_;
      flits_[static_cast<std::size_t>(event.place) * depth_ + tail] = event.flit;
      continue;
    }
    state.front = event.flit;
    const Input& input = inputs_[port_of(event.place)];
    if (!state.busy) {
      route_head(own, input, event.place, now_);
    } else {
      await_switch(own, input, event.place);  // a body flit that its packet, which has an output VC, was waiting for
    }
  }
  for (const SinkEvent& event : events.sinks) sink(own, event);
}

void Network::Core::sink(Partition& own, const SinkEvent& event) {
  const Sender& sender = senders_[port_of(event.place)];
  slot(own, own.number, now_ + 1 + sender.latency + parameters_.credit_delay).credits.push_back(event.place);
  ++own.delivered_flits;
  if ((event.flit & tail_bit) != 0) own.arrived.push_back({event.left, static_cast<std::int32_t>(event.flit >> 2)});
}

// By when they left the last router, and then by routers: as one partition alone would have them.
void Network::Core::deliver() {
  counters_.injected_flits = counters_.delivered_flits = counters_.flit_hops = 0;
  for (const Partition& partition : partitions_) {
    counters_.injected_flits += partition.injected_flits;
    counters_.delivered_flits += partition.delivered_flits;
    counters_.flit_hops += partition.flit_hops;
  }
  const auto deliver_one = [this](std::int32_t index) {
    PacketRecord& record = records_[index];
    deliveries_.push_back({record.packet, record.created, record.injected, now_, packets_[index].hops});
    Partition& home = partitions_[terminal_partition_[record.packet.source]];
    record.next = home.free_packet;
    home.free_packet = index;
    ++home.free_packets;
    --packets_in_network_;
    ++counters_.delivered_packets;
  };
  if (partitions_.size() == 1) {
    for (const Arrived& one : partitions_[0].arrived) deliver_one(one.packet);
    partitions_[0].arrived.clear();
    return;
  }
  merged_.clear();
  for (Partition& partition : partitions_) {
    merged_.insert(merged_.end(), partition.arrived.begin(), partition.arrived.end());
    partition.arrived.clear();
  }
  const auto before = [](const Arrived& a, const Arrived& b) { return a.left < b.left; };
  if (!std::is_sorted(merged_.begin(), merged_.end(), before)) std::stable_sort(merged_.begin(), merged_.end(), before);
  for (const Arrived& one : merged_) deliver_one(one.packet);
}

void Network::Core::send_from_port(Partition& own, std::size_t place_in_partition) {
  const int port = own.ports[place_in_partition];
  const int number = router_outputs_ + port;
  Sender& sender = senders_[number];
  if (sender.busy_until >= static_cast<std::uint64_t>(now_ + 1) << 16) return;
  bool queued = false;
  for (int i = 0; i < classes_; ++i) {
    int message_class = source_turn_[port] + i;
    if (message_class >= classes_) message_class -= classes_;
    Source& source = sources_[static_cast<std::size_t>(port) * classes_ + message_class];
    if (source.packet < 0 && source.first < 0) continue;
    queued = true;
    const int base = message_class * parameters_.vcs_per_class;
    if (source.packet < 0) {
      const std::uint64_t open = (sender.free_vcs & sender.credit_vcs) >> base & class_mask_;
      if (open == 0) continue;
      source.vc = static_cast<std::int16_t>(next_bit(open, source.last_vc + 1) + base);
      source.last_vc = static_cast<std::int16_t>(source.vc - base);
      sender.free_vcs &= ~(std::uint64_t{1} << source.vc);
      enter(own, source);
    } else if ((sender.credit_vcs >> source.vc & 1) == 0) {
      continue;
    }
    std::uint32_t flit = static_cast<std::uint32_t>(source.packet) << 2;
    if (source.sent == 0) flit |= head_bit;
    if (source.sent + 1 == packets_[source.packet].flits) flit |= tail_bit;
    slot(own, sender.to, now_ + 1 + sender.latency).flits.push_back({place_of(sender.receiver, source.vc), flit});
    if (--credits_[place_of(number, source.vc)] == 0) sender.credit_vcs &= ~(std::uint64_t{1} << source.vc);
    ++sender.used;
    ++sender.sent_flits;
    ++own.injected_flits;
    sender.busy_until = std::max(sender.busy_until, static_cast<std::uint64_t>(now_) << 16) + period_[number];
    --source.flits;
    --queued_[port_terminal_[port] * classes_ + message_class];
    ++source.sent;
    if ((flit & tail_bit) != 0) {
      sender.free_vcs |= std::uint64_t{1} << source.vc;
      source.packet = -1;
      if (classes_ == 1 && source.first < 0) queued = false;
    }
    source_turn_[port] = static_cast<std::uint8_t>(message_class + 1 == classes_ ? 0 : message_class + 1);
    break;
  }
  if (!queued) own.active_ports[place_in_partition >> 6] &= ~(std::uint64_t{1} << (place_in_partition & 63));
}

// A flit leaves its VC for the switch; its place is the upstream sender's again. Whether the VC is ready for another.
[[gnu::always_inline]] inline bool Network::Core::traverse(Partition& own, const RouterState& router, int number,
                                                           int output) {
  const std::uint32_t input_vc = router.first_vc + static_cast<std::uint32_t>(number);
  const int vc = vc_of(input_vc);
  Input& input = inputs_[port_of(input_vc)];
  Sender& sender = senders_[router.first_output + output];
  InputVc& state = input_vcs_[input_vc];
  const std::uint32_t flit = state.front;
  const int output_vc = state.output_vc;
  const int count = --state.count;
  const int head = state.head + 1 == depth_ ? 0 : state.head + 1;
  state.head = static_cast<std::uint16_t>(head);
  if (count > 0) state.front = flits_[static_cast<std::size_t>(input_vc) * depth_ + head];
  input.switch_vc = static_cast<std::uint8_t>(vc + 1);

  const int st = state.pass ? pass_.st : normal_.st;
  const std::uint32_t place = place_of(router.first_output + output, output_vc);
  Slot& arrival = slot(own, sender.to, now_ + st + 1 + sender.latency);
  if (sender.receiver < 0) {
    arrival.sinks.push_back({place, flit, now_});
  } else {
    arrival.flits.push_back({place_of(sender.receiver, output_vc), flit});
  }
  if (--credits_[place] == 0) sender.credit_vcs &= ~(std::uint64_t{1} << output_vc);
  ++sender.used;
  --sender.bound;
  ++sender.sent_flits;
  ++own.flit_hops;
  if (router.special) {
    sender.busy_until = std::max(sender.busy_until, static_cast<std::uint64_t>(now_ + st) << 16) +
                        period_[router.first_output + output];
  }
  slot(own, input.from, now_ + input.credit_cycles).credits.push_back(place_of(input.sender, vc));

  const bool tail = (flit & tail_bit) != 0;
  if (tail) {
    sender.free_vcs |= std::uint64_t{1} << output_vc;
    state.busy = false;
  }
  if (count == 0) return false;
  if (tail) route_head(own, input, input_vc, now_ + 1);
  return !tail;
}

// Whether a VC still waits or is ready. `Words` is the router's, or 0: so many as it says.
template <int Words>
bool Network::Core::step_router(Partition& own, const RouterState& router) {
  const int words = Words > 0 ? Words : router.words;
  std::uint64_t* const waiting = &waiting_[router.first_word];
  std::uint64_t* const ready = &ready_[router.first_word];
  InputVc* const states = &input_vcs_[router.first_vc];
  Sender* const senders = &senders_[router.first_output];
  std::array<std::uint64_t, (Words > 0 ? Words : 64)>
      later;  // bits of VCs that may bid for the switch in the next cycle

  // VCs, separable: each free VC of an output is granted to one input VC, each input VC accepts one; both take turns.
  Request* const requests = own.requests.data();
  int count = 0;
  std::uint64_t outputs = 0;
  for (int w = 0; w < words; ++w) {
    later[w] = 0;
    for (std::uint64_t bits = waiting[w]; bits != 0; bits &= bits - 1) {
      const int number = w * 64 + std::countr_zero(bits);
      const int output = states[number].output;
      const std::uint64_t open = states[number].request & senders[output].free_vcs & ~senders[output].blocked;
      if (open == 0) continue;
      const std::uint64_t bit = std::uint64_t{1} << output;
      requests[count] = {number, (outputs & bit) != 0 ? own.requests_of[output] : -1, open};
      own.requests_of[output] = count++;
      outputs |= bit;
    }
  }
  // Of the VCs granted to it an input VC accepts the one whose turn it is.
  const auto accept = [&](int number, std::uint64_t granted) __attribute__((always_inline)) {
    InputVc& state = states[number];
    Sender& sender = senders[state.output];
    const int vc = next_bit(granted, state.accept_vc & -static_cast<int>(state.accept_output == state.output));
    state.output_vc = static_cast<std::uint8_t>(vc);
    state.accept_output = state.output;
    state.accept_vc = static_cast<std::uint8_t>(vc + 1);
    vc_grant_[place_of(router.first_output + state.output, vc)] = static_cast<std::uint16_t>(number + 1);
    sender.free_vcs &= ~(std::uint64_t{1} << vc);
    const std::uint64_t bit = std::uint64_t{1} << (number & 63);
    waiting[number >> 6] &= ~bit;
    ((state.pass ? pass_.same_cycle : normal_.same_cycle) ? ready : later.data())[number >> 6] |= bit;
  };
  if (count == 1) {
    accept(requests[0].number, requests[0].vcs);
    outputs = 0;
  }
  for (; outputs != 0; outputs &= outputs - 1) {
    const int output = std::countr_zero(outputs);
    const int first = own.requests_of[output];
    if (requests[first].next >= 0)
      share_vcs(requests, first, &vc_grant_[place_of(router.first_output + output, 0)], router.inputs << shift_);
    for (int i = first; i >= 0; i = requests[i].next) {
      if (requests[i].vcs != 0) accept(requests[i].number, requests[i].vcs);
    }
  }

  Input* const inputs = &inputs_[router.first_vc >> shift_];
  const auto may_go = [&](const InputVc& state) {
    const Sender& sender = senders[state.output];
    return (sender.credit_vcs >> state.output_vc & 1) != 0 && (!router.special || link_free(sender, state));
  };
  const auto go = [&](int number, int output) __attribute__((always_inline)) {
    senders[output].switch_grant = static_cast<std::uint8_t>((number >> shift_) + 1);
    inputs[number >> shift_].switch_accept = static_cast<std::uint8_t>(output + 1);
    if (!traverse(own, router, number, output)) ready[number >> 6] &= ~(std::uint64_t{1} << (number & 63));
  };
  // The switch: each output grants one of the inputs that want it, each input accepts one output; both take turns, and
  // turns move on where a grant was accepted. Of an input's VCs for one output the one whose turn it is speaks.
  if (words == 1 && (ready[0] & (ready[0] - 1)) == 0) {
    const int lone = ready[0] != 0 ? std::countr_zero(ready[0]) : -1;
    if (lone >= 0 && may_go(states[lone])) go(lone, states[lone].output);
  } else {
    for (int w = 0; w < words; ++w) {
      for (std::uint64_t bits = ready[w]; bits != 0; bits &= bits - 1) {
        const int number = w * 64 + std::countr_zero(bits);
        if (!may_go(states[number])) continue;
        const int output = states[number].output;
        const int local = number >> shift_;
        const int vc = vc_of(static_cast<std::uint32_t>(number));
        std::uint8_t& candidate = own.candidate[local * 64 + output];
        if ((own.wanted[output] >> local & 1) != 0) {
          const int turn = inputs[local].switch_vc;
          if (turns_away(candidate, turn, vcs_) < turns_away(vc, turn, vcs_)) continue;
        }
        candidate = static_cast<std::uint8_t>(vc);
        own.wanted[output] |= std::uint64_t{1} << local;
        outputs |= std::uint64_t{1} << output;
      }
    }
    std::uint64_t winners = 0;
    for (; outputs != 0; outputs &= outputs - 1) {
      const int output = std::countr_zero(outputs);
      const int local = next_bit(own.wanted[output], senders[output].switch_grant);
      own.wanted[output] = 0;
      own.granted[local] |= std::uint64_t{1} << output;
      winners |= std::uint64_t{1} << local;
    }
    for (; winners != 0; winners &= winners - 1) {
      const int local = std::countr_zero(winners);
      const int output = next_bit(own.granted[local], inputs[local].switch_accept);
      own.granted[local] = 0;
      go(local << shift_ | own.candidate[local * 64 + output], output);
    }
  }

  std::uint64_t left = 0;
  for (int w = 0; w < words; ++w) {
    ready[w] |= later[w];
    left |= waiting[w] | ready[w];
  }
  return left != 0;
}

// Of requests for the same VC the one whose turn it is keeps it, of `count` input VCs.
void Network::Core::share_vcs(Request* requests, int first, const std::uint16_t* turns, int count) {
  std::uint64_t open = 0;
  for (int i = first; i >= 0; i = requests[i].next) open |= requests[i].vcs;
  for (; open != 0; open &= open - 1) {
    const int vc = std::countr_zero(open);
    const std::uint64_t bit = open & -open;
    int best = first;
    int least = count;
    for (int i = first; i >= 0; i = requests[i].next) {
      const int away = (requests[i].vcs & bit) != 0 ? turns_away(requests[i].number, turns[vc], count) : count;
      requests[i].vcs &= ~bit;
      best = away < least ? i : best;
      least = std::min(away, least);
    }
    requests[best].vcs |= bit;
  }
}

bool Network::Core::link_free(const Sender& sender, const InputVc& state) const {
  const int st = state.pass ? pass_.st : normal_.st;
  return sender.busy_until < static_cast<std::uint64_t>(now_ + st + 1) << 16;
}

void Network::Core::step_partition(Partition& own) {
  for (Partition& from : partitions_) arrive(own, slot(from, own.number, now_));
  for (Partition& from : partitions_) {
    Slot& events = slot(from, own.number, now_);
    take_flits(own, events);
    events.clear();
  }
  for (std::size_t w = 0; w < own.active_ports.size(); ++w) {
    for (std::uint64_t bits = own.active_ports[w]; bits != 0; bits &= bits - 1) {
      send_from_port(own, w * 64 + std::countr_zero(bits));
    }
  }
  for (std::size_t w = 0; w < own.active.size(); ++w) {
    for (std::uint64_t bits = own.active[w]; bits != 0; bits &= bits - 1) {
      const RouterState& router = routers_[own.first_router + static_cast<int>(w * 64) + std::countr_zero(bits)];
      const bool busy = router.words == 1 ? step_router<1>(own, router) : step_router<0>(own, router);
      if (!busy) own.active[w] &= ~(bits & -bits);
    }
  }
}

}  // namespace dcgn::memnet
