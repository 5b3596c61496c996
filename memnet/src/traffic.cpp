// The synthetic patterns.
#include "memnet/src/traffic.hpp"
#include "memnet/src/fail.hpp"

#include <algorithm>
#include <cmath>
#include <string>

namespace dcgn::memnet {
namespace {

void check_terminals(const char* what, const std::vector<int>& terminals, int count) {
  for (const int terminal : terminals) {
    if (terminal < 0 || terminal >= count) {
      fail("traffic", std::string(what) + " has terminal " + std::to_string(terminal) + ", expected 0.." +
                          std::to_string(count - 1));
    }
  }
}

// Moves each coordinate of a grid's router, or the number itself where there is no grid.
template <class Move>
int moved(const Topology& topology, int index, int count, Move&& move) {
  const std::vector<int>& extents = topology.shape().extents;
  int routers = 1;
  for (const int extent : extents) routers *= extent;
  if (extents.empty() || count % routers != 0) return move(index, count);
  const int concentration = count / routers;
  int router = index / concentration;
  int result = 0;
  int stride = 1;
  for (const int extent : extents) {
    result += move(router % extent, extent) * stride;
    router /= extent;
    stride *= extent;
  }
  return result * concentration + index % concentration;
}

}  // namespace

std::string_view to_string(Pattern pattern) noexcept {
  switch (pattern) {
    case Pattern::uniform: return "uniform";
    case Pattern::transpose: return "transpose";
    case Pattern::bit_complement: return "bit_complement";
    case Pattern::tornado: return "tornado";
    case Pattern::neighbour: return "neighbour";
    case Pattern::hotspot: return "hotspot";
    case Pattern::matrix: return "matrix";
  }
  return "unknown";
}

Destinations::Destinations(const Topology& topology, const Traffic& traffic) : traffic_(traffic) {
  const int count = static_cast<int>(topology.terminals().size());
  check_terminals("sources", traffic.sources, count);
  check_terminals("destinations", traffic.destinations, count);
  check_terminals("hotspots", traffic.hotspots, count);
  std::vector<int> once = traffic.sources;
  std::sort(once.begin(), once.end());
  const auto twice = std::adjacent_find(once.begin(), once.end());
  if (twice != once.end())
    fail("traffic", "sources has terminal " + std::to_string(*twice) + " twice, expected it once");
  if (traffic.flits < 1) fail("traffic", "flits is " + std::to_string(traffic.flits) + ", expected 1 or more");
  if (!(traffic.hotspot_fraction >= 0 && traffic.hotspot_fraction <= 1)) {
    fail("traffic", "hotspot_fraction is " + std::to_string(traffic.hotspot_fraction) + ", expected 0..1");
  }

  // Whom each terminal may send to; in networks of nodes alone all have the same list.
  std::vector<int> candidates = traffic.destinations;
  if (candidates.empty()) {
    for (int t = 0; t < count; ++t) candidates.push_back(t);
  }
  const bool nodes = std::all_of(topology.terminals().begin(), topology.terminals().end(),
                                 [](const Terminal& terminal) { return terminal.kind == TerminalKind::node; });
  if (nodes) targets_.push_back(candidates);
  std::vector<int> asked = traffic.sources;
  if (asked.empty()) {
    for (int t = 0; t < count; ++t) asked.push_back(t);
  }
  for (const int source : asked) {
    if (!nodes) {
      std::vector<int> list;
      for (const int t : candidates) {
        if (topology.may_talk(source, t)) list.push_back(t);
      }
      if (list.empty()) {
        if (traffic.sources.empty()) continue;
        fail("traffic",
             topology.terminals()[source].name + " has nobody to send to, expected a destination that it may talk to");
      }
      targets_.push_back(std::move(list));
    }
    sources_.push_back(source);
    target_set_.push_back(static_cast<int>(targets_.size()) - 1);
  }
  if (sources_.empty()) fail("traffic", "no terminal sends, expected at least one");

  const auto permute = [&](auto&& destination_of) {
    for (const int source : sources_) {
      const int destination = destination_of(source);
      if (!topology.may_talk(source, destination)) {
        fail("traffic", std::string(to_string(traffic.pattern)) + " sends from " + topology.terminals()[source].name +
                            " to " + topology.terminals()[destination].name + ", expected terminals that may talk");
      }
      fixed_.push_back(destination);
    }
  };
  switch (traffic.pattern) {
    case Pattern::uniform: break;
    case Pattern::transpose: {
      const int side = static_cast<int>(std::lround(std::sqrt(count)));
      if (side * side != count) {
        fail("traffic", "transpose of " + std::to_string(count) + " terminals, expected a square number of them");
      }
      permute([&](int t) { return t % side * side + t / side; });
      break;
    }
    case Pattern::bit_complement: permute([&](int t) { return count - 1 - t; }); break;
    case Pattern::tornado:
      permute([&](int t) {
        return moved(topology, t, count, [](int at, int extent) { return (at + (extent + 1) / 2 - 1) % extent; });
      });
      break;
    case Pattern::neighbour:
      permute([&](int t) { return moved(topology, t, count, [](int at, int extent) { return (at + 1) % extent; }); });
      break;
    case Pattern::hotspot:
      if (traffic.hotspots.empty()) fail("traffic", "hotspots is empty, expected at least one terminal");
      for (const int source : sources_) {
        for (const int hotspot : traffic.hotspots) {
          if (!topology.may_talk(source, hotspot)) {
            fail("traffic", topology.terminals()[source].name + " sends to the hotspot " +
                                topology.terminals()[hotspot].name + ", expected terminals that may talk");
          }
        }
      }
      break;
    case Pattern::matrix: {
      const std::size_t n = static_cast<std::size_t>(count);
      if (traffic.weights.size() != n * n) {
        fail("traffic",
             "weights has " + std::to_string(traffic.weights.size()) + " numbers, expected " + std::to_string(n * n));
      }
      for (const int source : sources_) {
        std::vector<double> sums;
        double sum = 0;
        for (int t = 0; t < count; ++t) {
          const double weight = traffic.weights[source * n + t];
          if (!(weight >= 0) || !std::isfinite(weight)) {
            fail("traffic", "the weight from " + topology.terminals()[source].name + " to " +
                                topology.terminals()[t].name + " is " + std::to_string(weight) +
                                ", expected 0 or more");
          }
          if (weight > 0 && !topology.may_talk(source, t)) {
            fail("traffic", "a weight from " + topology.terminals()[source].name + " to " +
                                topology.terminals()[t].name + ", expected terminals that may talk");
          }
          sum += weight;
          sums.push_back(sum);
        }
        cumulative_.push_back(std::move(sums));
      }
      if (std::all_of(cumulative_.begin(), cumulative_.end(), [](const auto& sums) { return sums.back() <= 0; })) {
        fail("traffic", "weights are all 0 of those who send, expected one above 0");
      }
      break;
    }
  }
}

int Destinations::draw(int source_index, Random& random) const {
  if (!fixed_.empty()) return fixed_[source_index];
  if (!cumulative_.empty()) {
    const std::vector<double>& sums = cumulative_[source_index];
    if (sums.back() <= 0) return -1;
    const auto at = std::upper_bound(sums.begin(), sums.end(), random.uniform() * sums.back());
    return static_cast<int>(std::min(at, sums.end() - 1) - sums.begin());
  }
  if (traffic_.pattern == Pattern::hotspot && random.uniform() < traffic_.hotspot_fraction) {
    return traffic_.hotspots[random.below(static_cast<int>(traffic_.hotspots.size()))];
  }
  const std::vector<int>& targets = targets_[target_set_[source_index]];
  return targets[random.below(static_cast<int>(targets.size()))];
}

double Destinations::share(int source_index, int terminal) const {
  if (!fixed_.empty()) return fixed_[source_index] == terminal ? 1 : 0;
  if (!cumulative_.empty()) {
    const std::vector<double>& sums = cumulative_[source_index];
    if (sums.back() <= 0) return 0;
    return (sums[terminal] - (terminal > 0 ? sums[terminal - 1] : 0)) / sums.back();
  }
  const auto part = [&](const std::vector<int>& list) {
    return static_cast<double>(std::count(list.begin(), list.end(), terminal)) / static_cast<double>(list.size());
  };
  const double even = part(targets_[target_set_[source_index]]);
  if (traffic_.pattern != Pattern::hotspot) return even;
  return traffic_.hotspot_fraction * part(traffic_.hotspots) + (1 - traffic_.hotspot_fraction) * even;
}

}  // namespace dcgn::memnet
