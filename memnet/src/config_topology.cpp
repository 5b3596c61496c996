// [topology] of a configuration, and topologies in short.
#include "memnet/src/config.hpp"
#include "memnet/src/config_keys.hpp"
#include "memnet/src/config_parts.hpp"
#include "memnet/src/config_values.hpp"
#include "memnet/src/topologies.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace dcgn::memnet {

namespace {

// Of a channel, in flits a cycle; `key` is what says so.
double to_flits(const ConfigValues& values, const char* key, double gbytes, const Parameters& parameters) {
  const double flits = gbytes / parameters.flits_to_gbytes();
  if (flits > 1 + 1e-9) {
    values.refuse(key, "a bandwidth of at most network.channel_bandwidth: more is several channels in parallel");
  }
  return std::min(flits, 1.0);
}

double bandwidth(ConfigValues& values, const Parameters& parameters) {
  return to_flits(values, "topology.bandwidth", values.number("topology.bandwidth"), parameters);
}

int to_cycles(double ns, const Parameters& parameters) {
  return static_cast<int>(std::ceil(ns * parameters.clock_ghz - 1e-9));
}

int latency(ConfigValues& values, const Parameters& parameters) {
  return to_cycles(values.number("topology.latency"), parameters);
}

Topology read_graph(ConfigValues& values, const Parameters& parameters) {
  Topology topology("graph");
  Link link;
  if (values.given("topology.bandwidth")) link.bandwidth = bandwidth(values, parameters);
  link.extra_latency = latency(values, parameters);
  link.serdes = values.flag("topology.serdes");
  const int routers = values.whole("topology.routers");
  for (int r = 0; r < routers; ++r) {
    // In a circle, as pictures show it.
    const double angle = 6.28318530717958648 * r / routers, radius = routers / 6.28318530717958648;
    topology.add_router({std::to_string(r), {}, -1, -1, radius * std::cos(angle), radius * std::sin(angle)});
  }
  for (const ConfigLink& one : values.links("topology.channels")) {
    Link own = link;
    if (one.latency) own.extra_latency = to_cycles(*one.latency, parameters);
    if (one.bandwidth) own.bandwidth = to_flits(values, "topology.channels", *one.bandwidth, parameters);
    at_key(values, "topology.channels", [&] { return topology.add_channel(one.from, one.to, own); });
  }
  const std::vector<std::string> kinds = values.words("topology.kinds");
  const std::vector<std::vector<int>> terminals = values.lists("topology.terminals");
  if (!kinds.empty() && kinds.size() != terminals.size()) {
    values.refuse("topology.kinds", "as many as topology.terminals has: " + std::to_string(terminals.size()));
  }
  if (terminals.empty()) values.refuse("topology.terminals", "at least one");
  for (std::size_t t = 0; t < terminals.size(); ++t) {
    if (terminals[t].empty()) {
      values.refuse("topology.terminals", "a router or more for each: number " + std::to_string(t) + " has none");
    }
    const TerminalKind kind = kinds.empty() ? TerminalKind::node : named(kinds[t], terminal_kinds);
    const int terminal = topology.add_terminal(std::string(to_string(kind)) + " " + std::to_string(t), kind);
    for (const int router : terminals[t]) {
      at_key(values, "topology.terminals", [&] { return topology.attach(terminal, router); });
    }
  }
  return topology;
}

}  // namespace

