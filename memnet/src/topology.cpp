// The graph of a network, and what must hold for it.
#include "memnet/src/topology.hpp"
#include "memnet/src/fail.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace dcgn::memnet {
namespace {

void check_index(const char* what, int index, std::size_t count) {
  if (index >= 0 && static_cast<std::size_t>(index) < count) return;
  fail("topology", std::string(what) + " " + std::to_string(index) + " is out of range, expected 0.." +
                       std::to_string(static_cast<long>(count) - 1));
}

void check_link(const Link& link) {
  if (!(link.bandwidth > 0 && link.bandwidth <= 1)) {
    fail("topology", "a link's bandwidth is " + std::to_string(link.bandwidth) +
                         " flits per cycle, expected more than 0, at most 1");
  }
  if (link.extra_latency < 0 || link.extra_latency > 10000) {
    fail("topology", "a link's extra latency is " + std::to_string(link.extra_latency) + " cycles, expected 0..10000");
  }
}

// The component of each router: channels go both ways, so that two routers reach each other or do not.
std::vector<int> components(const Topology& topology) {
  const auto outputs = topology.outputs();
  std::vector<int> component(topology.routers().size(), -1);
  std::vector<int> pending;
  int count = 0;
  for (std::size_t start = 0; start < component.size(); ++start) {
    if (component[start] >= 0) continue;
    component[start] = count;
    pending.assign(1, static_cast<int>(start));
    while (!pending.empty()) {
      const int router = pending.back();
      pending.pop_back();
      for (const int channel : outputs[router]) {
        const int next = topology.channels()[channel].to;
        if (component[next] >= 0) continue;
        component[next] = count;
        pending.push_back(next);
      }
    }
    ++count;
  }
  return component;
}

}  // namespace

std::string_view to_string(TerminalKind kind) noexcept {
  switch (kind) {
    case TerminalKind::node: return "node";
    case TerminalKind::gpu: return "gpu";
    case TerminalKind::cpu: return "cpu";
    case TerminalKind::hmc: return "hmc";
  }
  return "unknown";
}

std::string counted(int count, std::string_view what) {
  return std::to_string(count) + " " + std::string(what) + (count == 1 ? "" : "s");
}

int Topology::add_router(Router router) {
  routers_.push_back(std::move(router));
  return static_cast<int>(routers_.size()) - 1;
}

int Topology::add_channel(int from, int to, const Link& link) {
  check_index("router", from, routers_.size());
  check_index("router", to, routers_.size());
  check_link(link);
  if (from == to)
    fail("topology", "a channel from router " + std::to_string(from) + " to itself, expected another router");
  channels_.push_back({from, to, link});
  channels_.push_back({to, from, link});
  return static_cast<int>(channels_.size()) - 2;
}

int Topology::add_one_way(int from, int to, const Link& link) {
  const int channel = add_channel(from, to, link);
  channels_.back().missing = true;
  return channel;
}

int Topology::add_terminal(std::string name, TerminalKind kind, int cluster) {
  terminals_.push_back({std::move(name), kind, cluster, {}});
  return static_cast<int>(terminals_.size()) - 1;
}

int Topology::attach(int terminal, int entry, int exit, const Link& link) {
  check_index("terminal", terminal, terminals_.size());
  check_index("router", entry, routers_.size());
  check_index("router", exit, routers_.size());
  check_link(link);
  terminals_[terminal].ports.push_back({entry, link, exit});
  return static_cast<int>(terminals_[terminal].ports.size()) - 1;
}

void Topology::add_overlay(std::vector<int> routers) {
  for (std::size_t i = 0; i < routers.size(); ++i) {
    check_index("router", routers[i], routers_.size());
    if (std::count(routers.begin(), routers.end(), routers[i]) > 1) {
      fail("topology", "an overlay passes router " + std::to_string(routers[i]) + " twice, expected once");
    }
    if (i == 0) continue;
    if (!passes_through(routers[i - 1], routers[i])) {
      fail("topology", "an overlay goes from router " + std::to_string(routers[i - 1]) + " to router " +
                           std::to_string(routers[i]) + ", expected a pass-through channel between them");
    }
  }
  overlays_.push_back(std::move(routers));
}

bool Topology::passes_through(int from, int to) const {
  return std::any_of(channels_.begin(), channels_.end(), [&](const Channel& channel) {
    return channel.from == from && channel.to == to && channel.link.pass_through;
  });
}

void Topology::remove_channel(int from, int to) {
  check_index("router", from, routers_.size());
  check_index("router", to, routers_.size());
  const std::string pair = "router " + std::to_string(from) + " and router " + std::to_string(to);
  std::size_t at = channels_.size();
  for (std::size_t c = 0; c < channels_.size(); ++c) {
    if (channels_[c].from == from && channels_[c].to == to) at = c / 2 * 2;
  }
  if (at == channels_.size()) fail("topology", "no channel between " + pair + " is left to fail, expected one");
  channels_.erase(channels_.begin() + static_cast<std::ptrdiff_t>(at),
                  channels_.begin() + static_cast<std::ptrdiff_t>(at) + 2);
  shape_.broken = shape_.kind != ShapeKind::irregular;
  for (const std::vector<int>& path : overlays_) {
    for (std::size_t i = 1; i < path.size(); ++i) {
      const bool here = (path[i - 1] == from && path[i] == to) || (path[i - 1] == to && path[i] == from);
      if (here && !passes_through(from, to))
        fail("topology", "the channel between " + pair + " is on a pass-through path, expected another one to fail");
    }
  }
}

