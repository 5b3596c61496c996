// Tables of routes where there are no dimensions, and the classes of virtual channels.
#include "memnet/src/routing.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace dcgn::memnet {
namespace {

constexpr int unreached = std::numeric_limits<int>::max();

// Nodes by their cost, the least first; of one cost, in the order they came. Few costs are open at a time.
class Frontier {
 public:
  void add(int cost, int node) { open_[cost].push_back(node); }
  // The next that has this cost still; -1: none.
  int next(const std::vector<int>& cost) {
    while (!open_.empty()) {
      const auto least = open_.begin();
      while (at_ < least->second.size()) {
        const int node = least->second[at_++];
        if (cost[node] == least->first) return node;
      }
      open_.erase(least);
      at_ = 0;
    }
    return -1;
  }

 private:
  std::map<int, std::vector<int>> open_;
  std::size_t at_ = 0;
};

// Dependencies between the groups of channels of one layer: an edge for each pair of groups that a router connects.
class Layer {
 public:
  Layer(int groups, std::size_t edges) : used_(edges, false), mark_(groups, 0) {}

  bool has(std::size_t edge) const { return used_[edge]; }
  void set(std::size_t edge, bool used) { used_[edge] = used; }

  // Whether a cycle can be reached from these groups. `successors` calls back with each group that one leads to, and
  // the edge's number.
  template <class Successors>
  bool cyclic_from(const std::vector<int>& starts, Successors&& successors) {
    open_ += 2;  // marks of earlier searches are below
    for (const int start : starts) {
      if (mark_[start] >= open_) continue;
      path_.assign(1, {start, 0});
      mark_[start] = open_;
      while (!path_.empty()) {
        const int node = path_.back().first;
        const auto [next, edge] = successors(node, path_.back().second);
        if (next < 0) {
          mark_[node] = open_ + 1;
          path_.pop_back();
          continue;
        }
        ++path_.back().second;
        if (!used_[edge]) continue;
        if (mark_[next] == open_) return true;
        if (mark_[next] > open_) continue;
        mark_[next] = open_;
        path_.emplace_back(next, 0);
      }
    }
    return false;
  }

 private:
  std::vector<bool> used_;
  std::vector<int> mark_;  // open_: on the path; open_ + 1: done
  int open_ = 0;
  std::vector<std::pair<int, int>> path_;
};

}  // namespace