std::string_view key_in(std::string_view text, std::string_view key) {
  const auto is_part = [](char c) { return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const std::string_view section = key.substr(0, key.find('.'));
  for (const Key& one : config_keys()) {
    const std::string_view name = one.name.substr(one.section().size() + 1);
    // Names without an underscore are words of plain texts, too.
    if (one.section() != section || name.find('_') == std::string_view::npos) continue;
    const std::size_t at = text.find(name);
    if (at == std::string_view::npos || (at > 0 && is_part(text[at - 1]))) continue;
    if (at + name.size() == text.size() || !is_part(text[at + name.size()])) return one.name;
  }
  return key;
}

namespace {

Topology generate(ConfigValues& values, const Parameters& parameters) {
  const std::string kind = values.word("topology.kind");
  const auto concentration = [&] { return values.whole("topology.concentration"); };
  const auto extra = [&] { return values.whole("topology.extra_latency"); };
  if (kind == "mesh") {
    return at_key(values, "topology.extents",
                  [&] { return mesh(values.counts("topology.extents"), concentration(), extra()); });
  }
  if (kind == "torus") {
    return at_key(values, "topology.extents",
                  [&] { return torus(values.counts("topology.extents"), concentration(), extra()); });
  }
  if (kind == "flattened_butterfly") {
    return at_key(values, "topology.extents", [&] {
      return flattened_butterfly(values.counts("topology.extents"), concentration(), values.flag("topology.on_chip"),
                                 extra());
    });
  }
  if (kind == "dragonfly") {
    return at_key(values, "topology.kind", [&] {
      return dragonfly(values.whole("topology.nodes_per_router"), values.whole("topology.routers_per_group"),
                       values.whole("topology.global_channels"), values.whole("topology.local_latency"),
                       values.whole("topology.global_latency"));
    });
  }
  if (kind == "fat_tree") {
    return at_key(values, "topology.kind",
                  [&] { return fat_tree(values.whole("topology.arity"), values.whole("topology.levels"), extra()); });
  }
  if (kind == "butterfly") {
    return at_key(values, "topology.kind",
                  [&] { return butterfly(values.whole("topology.arity"), values.whole("topology.levels"), extra()); });
  }
  if (kind == "pcie_tree") {
    return at_key(values, "topology.kind", [&] {
      return pcie_tree(values.whole("topology.gpus"), values.whole("topology.gpus_per_switch"),
                       bandwidth(values, parameters), latency(values, parameters));
    });
  }
  if (kind == "nvlink_switch") {
    return at_key(values, "topology.kind", [&] {
      return nvlink_switch(values.whole("topology.gpus"), values.whole("topology.planes"),
                           values.whole("topology.links_per_plane"), bandwidth(values, parameters),
                           latency(values, parameters));
    });
  }
  if (kind == "graph") return read_graph(values, parameters);
  MemoryNetwork network;
  network.kind = named(kind, memory_topologies);
  network.gpus = values.whole("topology.gpus");
  network.cpus = values.whole("topology.cpus");
  network.hmcs_per_cluster = values.whole("topology.hmcs_per_cluster");
  network.channels_per_node = values.whole("topology.channels_per_node");
  network.vault_ports = values.whole("topology.vault_ports");
  network.channels_per_hmc = values.whole("topology.channels_per_hmc");
  network.pair_channels = values.whole("topology.pair_channels");
  network.serdes_cycles = parameters.serdes_cycles();
  network.clusters_per_row = values.whole("topology.clusters_per_row");
  return at_key(values, "topology.kind", [&] { return memory_network(network); });
}

}  // namespace

Topology read_topology(ConfigValues& values, const Parameters& parameters) {
  Topology topology = generate(values, parameters);
  for (const std::vector<int>& ends : values.lists("topology.failed")) {
    if (ends.size() != 2) values.refuse("topology.failed", "two routers for each channel");
    at_key(values, "topology.failed", [&] {
      topology.remove_channel(ends[0], ends[1]);
      return 0;
    });
  }
  read_routes(values, topology);
  return topology;
}

std::string short_form_of(std::string_view kind) {
  if (kind == "mesh") return "mesh:8x8, or mesh:8x8:2 with two nodes a router";
  if (kind == "torus") return "torus:4x4x4, or torus:4x4:2 with two nodes a router";
  if (kind == "flattened_butterfly") return "flattened_butterfly:4x4:4 with four nodes a router";
  if (kind == "dragonfly") return "dragonfly:P,A,H, as dragonfly:2,4,2";
  if (kind == "fat_tree") return "fat_tree:ARITY,LEVELS, as fat_tree:4,3";
  if (kind == "butterfly") return "butterfly:ARITY,LEVELS, as butterfly:4,3";
  if (kind == "pcie_tree") return "pcie_tree:GPUS,PER_SWITCH, as pcie_tree:8,4";
  if (kind == "nvlink_switch") return "nvlink_switch:GPUS,PLANES,LINKS, as nvlink_switch:8,4,4";
  const bool memory = std::any_of(memory_topologies.begin(), memory_topologies.end(),
                                  [kind](MemoryTopology one) { return to_string(one) == kind; });
  return memory ? std::string(kind) + ":GPUS,CPUS,HMCS (of a cluster), as " + std::string(kind) + ":4,1" : "";
}

std::string configuration_of(std::string_view short_form) {
  const std::size_t colon = short_form.find(':');
  if (colon == std::string_view::npos) return {};
  const std::string kind(short_form.substr(0, colon));
  const std::string_view rest = short_form.substr(colon + 1);
  std::vector<std::string> numbers;
  std::optional<std::size_t> second;  // where the part after another colon begins
  std::string number;
  for (const char c : std::string(rest) + ",") {
    if (c >= '0' && c <= '9') {
      number += c;
    } else if (!number.empty() && (c == ',' || c == 'x' || c == ':')) {
      numbers.push_back(std::exchange(number, {}));
      if (c == ':' && second) return {};
      if (c == ':') second = numbers.size();
    } else {
      return {};
    }
  }
  std::string text = "[topology]\nkind = \"" + kind + "\"\n";
  const auto assign = [&](std::initializer_list<const char*> keys) {
    std::size_t i = 0;
    if (numbers.size() > keys.size()) return std::string();
    for (const char* key : keys) {
      if (i < numbers.size()) text += std::string(key) + " = " + numbers[i] + "\n";
      ++i;
    }
    return text;
  };
  if (kind == "mesh" || kind == "torus" || kind == "flattened_butterfly") {
    const std::size_t extents = second.value_or(numbers.size());
    if (numbers.size() > extents + 1) return {};
    text += "extents = [";
    for (std::size_t i = 0; i < extents; ++i) text += (i ? ", " : "") + numbers[i];
    text += "]\n";
    if (second && numbers.size() > extents) text += "concentration = " + numbers.back() + "\n";
    return text;
  }
  if (second) return {};
  if (kind == "dragonfly") return assign({"nodes_per_router", "routers_per_group", "global_channels"});
  if (kind == "fat_tree" || kind == "butterfly") return assign({"arity", "levels"});
  if (kind == "pcie_tree") return assign({"gpus", "gpus_per_switch"});
  if (kind == "nvlink_switch") return assign({"gpus", "planes", "links_per_plane"});
  if (kind == "graph") return {};
  return assign({"gpus", "cpus", "hmcs_per_cluster"});
}

}  // namespace dcgn::memnet
