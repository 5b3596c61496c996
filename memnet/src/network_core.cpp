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
      vc_bits_((1U << shift_) - 1),
      class_mask_(parameters.vcs_per_class == 64 ? ~std::uint64_t{0}
                                                 : (std::uint64_t{1} << parameters.vcs_per_class) - 1),
      normal_(pipeline_of(parameters.stages)),
      pass_(pipeline_of(parameters.pass_through_stages)),
      depth_(parameters.vc_buffer_flits()),
      serdes_(parameters.serdes_cycles()),
      chooses_late_(parameters.routing == Routing::valiant || parameters.routing == Routing::ugal),
      draws_late_(parameters.routing == Routing::ugal && parameters.ugal_queues == UgalQueues::route) {
  for (int vc = 0; vc < vcs_; ++vc) {
    class_base_[vc] = static_cast<std::uint8_t>(vc - vc % parameters.vcs_per_class);
  }
  build_ports();
  build_attachments();
  build_partitions();
  if (partitions_.size() > 1) {
    team_ = std::make_unique<Team>(static_cast<int>(partitions_.size()),
                                   [this](int number) { step_partition(partitions_[number]); });
  }
}

int Network::Core::add_sender(const Link& link) {
  Sender sender;
  // A pass-through channel's SerDes is paid where a packet leaves the path.
  sender.latency = 1 + link.extra_latency + (link.serdes && !link.pass_through ? serdes_ : 0);
  sender.pass_through = link.pass_through ? 1 : 0;
  sender.free_vcs = sender.credit_vcs = vcs_ == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << vcs_) - 1;
  senders_.push_back(sender);
  period_.push_back(static_cast<std::uint64_t>(std::llround(65536 / link.bandwidth)));
  return static_cast<int>(senders_.size()) - 1;
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
  routers_.resize(routers);
  for (int r = 0; r < routers; ++r) {
    RouterState& router = routers_[r];
    router.first_output = static_cast<std::int32_t>(senders_.size());
    for (const int channel : outputs[r]) channel_sender_[channel] = add_sender(channels[channel].link);
    for (const auto& [port, terminal] : ejections[r]) eject_sender_[port] = add_sender(link_of(port));
    const int count = static_cast<int>(senders_.size()) - router.first_output;
    if (count > 64) {
      fail("simulate",
           "router " + topology_.routers()[r].name + " has " + std::to_string(count) + " ports, expected at most 64");
    }
    router.outputs = static_cast<std::uint8_t>(count);
    for (std::size_t s = router.first_output; s < senders_.size(); ++s) {
      if (period_[s] != 65536 || senders_[s].pass_through != 0) router.special = true;
    }
  }
  router_outputs_ = static_cast<int>(senders_.size());
  for (int port = 0; port < static_cast<int>(port_terminal_.size()); ++port) add_sender(link_of(port));

  for (int r = 0; r < routers; ++r) {
    RouterState& router = routers_[r];
    router.first_vc = static_cast<std::uint32_t>(inputs_.size()) << shift_;
    router.first_word = static_cast<std::int32_t>(waiting_.size());
    const auto add_input = [&](int sender) {
      senders_[sender].receiver = static_cast<std::int32_t>(inputs_.size());
      Input input;
      input.router = r;
      input.sender = sender;
      input.pass_through = senders_[sender].pass_through;
      input.credit_cycles = 1 + senders_[sender].latency + parameters_.credit_delay;
      inputs_.push_back(input);
    };
    for (const int channel : inputs_of[r]) add_input(channel_sender_[channel]);
    for (const auto& [port, terminal] : entries[r]) add_input(router_outputs_ + port);
    if (inputs_.size() - (router.first_vc >> shift_) > 64) {
      fail("simulate", "router " + topology_.routers()[r].name + " has more than 64 ports, expected at most 64");
    }
    router.inputs = static_cast<std::uint8_t>(inputs_.size() - (router.first_vc >> shift_));
    router.words = static_cast<std::uint8_t>(((router.inputs << shift_) + 63) / 64);
    waiting_.resize(waiting_.size() + router.words, 0);
  }
  ready_.assign(waiting_.size(), 0);

  const std::size_t senders = senders_.size();
  const std::size_t inputs = inputs_.size();
  if ((std::max(senders, inputs) << shift_) >= std::size_t{1} << 31)
    fail("simulate", "the network has more than 2^31 virtual channels, expected fewer");
  large_ = inputs << shift_ > 8192;
  credits_.assign(senders << shift_, static_cast<std::uint16_t>(depth_));
  vc_grant_.assign(senders << shift_, 0);
  input_vcs_.resize(inputs << shift_);
  flits_.assign((inputs << shift_) * depth_, 0);
  sources_.resize(port_terminal_.size() * classes_);
  source_turn_.assign(port_terminal_.size(), 0);
  queued_.assign(topology_.terminals().size() * classes_, 0);
  turn_.assign(topology_.terminals().size(), 0);
}

