// The public face of a network at work.
#include "memnet/src/network_core.hpp"

#include <dcgn/error.hpp>

#include <string>
#include <utility>

namespace dcgn::memnet {
namespace {

[[noreturn]] void refuse_index(const char* what, int index, int count) {
  throw Error(
      Code::configuration, "simulate",
      std::string(what) + " " + std::to_string(index) + " is out of range, expected 0.." + std::to_string(count - 1));
}

inline void check_index(const char* what, int index, int count) {
  if (static_cast<unsigned>(index) >= static_cast<unsigned>(count)) refuse_index(what, index, count);
}

}  // namespace

Network::Network(const Topology& topology, const Parameters& parameters)
    : core_(std::make_unique<Core>(topology, parameters)) {}
Network::Network(Network&&) noexcept = default;
Network& Network::operator=(Network&&) noexcept = default;
Network::~Network() = default;

bool Network::can_inject(int terminal, int message_class, int flits) const {
  check_index("terminal", terminal, static_cast<int>(core_->topology_.terminals().size()));
  check_index("message class", message_class, core_->classes_);
  const int queued = core_->queued_[terminal * core_->classes_ + message_class];
  const int room = core_->parameters_.source_queue_flits;
  return room == 0 || queued == 0 || queued + flits <= room;
}

void Network::inject(const Packet& packet) { core_->inject(packet, core_->now_); }
void Network::inject(const Packet& packet, std::int64_t created) { core_->inject(packet, created); }

void Network::set_accepting(int terminal, int message_class, bool accepting) {
  check_index("terminal", terminal, static_cast<int>(core_->topology_.terminals().size()));
  check_index("message class", message_class, core_->classes_);
  const std::uint64_t bits = core_->class_mask_ << (message_class * core_->parameters_.vcs_per_class);
  for (int port = core_->port_begin_[terminal]; port < core_->port_begin_[terminal + 1]; ++port) {
    std::uint64_t& blocked = core_->senders_[core_->eject_sender_[port]].blocked;
    blocked = accepting ? blocked & ~bits : blocked | bits;
  }
}

std::int64_t Network::now() const { return core_->now_; }
void Network::step() { core_->step(); }
bool Network::idle() const { return core_->packets_in_network_ == 0; }

void Network::advance(std::int64_t cycle) {
  while (core_->now_ < cycle) {
    if (core_->quiet()) {
      core_->now_ = cycle;
      core_->counters_.cycles = cycle;
      return;
    }
    core_->step();
  }
}

std::int64_t Network::next_event() const { return idle() ? INT64_MAX : core_->now_; }

const std::vector<Delivery>& Network::deliveries() const { return core_->deliveries_; }
void Network::clear_deliveries() { core_->deliveries_.clear(); }
const Counters& Network::counters() const { return core_->counters_; }

std::int64_t Network::channel_flits(int channel) const {
  check_index("channel", channel, static_cast<int>(core_->channel_sender_.size()));
  const int sender = core_->channel_sender_[channel];
  return sender < 0 ? 0 : core_->senders_[sender].sent_flits;
}

std::int64_t Network::injection_flits(int terminal, int port) const {
  check_index("terminal", terminal, static_cast<int>(core_->topology_.terminals().size()));
  check_index("port", port, core_->port_begin_[terminal + 1] - core_->port_begin_[terminal]);
  return core_->senders_[core_->router_outputs_ + core_->port_begin_[terminal] + port].sent_flits;
}

std::int64_t Network::ejection_flits(int terminal, int port) const {
  check_index("terminal", terminal, static_cast<int>(core_->topology_.terminals().size()));
  check_index("port", port, core_->port_begin_[terminal + 1] - core_->port_begin_[terminal]);
  return core_->senders_[core_->eject_sender_[core_->port_begin_[terminal] + port]].sent_flits;
}

std::int64_t Network::source_queue_flits(int terminal, int message_class) const {
  check_index("terminal", terminal, static_cast<int>(core_->topology_.terminals().size()));
  check_index("message class", message_class, core_->classes_);
  return core_->queued_[terminal * core_->classes_ + message_class];
}

void Network::check_conservation() const { core_->check_conservation(); }

std::int64_t Network::zero_load_latency(int source, int destination, int flits) const {
  return core_->zero_load_latency(source, destination, flits, nullptr);
}

int Network::routers_on_route(int source, int destination) const {
  int routers = 0;
  static_cast<void>(core_->zero_load_latency(source, destination, 1, &routers));
  return routers;
}

std::string Network::routes() const { return core_->routes_.description(); }
const Topology& Network::topology() const { return core_->topology_; }
const Parameters& Network::parameters() const { return core_->parameters_; }

}  // namespace dcgn::memnet
