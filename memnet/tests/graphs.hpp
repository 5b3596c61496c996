// Graphs of a node a router.
#pragma once

#include "memnet/src/topology.hpp"
#include "memnet/src/traffic.hpp"

#include <string>
#include <utility>
#include <vector>

namespace dcgn::memnet {

using Pairs = std::vector<std::pair<int, int>>;

inline Topology graph_of(int routers, const Pairs& channels) {
  Topology topology("graph");
  for (int r = 0; r < routers; ++r) {
    topology.add_router({std::to_string(r), {}, -1, -1, 0, 0});
    topology.attach(topology.add_terminal("node " + std::to_string(r), TerminalKind::node), r);
  }
  for (const auto& [from, to] : channels) topology.add_channel(from, to);
  return topology;
}

inline Pairs ring_channels(int routers) {
  Pairs channels;
  for (int r = 0; r < routers; ++r) channels.emplace_back(r, (r + 1) % routers);
  return channels;
}

// A random tree, and so many channels more.
inline Topology random_graph(int routers, int more, int seed) {
  Random random(static_cast<std::uint64_t>(seed));
  Pairs channels;
  for (int r = 1; r < routers; ++r) channels.emplace_back(random.below(r), r);
  while (more > 0) {
    const int a = random.below(routers);
    const int b = random.below(routers);
    if (a == b) continue;
    channels.emplace_back(a, b);
    --more;
  }
  return graph_of(routers, channels);
}

}  // namespace dcgn::memnet
