// One cycle of the network.
#include "memnet/src/network_core.hpp"

#include <algorithm>
#include <bit>

namespace dcgn::memnet {
namespace {

constexpr std::uint32_t head_bit = 1;
constexpr std::uint32_t tail_bit = 2;

// Numbers of a ring of `size`, counted on from `start`.
inline int turns_away(int number, int start, int size) {
  return number >= start ? number - start : number - start + size;
}

}  // namespace

void Network::Core::step() {
  Slot& events = slot(now_);
  if (!events.flits.empty() || !events.credits.empty() || !events.routed.empty()) {
    arrive(events);
    pending_events_ -= static_cast<std::int64_t>(events.flits.size() + events.credits.size() + events.routed.size());
    events.flits.clear();
    events.credits.clear();
    events.routed.clear();
  }
  for (std::size_t w = 0; w < active_ports_.size(); ++w) {
    for (std::uint64_t bits = active_ports_[w]; bits != 0; bits &= bits - 1) {
      send_from_port(static_cast<int>(w * 64) + std::countr_zero(bits));
    }
  }
  for (std::size_t w = 0; w < active_.size(); ++w) {
    for (std::uint64_t bits = active_[w]; bits != 0; bits &= bits - 1) {
      const int router = static_cast<int>(w * 64) + std::countr_zero(bits);
      allocated_.clear();
      if (waiting_inputs_[router] != 0) allocate_vcs(router);
      if (ready_inputs_[router] != 0) allocate_switch(router);
      for (const std::uint32_t input_vc : allocated_) {
        const int input = port_of(input_vc);
        vc_ready_[input] |= std::uint64_t{1} << vc_of(input_vc);
        ready_inputs_[router] |= std::uint64_t{1} << (input - input_begin_[router]);
      }
      if (waiting_inputs_[router] == 0 && ready_inputs_[router] == 0)
        active_[w] &= ~(std::uint64_t{1} << (router & 63));
    }
  }
  ++now_;
  counters_.cycles = now_;
}

void Network::Core::arrive(const Slot& events) {
  for (const std::uint32_t credit : events.credits) {
    const int sender = port_of(credit);
    ++credits_[credit];
    --used_[sender];
    credit_vcs_[sender] |= std::uint64_t{1} << vc_of(credit);
  }
  for (const std::uint32_t input_vc : events.routed) {
    const int input = port_of(input_vc);
    const int router = input_router_[input];
    vc_waiting_[input] |= std::uint64_t{1} << vc_of(input_vc);
    waiting_inputs_[router] |= std::uint64_t{1} << (input - input_begin_[router]);
    activate(router);
  }
  for (const FlitEvent& event : events.flits) {
    if ((event.place & sink_bit) != 0) {
      sink(event.place & ~sink_bit, event.flit);
      continue;
    }
    InputVc& state = input_vcs_[event.place];
    int tail = state.head + state.count;
    if (tail >= depth_) tail -= depth_;
    flits_[static_cast<std::size_t>(event.place) * depth_ + tail] = event.flit;
    if (++state.count > 1) continue;
    const int input = port_of(event.place);
    const int router = input_router_[input];
    if (!state.busy) {
      route_head(router, event.place, now_);
    } else {
      // A body flit that its packet, which has an output VC, was waiting for.
      vc_ready_[input] |= std::uint64_t{1} << vc_of(event.place);
      ready_inputs_[router] |= std::uint64_t{1} << (input - input_begin_[router]);
      activate(router);
    }
  }
}

void Network::Core::sink(std::uint32_t place, std::uint32_t flit) {
  const int sender = port_of(place);
  slot(now_ + 1 + latency_[sender] + parameters_.credit_delay).credits.push_back(place);
  ++pending_events_;
  ++counters_.delivered_flits;
  if ((flit & tail_bit) == 0) return;
  const int index = static_cast<int>(flit >> 2);
  PacketRecord& record = records_[index];
  deliveries_.push_back({record.packet, record.created, record.injected, now_, packets_[index].hops});
  record.next = free_packet_;
  free_packet_ = index;
  --packets_in_network_;
  ++counters_.delivered_packets;
}

void Network::Core::send_from_port(int port) {
  const int sender = router_outputs_ + port;
  if (busy_until_[sender] >= static_cast<std::uint64_t>(now_ + 1) << 16) return;
  bool queued = false;
  for (int i = 0; i < classes_; ++i) {
    int message_class = source_turn_[port] + i;
    if (message_class >= classes_) message_class -= classes_;
    Source& source = sources_[static_cast<std::size_t>(port) * classes_ + message_class];
    if (source.packet < 0 && source.first < 0) continue;
    queued = true;
    const int base = message_class * parameters_.vcs_per_class;
    if (source.packet < 0) {
      const std::uint64_t open = (free_vcs_[sender] & credit_vcs_[sender]) >> base & class_mask_;
      if (open == 0) continue;
      source.vc = static_cast<std::int16_t>(next_bit(open, source.last_vc + 1) + base);
      source.last_vc = static_cast<std::int16_t>(source.vc - base);
      free_vcs_[sender] &= ~(std::uint64_t{1} << source.vc);
      enter(source);
    } else if ((credit_vcs_[sender] >> source.vc & 1) == 0) {
      continue;
    }
    std::uint32_t flit = static_cast<std::uint32_t>(source.packet) << 2;
    if (source.sent == 0) flit |= head_bit;
    if (source.sent + 1 == packets_[source.packet].flits) flit |= tail_bit;
    const std::uint32_t place = place_of(sender, source.vc);
    slot(now_ + 1 + latency_[sender]).flits.push_back({place_of(receiver_[sender], source.vc), flit});
    ++pending_events_;
    if (--credits_[place] == 0) credit_vcs_[sender] &= ~(std::uint64_t{1} << source.vc);
    ++used_[sender];
    ++sent_flits_[sender];
    ++counters_.injected_flits;
    busy_until_[sender] = std::max(busy_until_[sender], static_cast<std::uint64_t>(now_) << 16) + period_[sender];
    --source.flits;
    --queued_[port_terminal_[port] * classes_ + message_class];
    ++source.sent;
    if ((flit & tail_bit) != 0) {
      free_vcs_[sender] |= std::uint64_t{1} << source.vc;
      source.packet = -1;
    }
    source_turn_[port] = static_cast<std::uint8_t>(message_class + 1 == classes_ ? 0 : message_class + 1);
    return;
  }
  if (!queued) active_ports_[port >> 6] &= ~(std::uint64_t{1} << (port & 63));
}

// A head came to the front: in this cycle, or in the next one where this cycle's allocation has been.
void Network::Core::route_head(int router, std::uint32_t input_vc, std::int64_t ready) {
  InputVc& state = input_vcs_[input_vc];
  const std::uint32_t flit = flits_[static_cast<std::size_t>(input_vc) * depth_ + state.head];
  PacketState& packet = packets_[flit >> 2];
  const int input = port_of(input_vc);
  const int base = class_base_[vc_of(input_vc)];
  if (packet.hops++ == 0) {
    choose_late(packet);
  } else {
    routes_.settle(packet.route, vc_of(input_vc) - base);
  }
  int sender = -1;
  const bool pending = packet.route.intermediate >= 0 && packet.route.intermediate != router;
  if (router == packet.target && !pending) {
    const int destination = packet.destination;
    for (int a = exits_.begin[destination];; ++a) {
      const Attachment& attachment = exits_.all[a];
      if (attachment.router != router) continue;
      for (int i = 0; i < attachment.count; ++i) {
        const int place = (i + packet.source) % attachment.count;
        const int candidate = eject_sender_[exits_.ports[attachment.first + place]];
        if (sender < 0 || used_[candidate] < used_[sender]) sender = candidate;
      }
      break;
    }
    state.request = class_mask_ << base;
  } else {
    const Hop hop = routes_.next(router, packet.target, packet.route);
    sender = channel_sender_[hop.count == 1 ? hop.channels[0] : emptiest(hop, packet.source)];
    state.request = routes_.vc_mask(hop) << base;
  }
  state.output = static_cast<std::uint8_t>(sender - output_begin_[router]);
  bound_[sender] += packet.flits;
  state.busy = true;
  state.pass = false;
  int cycles = normal_.rc;
  if (input_pass_[input] != 0) {
    state.pass = packet.route.overlay && sender_pass_[sender] != 0;
    cycles = state.pass ? pass_.rc : normal_.rc + serdes_;
  }
  if (cycles > 0) {
    slot(ready + cycles).routed.push_back(input_vc);
    ++pending_events_;
    return;
  }
  vc_waiting_[input] |= std::uint64_t{1} << vc_of(input_vc);
  waiting_inputs_[router] |= std::uint64_t{1} << (input - input_begin_[router]);
  activate(router);
}

// Separable: each free VC of an output is granted to one input VC, each input VC accepts one; both take turns.
void Network::Core::allocate_vcs(int router) {
  requests_.clear();
  std::uint64_t outputs = 0;
  const int first_input = input_begin_[router];
  const int first_output = output_begin_[router];
  for (std::uint64_t inputs = waiting_inputs_[router]; inputs != 0; inputs &= inputs - 1) {
    const int local = std::countr_zero(inputs);
    const int input = first_input + local;
    for (std::uint64_t bits = vc_waiting_[input]; bits != 0; bits &= bits - 1) {
      const int vc = std::countr_zero(bits);
      const std::uint32_t input_vc = place_of(input, vc);
      const InputVc& state = input_vcs_[input_vc];
      const int sender = first_output + state.output;
      const std::uint64_t open = state.request & free_vcs_[sender] & ~blocked_[sender];
      if (open == 0) continue;
      requests_.push_back({input_vc, local * vcs_ + vc, requests_of_[state.output], open, 0});
      requests_of_[state.output] = static_cast<std::int32_t>(requests_.size()) - 1;
      outputs |= std::uint64_t{1} << state.output;
    }
  }
  for (; outputs != 0; outputs &= outputs - 1) grant_vcs(router, std::countr_zero(outputs));
}

void Network::Core::grant_vcs(int router, int output) {
  const int sender = output_begin_[router] + output;
  const int first = requests_of_[output];
  requests_of_[output] = -1;
  std::uint64_t open = 0;
  for (int i = first; i >= 0; i = requests_[i].next) open |= requests_[i].vcs;
  if (requests_[first].next < 0) {
    requests_[first].granted = open;
  } else {
    const int count = (input_begin_[router + 1] - input_begin_[router]) * vcs_;
    for (std::uint64_t bits = open; bits != 0; bits &= bits - 1) {
      const int vc = std::countr_zero(bits);
      const int turn = vc_grant_[place_of(sender, vc)];
      int best = -1;
      int least = count;
      for (int i = first; i >= 0; i = requests_[i].next) {
        if ((requests_[i].vcs >> vc & 1) == 0) continue;
        const int away = turns_away(requests_[i].number, turn, count);
        if (away >= least) continue;
        least = away;
        best = i;
      }
      requests_[best].granted |= std::uint64_t{1} << vc;
    }
  }
  for (int i = first; i >= 0; i = requests_[i].next) {
    if (requests_[i].granted == 0) continue;
    const std::uint32_t input_vc = requests_[i].input_vc;
    const int start = accept_output_[input_vc] == output ? accept_vc_[input_vc] : 0;
    const int vc = next_bit(requests_[i].granted, start);
    const int count = (input_begin_[router + 1] - input_begin_[router]) * vcs_;
    const int next = requests_[i].number + 1;
    vc_grant_[place_of(sender, vc)] = static_cast<std::uint16_t>(next == count ? 0 : next);
    take_vc(router, output, input_vc, vc);
  }
}

void Network::Core::take_vc(int router, int output, std::uint32_t input_vc, int vc) {
  const int sender = output_begin_[router] + output;
  const int input = port_of(input_vc);
  const int input_vc_local = vc_of(input_vc);
  InputVc& state = input_vcs_[input_vc];
  state.output_vc = static_cast<std::uint8_t>(vc);
  free_vcs_[sender] &= ~(std::uint64_t{1} << vc);
  // The next turn is the VC after this one, or the first of the next output.
  accept_output_[input_vc] = static_cast<std::uint8_t>(vc + 1 == vcs_ ? output + 1 : output);
  accept_vc_[input_vc] = static_cast<std::uint8_t>(vc + 1 == vcs_ ? 0 : vc + 1);
  vc_waiting_[input] &= ~(std::uint64_t{1} << input_vc_local);
  const std::uint64_t bit = std::uint64_t{1} << (input - input_begin_[router]);
  if (vc_waiting_[input] == 0) waiting_inputs_[router] &= ~bit;
  if (state.pass ? pass_.same_cycle : normal_.same_cycle) {
    vc_ready_[input] |= std::uint64_t{1} << input_vc_local;
    ready_inputs_[router] |= bit;
  } else {
    allocated_.push_back(input_vc);
  }
}

bool Network::Core::link_free(int sender, const InputVc& state) const {
  const int st = state.pass ? pass_.st : normal_.st;
  return busy_until_[sender] < static_cast<std::uint64_t>(now_ + st + 1) << 16;
}

// Each output grants one of the inputs that want it, each input accepts one output; both take turns, and turns move on
// where a grant was accepted. Of an input's VCs for one output the one whose turn it is speaks.
void Network::Core::allocate_switch(int router) {
  const int first_input = input_begin_[router];
  const int first_output = output_begin_[router];
  const bool special = special_[router] != 0;
  std::uint64_t outputs = 0;
  for (std::uint64_t inputs = ready_inputs_[router]; inputs != 0; inputs &= inputs - 1) {
    const int local = std::countr_zero(inputs);
    const int input = first_input + local;
    const InputVc* states = &input_vcs_[place_of(input, 0)];
    const std::uint64_t ready = vc_ready_[input];
    const std::uint64_t later = ready & (~std::uint64_t{0} << switch_vc_[input]);
    std::uint64_t seen = 0;
    for (std::uint64_t part : {later, ready & ~later}) {
      for (; part != 0; part &= part - 1) {
        const int vc = std::countr_zero(part);
        const InputVc& state = states[vc];
        const std::uint64_t bit = std::uint64_t{1} << state.output;
        const int sender = first_output + state.output;
        if ((seen & bit) != 0 || (credit_vcs_[sender] >> state.output_vc & 1) == 0) continue;
        if (special && !link_free(sender, state)) continue;
        seen |= bit;
        candidate_[local * 64 + state.output] = static_cast<std::uint8_t>(vc);
        wanted_[state.output] |= std::uint64_t{1} << local;
      }
    }
    outputs |= seen;
  }
  std::uint64_t inputs = 0;
  for (; outputs != 0; outputs &= outputs - 1) {
    const int output = std::countr_zero(outputs);
    const int local = next_bit(wanted_[output], switch_grant_[first_output + output]);
    wanted_[output] = 0;
    granted_[local] |= std::uint64_t{1} << output;
    inputs |= std::uint64_t{1} << local;
  }
  const int input_count = input_begin_[router + 1] - first_input;
  const int output_count = output_begin_[router + 1] - first_output;
  for (; inputs != 0; inputs &= inputs - 1) {
    const int local = std::countr_zero(inputs);
    const int output = next_bit(granted_[local], switch_accept_[first_input + local]);
    granted_[local] = 0;
    switch_grant_[first_output + output] = static_cast<std::uint8_t>(local + 1 == input_count ? 0 : local + 1);
    switch_accept_[first_input + local] = static_cast<std::uint8_t>(output + 1 == output_count ? 0 : output + 1);
    traverse(router, first_input + local, first_output + output, candidate_[local * 64 + output]);
  }
}

// A flit leaves its VC for the switch; its place is the upstream sender's again.
void Network::Core::traverse(int router, int input, int output, int vc) {
  const std::uint32_t input_vc = place_of(input, vc);
  InputVc& state = input_vcs_[input_vc];
  const std::uint32_t flit = flits_[static_cast<std::size_t>(input_vc) * depth_ + state.head];
  state.head = static_cast<std::uint16_t>(state.head + 1 == depth_ ? 0 : state.head + 1);
  --state.count;
  switch_vc_[input] = static_cast<std::uint8_t>(vc + 1 == vcs_ ? 0 : vc + 1);

  const int st = state.pass ? pass_.st : normal_.st;
  const std::uint32_t place = place_of(output, state.output_vc);
  const int receiver = receiver_[output];
  slot(now_ + st + 1 + latency_[output])
      .flits.push_back({receiver < 0 ? place | sink_bit : place_of(receiver, state.output_vc), flit});
  if (--credits_[place] == 0) credit_vcs_[output] &= ~(std::uint64_t{1} << state.output_vc);
  ++used_[output];
  --bound_[output];
  ++sent_flits_[output];
  ++counters_.flit_hops;
  if (special_[router] != 0) {
    busy_until_[output] = std::max(busy_until_[output], static_cast<std::uint64_t>(now_ + st) << 16) + period_[output];
  }

  const int upstream = input_sender_[input];
  slot(now_ + 1 + latency_[upstream] + parameters_.credit_delay).credits.push_back(place_of(upstream, vc));
  pending_events_ += 2;

  const bool tail = (flit & tail_bit) != 0;
  if (tail) {
    free_vcs_[output] |= std::uint64_t{1} << state.output_vc;
    state.busy = false;
  }
  if (!tail && state.count > 0) return;
  vc_ready_[input] &= ~(std::uint64_t{1} << vc);
  if (vc_ready_[input] == 0) ready_inputs_[router] &= ~(std::uint64_t{1} << (input - input_begin_[router]));
  if (tail && state.count > 0) route_head(router, input_vc, now_ + 1);
}

}  // namespace dcgn::memnet