// Routers in a row, each partition with about as many inputs as any other.
void Network::Core::build_partitions() {
  const int routers = static_cast<int>(routers_.size());
  const int count = draws_late_ ? 1 : std::min(parameters_.threads, routers);
  int longest = 0;
  for (const Sender& sender : senders_) longest = std::max(longest, sender.latency);
  const int horizon = longest + parameters_.credit_delay + std::max(normal_.rc, pass_.rc) + serdes_ +
                      std::max(normal_.st, pass_.st) + 4;
  slot_bits_ = std::bit_width(static_cast<unsigned>(horizon));
  slot_mask_ = (std::int64_t{1} << slot_bits_) - 1;
  partitions_ = std::vector<Partition>(count);
  std::vector<std::uint8_t> of(routers);
  for (int p = 0, r = 0; p < count; ++p) {
    Partition& partition = partitions_[p];
    partition.number = static_cast<std::size_t>(p);
    partition.first_router = r;
    const auto inputs = static_cast<std::int64_t>(inputs_.size());
    // Routers are left for those that come after.
    for (const int first = r; r <= routers - (count - p); ++r) {
      if (p + 1 < count && r > first && (routers_[r].first_vc >> shift_) >= inputs * (p + 1) / count) break;
      of[r] = static_cast<std::uint8_t>(p);
    }
    partition.active.assign((r - partition.first_router + 63) / 64, 0);
    partition.slots.resize(static_cast<std::size_t>(count) << slot_bits_);
    partition.candidate.assign(64 * 64, 0);
    partition.requests.resize(std::size_t{64} << shift_);
  }
  for (const Terminal& terminal : topology_.terminals())
    terminal_partition_.push_back(terminal.ports.empty() ? 0 : of[terminal.ports[0].router]);
  for (std::size_t port = 0; port < port_terminal_.size(); ++port) {
    Partition& partition = partitions_[terminal_partition_[port_terminal_[port]]];
    port_place_.push_back(static_cast<std::int32_t>(partition.ports.size()));
    partition.ports.push_back(static_cast<std::int32_t>(port));
  }
  for (Partition& partition : partitions_) partition.active_ports.assign((partition.ports.size() + 63) / 64, 0);
  // What a sink sends back stays where the router is.
  for (int r = 0; r < routers; ++r) {
    for (int s = 0; s < routers_[r].outputs; ++s) senders_[routers_[r].first_output + s].to = of[r];
  }
  for (Input& input : inputs_) {
    Sender& sender = senders_[input.sender];
    input.from = input.sender < router_outputs_ ? sender.to
                                                : terminal_partition_[port_terminal_[input.sender - router_outputs_]];
    sender.to = of[input.router];
  }
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
  single_ports_ = topology_.overlays().empty() && !topology_.shape().sliced;
  for (std::size_t t = 0; t < topology_.terminals().size(); ++t) {
    single_ports_ = single_ports_ && port_begin_[t + 1] - port_begin_[t] == 1;
    only_exit_.push_back(port_begin_[t + 1] - port_begin_[t] == 1 ? eject_sender_[port_begin_[t]] : -1);
  }
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
  std::int64_t time = 1 + senders_[router_outputs_ + port].latency;
  std::uint64_t slowest = period_[router_outputs_ + port];
  RouteState state = routes_.start(-1, overlay);
  bool came_through = senders_[router_outputs_ + port].pass_through != 0;
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
    const bool passes = came_through && overlay && senders_[sender].pass_through != 0;
    const Pipeline& pipeline = passes ? pass_ : normal_;
    time += pipeline.rc + (pipeline.same_cycle ? 0 : 1) + pipeline.st + 1 + senders_[sender].latency;
    if (came_through && !passes) time += serdes_;
    slowest = std::max(slowest, period_[sender]);
    came_through = senders_[sender].pass_through != 0;
    if (last) break;
    router = inputs_[senders_[sender].receiver].router;
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
    held[place_of(inputs_[input].sender, vc_of(static_cast<std::uint32_t>(i)))] += input_vcs_[i].count;
    flits += input_vcs_[i].count;
  }
  for (const Partition& partition : partitions_) {
    for (const Slot& events : partition.slots) {
      flits += static_cast<std::int64_t>(events.flits.size() + events.sinks.size());
      for (const FlitEvent& event : events.flits)
        ++held[place_of(inputs_[port_of(event.place)].sender, vc_of(event.place))];
      for (const SinkEvent& event : events.sinks) ++held[event.place];
      for (const std::uint32_t credit : events.credits) ++held[credit];
    }
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
