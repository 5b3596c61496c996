// How the arrays of a network are laid out, and what holds of them at any time.
#include "memnet/src/network_core.hpp"
#include "memnet/src/fail.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>

namespace dcgn::memnet {
namespace {

const Parameters& checked(const Parameters& parameters) {
  parameters.validate();
  return parameters;
}

const Topology& checked(const Topology& topology) {
  topology.validate();
  return topology;
}

}  // namespace

Network::Core::Pipeline Network::Core::pipeline_of(int stages) {
  if (stages >= 3) return {stages - 3, false, 1};
  return {0, true, stages - 1};
}

Network::Core::Core(const Topology& topology, const Parameters& parameters)
    : topology_(checked(topology)),
      parameters_(checked(parameters)),
      routes_(topology_, parameters_),
      random_(parameters.seed ^ 0x6e6574776f726bULL),
      classes_(parameters.message_classes),
      vcs_(parameters.vcs()),
      shift_(std::bit_width(static_cast<unsigned>(parameters.vcs() - 1))),
      class_mask_(parameters.vcs_per_class == 64 ? ~std::uint64_t{0}
                                                 : (std::uint64_t{1} << parameters.vcs_per_class) - 1),
      normal_(pipeline_of(parameters.stages)),
      pass_(pipeline_of(parameters.pass_through_stages)),
      depth_(parameters.vc_buffer_flits()),
      serdes_(parameters.serdes_cycles()) {
  for (int vc = 0; vc < vcs_; ++vc) {
    class_base_[vc] = static_cast<std::uint8_t>(vc - vc % parameters.vcs_per_class);
  }
  build_ports();
  build_attachments();
  int longest = 0;
  for (const int latency : latency_) longest = std::max(longest, latency);
  const int horizon = longest + parameters.credit_delay + std::max(normal_.rc, pass_.rc) + serdes_ + 4;
  slots_.resize(std::bit_ceil(static_cast<unsigned>(horizon)));
  slot_mask_ = static_cast<std::int64_t>(slots_.size()) - 1;
}

int Network::Core::add_sender(const Link& link) {
  // A pass-through channel's SerDes is paid where a packet leaves the path.
  latency_.push_back(1 + link.extra_latency + (link.serdes && !link.pass_through ? serdes_ : 0));
  receiver_.push_back(-1);
  sink_terminal_.push_back(-1);
  sender_pass_.push_back(link.pass_through ? 1 : 0);
  period_.push_back(static_cast<std::uint64_t>(std::llround(65536 / link.bandwidth)));
  return static_cast<int>(latency_.size()) - 1;
}

void Network::Core::build_ports() {
  const int routers = static_cast<int>(topology_.routers().size());
  const auto& channels = topology_.channels();
  std::vector<std::vector<std::pair<int, int>>> entries(routers), ejections(routers);  // terminal port, terminal
  for (std::size_t t = 0; t < topology_.terminals().size(); ++t) {
    port_begin_.push_back(static_cast<std::int32_t>(port_terminal_.size()));
    for (const Port& port : topology_.terminals()[t].ports) {
      entries[port.router].emplace_back(port_terminal_.size(), t);
      ejections[port.exit].emplace_back(port_terminal_.size(), t);
      port_terminal_.push_back(static_cast<std::int32_t>(t));
    }
  }
  port_begin_.push_back(static_cast<std::int32_t>(port_terminal_.size()));
  const auto link_of = [&](int port) {
    const int terminal = port_terminal_[port];
    return topology_.terminals()[terminal].ports[port - port_begin_[terminal]].link;
  };

  const auto outputs = topology_.outputs(), inputs_of = topology_.inputs();
  channel_sender_.assign(channels.size(), -1);
  eject_sender_.resize(port_terminal_.size());
  special_.assign(routers, 0);
  for (int r = 0; r < routers; ++r) {
    output_begin_.push_back(static_cast<std::int32_t>(latency_.size()));
    for (const int channel : outputs[r]) channel_sender_[channel] = add_sender(channels[channel].link);
    for (const auto& [port, terminal] : ejections[r]) {
      eject_sender_[port] = add_sender(link_of(port));
      sink_terminal_.back() = terminal;
    }
    const int count = static_cast<int>(latency_.size()) - output_begin_[r];
    if (count > 64) {
      fail("simulate",
           "router " + topology_.routers()[r].name + " has " + std::to_string(count) + " ports, expected at most 64");
    }
    for (std::size_t s = output_begin_[r]; s < latency_.size(); ++s) {
      if (period_[s] != 65536 || sender_pass_[s] != 0) special_[r] = 1;
    }
  }
  router_outputs_ = static_cast<int>(latency_.size());
  output_begin_.push_back(router_outputs_);
  for (int port = 0; port < static_cast<int>(port_terminal_.size()); ++port) add_sender(link_of(port));

  for (int r = 0; r < routers; ++r) {
    input_begin_.push_back(static_cast<std::int32_t>(input_router_.size()));
    const auto add_input = [&](int sender) {
      receiver_[sender] = static_cast<std::int32_t>(input_router_.size());
      input_router_.push_back(r);
      input_sender_.push_back(sender);
      input_pass_.push_back(sender_pass_[sender]);
    };
    for (const int channel : inputs_of[r]) add_input(channel_sender_[channel]);
    for (const auto& [port, terminal] : entries[r]) add_input(router_outputs_ + port);
  }
  input_begin_.push_back(static_cast<std::int32_t>(input_router_.size()));

  const std::size_t senders = latency_.size();
  const std::size_t inputs = input_router_.size();
  const std::uint64_t all = vcs_ == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << vcs_) - 1;
  if ((senders << shift_) >= sink_bit)
    fail("simulate", "the network has more than 2^31 virtual channels, expected fewer");
  busy_until_.assign(senders, 0);
  free_vcs_.assign(senders, all);
  credit_vcs_.assign(senders, all);
  credits_.assign(senders << shift_, static_cast<std::uint16_t>(depth_));
  used_.assign(senders, 0);
  bound_.assign(senders, 0);
  blocked_.assign(senders, 0);
  vc_grant_.assign(senders << shift_, 0);
  switch_grant_.assign(senders, 0);
  sent_flits_.assign(senders, 0);
  input_vcs_.resize(inputs << shift_);
  flits_.assign((inputs << shift_) * depth_, 0);
  accept_output_.assign(inputs << shift_, 0);
  accept_vc_.assign(inputs << shift_, 0);
  vc_waiting_.assign(inputs, 0);
  vc_ready_.assign(inputs, 0);
  switch_vc_.assign(inputs, 0);
  switch_accept_.assign(inputs, 0);
  waiting_inputs_.assign(routers, 0);
  ready_inputs_.assign(routers, 0);
  active_.assign((routers + 63) / 64, 0);
  candidate_.assign(64 * 64, 0);
  requests_of_.fill(-1);
  sources_.resize(port_terminal_.size() * classes_);
  source_turn_.assign(port_terminal_.size(), 0);
  active_ports_.assign((port_terminal_.size() + 63) / 64, 0);
  queued_.assign(topology_.terminals().size() * classes_, 0);
  turn_.assign(topology_.terminals().size(), 0);
}