// Shortest paths towards each router, a channel between clusters weighing more than any path inside one. Of several
// that are as good a router takes the one to the neighbour of the nearest number, which is dimension order on a grid
// that is numbered row by row; or, to spread the load, the one that the fewest routes have taken so far.
void RouteTable::build_table(bool spread) {
  const std::size_t n = static_cast<std::size_t>(routers_);
  table_.assign(n * n, none);
  distance_.assign(n * n, -1);
  constexpr int between = 1 << 14;
  std::vector<int> cost(n);
  std::vector<int> order;
  std::vector<std::int64_t> flow(n);
  std::vector<std::int64_t> load(groups_.size(), 0);
  std::vector<std::int64_t> terminals(n, 0);
  for (const Terminal& terminal : topology_.terminals()) {
    for (const Port& port : terminal.ports) ++terminals[port.router];
  }
  std::vector<int> weight(groups_.size());
  for (std::size_t g = 0; g < groups_.size(); ++g) weight[g] = groups_[g].between_clusters ? between : 1;
  const bool alike = std::find(weight.begin(), weight.end(), between) == weight.end();
  // Routers begin at different places, lest all of a row choose alike.
  std::vector<int> first(n, 0);
  for (int r = 0; spread && r < routers_; ++r) {
    first[r] = r % std::max(1, group_begin_[r + 1] - group_begin_[r]);
  }
  std::vector<std::vector<std::pair<int, int>>> before(n);  // by router: who has channels to it, and their weight
  for (int r = 0; r < routers_; ++r) {
    for (int g = group_begin_[r]; g < group_begin_[r + 1]; ++g) before[groups_[g].to].emplace_back(r, weight[g]);
  }
  const auto search = [&](int target) {
    std::fill(cost.begin(), cost.end(), unreached);
    order.assign(1, target);
    cost[target] = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
      for (const auto& [next, its_weight] : before[order[i]]) {
        if (cost[next] != unreached) continue;
        cost[next] = cost[order[i]] + 1;
        order.push_back(next);
      }
    }
  };
  const auto search_weighted = [&](int target) {
    std::fill(cost.begin(), cost.end(), unreached);
    order.clear();
    Frontier frontier;
    cost[target] = 0;
    frontier.add(0, target);
    for (int router = frontier.next(cost); router >= 0; router = frontier.next(cost)) {
      order.push_back(router);
      for (const auto& [next, its_weight] : before[router]) {
        if (cost[router] + its_weight >= cost[next]) continue;
        cost[next] = cost[router] + its_weight;
        frontier.add(cost[next], next);
      }
    }
  };
  for (int target = 0; target < routers_; ++target) {
    if (alike) {
      search(target);
    } else {
      search_weighted(target);
    }
    const std::size_t row = static_cast<std::size_t>(target) * n;
    for (const int router : order) flow[router] = terminals[router] * std::max<std::int64_t>(1, terminals[target]);
    for (std::size_t i = order.size(); i-- > 1;) {
      const int router = order[i];
      const int begin = group_begin_[router];
      const int end = group_begin_[router + 1];
      int best = -1;
      for (int g = begin + first[router], left = end - begin; left > 0; --left, g = g + 1 == end ? begin : g + 1) {
        if (cost[groups_[g].to] == unreached || cost[groups_[g].to] + weight[g] != cost[router]) continue;
        const bool better =
            best >= 0 &&
            (spread ? load[g] < load[best] : std::abs(groups_[g].to - router) < std::abs(groups_[best].to - router));
        if (best < 0 || better) best = g;
      }
      load[best] += flow[router];
      flow[groups_[best].to] += flow[router];
      table_[row + router] = static_cast<std::uint8_t>(best - begin);
    }
    distance_[row + target] = 0;
    for (std::size_t i = 1; i < order.size(); ++i) {
      const int router = order[i];
      const int next = groups_[group_begin_[router] + table_[row + router]].to;
      distance_[row + router] = static_cast<std::int16_t>(distance_[row + next] + 1);
      most_hops_ = std::max<int>(most_hops_, distance_[row + router]);
      most_crossed_ = std::max(most_crossed_, cost[router] / between);
    }
  }
}

// Each route is followed to a router whose own is known already.
void RouteTable::build_own() {
  const std::size_t n = static_cast<std::size_t>(routers_);
  table_.assign(n * n, none);
  distance_.assign(n * n, -1);
  std::vector<int> followed(n, -1);  // by router: the last target whose routes went through it
  std::vector<int> path;
  for (int target = 0; target < routers_; ++target) {
    const std::size_t row = static_cast<std::size_t>(target) * n;
    distance_[row + target] = 0;
    followed[target] = target;
    for (int router = 0; router < routers_; ++router) {
      path.clear();
      int at = router;
      for (; at >= 0 && followed[at] != target; at = topology_.next_routers()[row + at]) {
        followed[at] = target;
        path.push_back(at);
      }
      if (at < 0 || distance_[row + at] < 0) continue;  // does not arrive
      int steps = distance_[row + at];
      for (std::size_t i = path.size(); i-- > 0;) {
        const int group = group_between(path[i], topology_.next_routers()[row + path[i]]);
        table_[row + path[i]] = static_cast<std::uint8_t>(group - group_begin_[path[i]]);
        distance_[row + path[i]] = static_cast<std::int16_t>(++steps);
      }
      most_hops_ = std::max(most_hops_, steps);
    }
  }
}