bool Topology::may_talk(int from, int to) const {
  const TerminalKind a = terminals_[from].kind;
  const TerminalKind b = terminals_[to].kind;
  if (a == TerminalKind::node || b == TerminalKind::node) return a == b;
  if (a == TerminalKind::hmc || b == TerminalKind::hmc) return a != b;
  return processors_talk_ && from != to;
}

void Topology::validate() const {
  if (routers_.empty()) fail("topology", name_ + " has no router, expected at least one");
  if (terminals_.empty()) fail("topology", name_ + " has no terminal, expected at least one");
  if (shape_.kind != ShapeKind::irregular) {
    for (const int extent : shape_.extents) {
      if (extent < 1)
        fail("topology", name_ + " has a dimension of length " + std::to_string(extent) + ", expected 1 or more");
    }
    for (const Router& router : routers_) {
      if (router.coordinates.size() != shape_.extents.size()) {
        fail("topology", "router " + router.name + " has " + std::to_string(router.coordinates.size()) +
                             " coordinates, expected " + std::to_string(shape_.extents.size()));
      }
      for (std::size_t d = 0; d < shape_.extents.size(); ++d) {
        check_index("a router's coordinate", router.coordinates[d], static_cast<std::size_t>(shape_.extents[d]));
      }
    }
  }
  if (one_way()) {
    check_one_way_paths();
    return;
  }
  // Terminals of one kind in the same components are alike: one of each sort speaks for all, and the check costs sorts
  // squared. A sort's terminals have a port and so reach each other.
  const std::vector<int> component = components(*this);
  std::map<std::pair<TerminalKind, std::vector<int>>, int> sorts;  // to the first terminal of each
  for (std::size_t t = 0; t < terminals_.size(); ++t) {
    if (terminals_[t].ports.empty())
      fail("topology", "terminal " + terminals_[t].name + " has no port, expected at least one");
    std::vector<int> reach;
    for (const Port& port : terminals_[t].ports) reach.push_back(component[port.router]);
    std::sort(reach.begin(), reach.end());
    reach.erase(std::unique(reach.begin(), reach.end()), reach.end());
    sorts.emplace(std::pair(terminals_[t].kind, std::move(reach)), static_cast<int>(t));
  }
  for (const auto& [a, first] : sorts) {
    for (const auto& [b, second] : sorts) {
      if (first == second || !may_talk(first, second)) continue;
      const std::vector<int>& there = b.second;
      const bool meet = std::any_of(a.second.begin(), a.second.end(),
                                    [&](int c) { return std::binary_search(there.begin(), there.end(), c); });
      if (!meet) {
        fail("topology", terminals_[second].name + " cannot be reached from " + terminals_[first].name + " in " +
                             name_ + ", expected a path of channels from router " +
                             std::to_string(terminals_[first].ports[0].router) + " to router " +
                             std::to_string(terminals_[second].ports[0].router));
      }
    }
  }
}

// From each router that terminals send into, to each that they receive from. Terminals of one-way networks have one
// port.
void Topology::check_one_way_paths() const {
  const auto out = outputs();
  std::vector<bool> reached;
  std::vector<int> pending;
  for (std::size_t t = 0; t < terminals_.size(); ++t) {
    if (terminals_[t].ports.empty())
      fail("topology", "terminal " + terminals_[t].name + " has no port, expected at least one");
    const int entry = terminals_[t].ports[0].router;
    if (t > 0 && terminals_[t - 1].ports[0].router == entry) continue;
    reached.assign(routers_.size(), false);
    reached[entry] = true;
    pending.assign(1, entry);
    while (!pending.empty()) {
      const int router = pending.back();
      pending.pop_back();
      for (const int channel : out[router]) {
        const int next = channels_[channel].to;
        if (!reached[next]) pending.push_back(next);
        reached[next] = true;
      }
    }
    for (std::size_t other = 0; other < terminals_.size(); ++other) {
      if (terminals_[other].ports.empty() || !may_talk(static_cast<int>(t), static_cast<int>(other))) continue;
      const int exit = terminals_[other].ports[0].exit;
      if (!reached[exit]) {
        fail("topology", terminals_[other].name + " cannot be reached from " + terminals_[t].name + " in " + name_ +
                             ", expected a path of channels from router " + std::to_string(entry) + " to router " +
                             std::to_string(exit));
      }
    }
  }
}

bool Topology::one_way() const {
  return std::any_of(channels_.begin(), channels_.end(), [](const Channel& channel) { return channel.missing; });
}

int Topology::terminal_channel_count() const {
  int count = 0;
  for (const Terminal& terminal : terminals_) {
    if (terminal.kind != TerminalKind::hmc) count += static_cast<int>(terminal.ports.size());
  }
  return count;
}

int Topology::intra_cluster_channel_count() const {
  int count = 0;
  for (const Channel& channel : channels_) {
    const int cluster = routers_[channel.from].cluster;
    if (cluster >= 0 && cluster == routers_[channel.to].cluster) ++count;
  }
  return count / 2;
}

std::vector<std::vector<int>> Topology::outputs() const {
  std::vector<std::vector<int>> result(routers_.size());
  for (std::size_t c = 0; c < channels_.size(); ++c)
    if (!channels_[c].missing) result[channels_[c].from].push_back(static_cast<int>(c));
  return result;
}

std::vector<std::vector<int>> Topology::inputs() const {
  std::vector<std::vector<int>> result(routers_.size());
  for (std::size_t c = 0; c < channels_.size(); ++c) {
    const Channel& channel = channels_[c ^ 1];
    if (!channel.missing) result[channel.to].push_back(static_cast<int>(c ^ 1));
  }
  return result;
}

}  // namespace dcgn::memnet
