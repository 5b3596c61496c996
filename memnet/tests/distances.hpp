// Distances by a search through all channels: what routes are compared with.
#pragma once

#include "memnet/src/topology.hpp"

#include <cstddef>
#include <vector>

namespace dcgn::memnet {

// In channels, of each router from `start`; -1 where there is no way.
inline std::vector<int> distances_from(const Topology& topology, int start) {
  std::vector<int> distance(topology.routers().size(), -1);
  std::vector<int> queue(1, start);
  distance[start] = 0;
  for (std::size_t i = 0; i < queue.size(); ++i) {
    for (const Channel& channel : topology.channels()) {
      if (channel.from != queue[i] || distance[channel.to] >= 0) continue;
      distance[channel.to] = distance[queue[i]] + 1;
      queue.push_back(channel.to);
    }
  }
  return distance;
}

}  // namespace dcgn::memnet