// Puts each destination in the first layer where its routes close no circle with those that are there. False where that
// takes more layers than there are VCs for.
bool RouteTable::build_layers() {
  const int most = vcs_per_class_ / legs_;
  const std::size_t n = static_cast<std::size_t>(routers_);
  std::vector<std::size_t> edge_begin(groups_.size() + 1, 0);
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    edge_begin[g + 1] =
        edge_begin[g] + static_cast<std::size_t>(group_begin_[groups_[g].to + 1] - group_begin_[groups_[g].to]);
  }
  const auto successor = [&](int group, int place) {
    const int to = groups_[group].to;
    const int next = group_begin_[to] + place;
    return next < group_begin_[to + 1] ? std::pair(next, edge_begin[group] + place) : std::pair(-1, std::size_t{0});
  };
  std::vector<bool> has_terminal(n, false);
  for (const Terminal& terminal : topology_.terminals()) {
    for (const Port& port : terminal.ports) has_terminal[port.router] = true;
  }
  std::vector<Layer> layers;
  std::vector<int> visited(groups_.size(), -1);
  std::vector<std::pair<int, std::size_t>> edges;  // the group that one leads to, its number
  layer_.assign(n, 0);
  for (int target = 0; target < routers_; ++target) {
    if (!has_terminal[target] && legs_ == 1) continue;
    edges.clear();
    const std::uint8_t* row = &table_[static_cast<std::size_t>(target) * n];
    for (int source = 0; source < routers_; ++source) {
      if (!has_terminal[source] || row[source] == none) continue;
      int before = -1;
      for (int router = source; router != target; router = groups_[before].to) {
        const int group = group_begin_[router] + row[router];
        if (before >= 0) edges.emplace_back(group, edge_begin[before] + row[router]);
        before = group;
        if (visited[group] == target) break;
        visited[group] = target;
      }
    }
    int chosen = -1;
    for (int l = 0; chosen < 0; ++l) {
      if (l == most) return false;
      if (l == static_cast<int>(layers.size()))
        layers.emplace_back(static_cast<int>(groups_.size()), edge_begin.back());
      std::vector<int> starts;
      std::vector<std::size_t> added;
      for (const auto& [group, edge] : edges) {
        if (layers[l].has(edge)) continue;
        layers[l].set(edge, true);
        added.push_back(edge);
        starts.push_back(group);
      }
      if (added.empty() || !layers[l].cyclic_from(starts, successor)) {
        chosen = l;
      } else {
        for (const std::size_t edge : added) layers[l].set(edge, false);
      }
    }
    layer_[target] = static_cast<std::uint8_t>(chosen);
  }
  classes_per_level_ = std::max<int>(1, static_cast<int>(layers.size()));
  return true;
}