void Network::Core::build_attachments() {
  for (std::size_t t = 0; t < topology_.terminals().size(); ++t) {
    const auto& ports = topology_.terminals()[t].ports;
    const auto add = [&](int Port::*router_of, Attachments& to) {
      to.begin.push_back(static_cast<std::int32_t>(to.all.size()));
      std::vector<int> routers;
      for (const Port& port : ports) {
        if (std::find(routers.begin(), routers.end(), port.*router_of) == routers.end())
          routers.push_back(port.*router_of);
      }
      for (const int router : routers) {
        Attachment attachment{router, static_cast<std::int32_t>(to.ports.size()), 0};
        for (std::size_t p = 0; p < ports.size(); ++p) {
          if (ports[p].*router_of == router) to.ports.push_back(port_begin_[t] + static_cast<std::int32_t>(p));
        }
        attachment.count = static_cast<std::int32_t>(to.ports.size()) - attachment.first;
        to.all.push_back(attachment);
      }
    };
    add(&Port::router, entries_);
    add(&Port::exit, exits_);
  }
  for (Attachments* one : {&entries_, &exits_}) one->begin.push_back(static_cast<std::int32_t>(one->all.size()));
}

void Network::Core::check_pair(int source, int destination) const {
  const int count = static_cast<int>(topology_.terminals().size());
  for (const int terminal : {source, destination}) {
    if (terminal < 0 || terminal >= count) {
      fail("simulate",
           "terminal " + std::to_string(terminal) + " is out of range, expected 0.." + std::to_string(count - 1));
    }
  }
  if (!topology_.may_talk(source, destination)) {
    fail("simulate", "a packet from " + topology_.terminals()[source].name + " to " +
                         topology_.terminals()[destination].name + ", expected terminals that may talk");
  }
}

