#include <dcgn/simulated_network.hpp>

#include "memnet/src/config.hpp"
#include "memnet/src/fail.hpp"
#include "memnet/src/network.hpp"
#include "memnet/src/report.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace dcgn {

struct SimulatedNetwork::State {
  explicit State(const memnet::Configuration& c) : network(make(c)) {}

  static memnet::Network make(const memnet::Configuration& c) {
    if (c.kind != memnet::RunKind::open_loop) {
      memnet::fail("configuration", c.file + ": the configuration of a run by itself (" +
                                        std::string(memnet::to_string(c.kind)) +
                                        "), expected none of [requests], [kernels], [replay], [system]");
    }
    try {
      return {c.topology, c.parameters};
    } catch (const Error& error) {
      throw c.explain(error);
    }
  }

  memnet::Network network;
};

SimulatedNetwork::SimulatedNetwork(const std::string& toml, const std::vector<std::string>& settings)
    : state_(std::make_unique<State>(memnet::parse_configuration(toml, "text", settings))) {}

SimulatedNetwork::SimulatedNetwork(std::unique_ptr<State> state) : state_(std::move(state)) {}

SimulatedNetwork SimulatedNetwork::load(const std::string& file, const std::vector<std::string>& settings) {
  return SimulatedNetwork(std::make_unique<State>(memnet::load_configuration(file, settings)));
}

SimulatedNetwork::SimulatedNetwork(SimulatedNetwork&&) noexcept = default;
SimulatedNetwork& SimulatedNetwork::operator=(SimulatedNetwork&&) noexcept = default;
SimulatedNetwork::~SimulatedNetwork() = default;

int SimulatedNetwork::terminals() const { return static_cast<int>(state_->network.topology().terminals().size()); }

std::string SimulatedNetwork::terminal_name(int terminal) const {
  if (terminal < 0 || terminal >= terminals()) {
    memnet::fail("simulate",
                 "terminal is " + std::to_string(terminal) + ", expected 0.." + std::to_string(terminals() - 1));
  }
  return state_->network.topology().terminals()[static_cast<std::size_t>(terminal)].name;
}

double SimulatedNetwork::clock_ghz() const { return state_->network.parameters().clock_ghz; }
int SimulatedNetwork::flit_bytes() const { return state_->network.parameters().flit_bytes; }

bool SimulatedNetwork::can_inject(const Packet& packet) const {
  return state_->network.can_inject(packet.source, packet.message_class, packet.flits);
}

void SimulatedNetwork::inject(const Packet& packet) {
  state_->network.inject({packet.source, packet.destination, packet.message_class, packet.flits, packet.tag});
}

void SimulatedNetwork::set_accepting(int terminal, int message_class, bool accepting) {
  state_->network.set_accepting(terminal, message_class, accepting);
}

std::int64_t SimulatedNetwork::now() const { return state_->network.now(); }
void SimulatedNetwork::step() { state_->network.step(); }

void SimulatedNetwork::advance(std::int64_t cycle) {
  constexpr std::int64_t most = std::int64_t{1} << 62;
  if (cycle > most) memnet::fail("simulate", "cycle is " + std::to_string(cycle) + ", expected at most 2^62");
  state_->network.advance(std::max(cycle, now()));
}

bool SimulatedNetwork::idle() const { return state_->network.idle(); }

std::vector<SimulatedNetwork::Delivery> SimulatedNetwork::take_deliveries() {
  std::vector<Delivery> all;
  for (const memnet::Delivery& one : state_->network.deliveries()) {
    const memnet::Packet& packet = one.packet;
    all.push_back({{packet.source, packet.destination, packet.message_class, packet.flits, packet.tag},
                   one.created,
                   one.injected,
                   one.delivered,
                   one.hops});
  }
  state_->network.clear_deliveries();
  return all;
}

SimulatedNetwork::Counters SimulatedNetwork::counters() const {
  const memnet::Counters& all = state_->network.counters();
  return {all.injected_packets, all.delivered_packets, all.injected_flits, all.delivered_flits, all.flit_hops};
}

std::vector<SimulatedNetwork::Link> SimulatedNetwork::links() const {
  const std::vector<std::int64_t> flits = memnet::flits_of_links(state_->network);
  std::vector<Link> all;
  for (const memnet::NamedLink& link : memnet::named_links(state_->network.topology())) {
    all.push_back({link.from, link.to, link.number, link.bandwidth, flits[all.size()]});
  }
  return all;
}

}  // namespace dcgn