// Each component has a breadth-first tree, whose root is a router with the least distance to its farthest. A channel
// leads down to a router that is farther from the root, or as far with a larger number. Routes are the shortest of
// those that go up, then down.
void RouteTable::build_up_down() {
  const std::size_t n = static_cast<std::size_t>(routers_);
  std::vector<int> rank(n, -1);  // by distance from the root, then number
  int ranked = 0;
  for (int start = 0; start < routers_; ++start) {
    if (rank[start] >= 0) continue;
    const auto eccentricity = [&](int router) {
      const auto* row = &distance_[static_cast<std::size_t>(router) * n];
      return *std::max_element(row, row + n);
    };
    int root = start;
    int least = eccentricity(start);
    for (int r = start + 1; r < routers_; ++r) {
      if (distance_[static_cast<std::size_t>(start) * n + r] < 0) continue;
      if (const int one = eccentricity(r); one < least) {
        least = one;
        root = r;
      }
    }
    std::vector<int> level(1, root), below;
    rank[root] = ranked++;
    while (!level.empty()) {
      below.clear();
      for (const int router : level) {
        for (int g = group_begin_[router]; g < group_begin_[router + 1]; ++g) {
          if (rank[groups_[g].to] < 0) below.push_back(groups_[g].to);
        }
      }
      std::sort(below.begin(), below.end());
      below.erase(std::unique(below.begin(), below.end()), below.end());
      for (const int router : below) rank[router] = ranked++;
      std::swap(level, below);
    }
  }
  for (int r = 0; r < routers_; ++r) {
    for (int g = group_begin_[r]; g < group_begin_[r + 1]; ++g) groups_[g].down = rank[groups_[g].to] > rank[r];
  }
  down_table_.assign(n * n, none);
  most_hops_ = 0;
  std::vector<int> cost(2 * n);  // r: of a packet that may go up still; n + r: of one that has gone down
  std::vector<int> order;
  std::vector<std::int64_t> flow(2 * n);
  std::vector<std::int64_t> load(groups_.size(), 0);
  const int down = routers_;
  const auto after = [&](int g) { return groups_[g].to + (groups_[g].down ? down : 0); };
  for (int target = 0; target < routers_; ++target) {
    std::fill(cost.begin(), cost.end(), unreached);
    std::fill_n(flow.begin(), n, 1);  // each router sends, and none has gone down yet
    std::fill_n(flow.begin() + down, n, 0);
    order.clear();
    const auto reach = [&](int node, int value) {
      if (cost[node] != unreached) return;
      cost[node] = value;
      order.push_back(node);
    };
    reach(target, 0);
    reach(down + target, 0);
    for (std::size_t i = 0; i < order.size(); ++i) {  // NOLINT(modernize-loop-convert): it grows meanwhile
      const int node = order[i];
      const int router = node < down ? node : node - down;
      // Backwards: a channel from here leads up where the one to here leads down.
      for (int g = group_begin_[router]; g < group_begin_[router + 1]; ++g) {
        const int before = groups_[g].to;
        if (node >= down && !groups_[g].down) {
          reach(down + before, cost[node] + 1);
          reach(before, cost[node] + 1);
        }
        if (node < down && groups_[g].down) reach(before, cost[node] + 1);
      }
    }
    const std::size_t row = static_cast<std::size_t>(target) * n;
    std::fill_n(&table_[row], n, none);
    std::fill_n(&distance_[row], n, std::int16_t{-1});
    for (std::size_t i = order.size(); i-- > 0;) {
      const int node = order[i];
      const int router = node < down ? node : node - down;
      if (node < down) {
        distance_[row + router] = static_cast<std::int16_t>(cost[node]);
        most_hops_ = std::max(most_hops_, cost[node]);
      }
      if (router == target) continue;
      int best = -1;
      for (int g = group_begin_[router]; g < group_begin_[router + 1]; ++g) {
        if ((node >= down && !groups_[g].down) || cost[after(g)] == unreached) continue;
        if (cost[after(g)] + 1 != cost[node]) continue;
        if (best < 0 || load[g] < load[best]) best = g;
      }
      load[best] += flow[node];
      flow[after(best)] += flow[node];
      (node < down ? table_ : down_table_)[row + router] = static_cast<std::uint8_t>(best - group_begin_[router]);
    }
  }
}

bool RouteTable::set_scheme(Scheme scheme) {
  scheme_ = scheme;
  switch (scheme) {
    case Scheme::grid:
    case Scheme::single: set_levels(1); return true;
    case Scheme::clusters: set_levels(most_crossed_ + 1); return true;
    case Scheme::hops: set_levels(std::max(1, most_hops_)); return true;
    case Scheme::layers:
      if (!build_layers()) return false;
      set_levels(1);
      return true;
    case Scheme::up_down:
      build_up_down();
      set_levels(1);
      return true;
  }
  return false;
}

// `levels`: that a minimal route takes.
void RouteTable::set_levels(int levels) {
  const int wanted = legs_ * levels * classes_per_level() + (topology_.overlays().empty() ? 0 : 1);
  const int count = std::min(wanted, vcs_per_class_);
  slack_ = count == wanted ? (legs_ - 1) * levels : 0;
  masks_.assign(count, 0);
  for (int k = 0; k < count; ++k) {
    for (int vc = k * vcs_per_class_ / count; vc < (k + 1) * vcs_per_class_ / count; ++vc) {
      masks_[k] |= std::uint64_t{1} << vc;
      class_of_vc_[vc] = static_cast<std::uint8_t>(k);
    }
  }
}

std::string RouteTable::description() const {
  const std::string paths = topology_.next_routers().empty() ? "shortest paths, " : "routes of routing.table, ";
  switch (scheme_) {
    case Scheme::grid: return kind_ == ShapeKind::torus ? "dimension order, a dateline a ring" : "dimension order";
    case Scheme::single: return paths + "one class of VCs";
    case Scheme::clusters: return paths + "a class of VCs for each channel between clusters";
    case Scheme::hops: return paths + "a class of VCs for each hop";
    case Scheme::layers: return paths + counted(classes_per_level_, "layer") + " of destinations";
    case Scheme::up_down: return "up*/down*, over a breadth-first tree";
  }
  return {};
}

}  // namespace dcgn::memnet