std::int64_t Network::Core::zero_load_latency(int source, int destination, int flits, int* routers) const {
  check_pair(source, destination);
  // The entry and the exit that a minimal route takes.
  int port = -1;
  int target = -1;
  int from = -1;
  int least = -1;
  bool overlay = false;
  const bool cpu = topology_.terminals()[source].kind == TerminalKind::cpu ||
                   topology_.terminals()[destination].kind == TerminalKind::cpu;
  for (int a = entries_.begin[source]; a < entries_.begin[source + 1]; ++a) {
    for (int b = exits_.begin[destination]; b < exits_.begin[destination + 1]; ++b) {
      const int entry = entries_.all[a].router, exit = exits_.all[b].router;
      const int along = cpu ? routes_.overlay_distance(entry, exit) : -1;
      const int distance = along >= 0 ? along : routes_.distance(entry, exit);
      if (distance < 0 || (least >= 0 && distance >= least)) continue;
      least = distance;
      overlay = along > 0;
      from = entry;
      target = exit;
      port = entries_.ports[entries_.all[a].first];
    }
  }
  std::int64_t time = 1 + latency_[router_outputs_ + port];
  std::uint64_t slowest = period_[router_outputs_ + port];
  RouteState state = routes_.start(-1, overlay);
  bool came_through = sender_pass_[router_outputs_ + port] != 0;
  int count = 0;
  for (int router = from;; ++count) {
    const bool last = router == target;
    int sender = -1;
    if (last) {
      for (int p = port_begin_[destination]; sender < 0; ++p) {
        const int at = topology_.terminals()[destination].ports[p - port_begin_[destination]].exit;
        if (at == router) sender = eject_sender_[p];
      }
    } else {
      sender = channel_sender_[routes_.next(router, target, state).channels[0]];
    }
    const bool passes = came_through && overlay && sender_pass_[sender] != 0;
    const Pipeline& pipeline = passes ? pass_ : normal_;
    time += pipeline.rc + (pipeline.same_cycle ? 0 : 1) + pipeline.st + 1 + latency_[sender];
    if (came_through && !passes) time += serdes_;
    slowest = std::max(slowest, period_[sender]);
    came_through = sender_pass_[sender] != 0;
    if (last) break;
    router = input_router_[receiver_[sender]];
  }
  if (routers != nullptr) *routers = count + 1;
  return time + static_cast<std::int64_t>(((flits - 1) * slowest) >> 16);
}

void Network::Core::check_conservation() const {
  std::vector<std::int64_t> held(credits_.size(), 0);  // by sender and VC: credits left, and flits and credits beyond
  for (std::size_t i = 0; i < credits_.size(); ++i) held[i] = credits_[i];
  std::int64_t flits = 0;
  for (std::size_t i = 0; i < input_vcs_.size(); ++i) {
    const int input = port_of(static_cast<std::uint32_t>(i));
    held[place_of(input_sender_[input], vc_of(static_cast<std::uint32_t>(i)))] += input_vcs_[i].count;
    flits += input_vcs_[i].count;
  }
  for (const Slot& events : slots_) {
    for (const FlitEvent& event : events.flits) {
      ++flits;
      const std::uint32_t place = event.place & ~sink_bit;
      if ((event.place & sink_bit) != 0) {
        ++held[place];
      } else {
        ++held[place_of(input_sender_[port_of(place)], vc_of(place))];
      }
    }
    for (const std::uint32_t credit : events.credits) ++held[credit];
  }
  for (std::size_t i = 0; i < held.size(); ++i) {
    if (held[i] != depth_) {
      fail("simulate", "sender " + std::to_string(i >> shift_) + " accounts for " + std::to_string(held[i]) +
                           " credits of VC " + std::to_string(vc_of(static_cast<std::uint32_t>(i))) + ", expected " +
                           std::to_string(depth_));
    }
  }
  if (flits != counters_.injected_flits - counters_.delivered_flits) {
    fail("simulate", "the network holds " + std::to_string(flits) + " flits, expected " +
                         std::to_string(counters_.injected_flits - counters_.delivered_flits));
  }
}

}  // namespace dcgn::memnet
