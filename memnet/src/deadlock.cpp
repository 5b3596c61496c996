// The graph of channel dependencies, and a search for a cycle in it.
#include "memnet/src/deadlock.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <set>
#include <vector>

namespace dcgn::memnet {
namespace {

class Dependencies {
 public:
  Dependencies(const Topology& topology, const Parameters& parameters, const RouteTable& routes)
      : topology_(topology),
        routes_(routes),
        classes_(routes.vc_classes()),
        legs_(parameters.routing == Routing::valiant || parameters.routing == Routing::ugal ? 2 : 1),
        replies_share_(parameters.replies && parameters.message_classes == 1),
        channel_nodes_(static_cast<int>(topology.channels().size()) * classes_) {
    successors_.resize(channel_nodes_ + topology.terminals().size());
    visited_.assign(channel_nodes_, 0);
    terminals_at_.resize(topology.routers().size());
    for (std::size_t t = 0; t < topology.terminals().size(); ++t) {
      for (const Port& port : topology.terminals()[t].ports) {
        for (const int router : {port.router, port.exit}) {
          auto& here = terminals_at_[router];
          if (here.empty() || here.back() != static_cast<int>(t)) here.push_back(static_cast<int>(t));
        }
      }
    }
  }

  std::string find() {
    if (separable()) {
      add_grid();
    } else {
      for (int ties = 0; ties < 1 << routes_.tie_bits(); ++ties) {
        std::string cycle = add_direct(static_cast<std::uint8_t>(ties));
        if (!cycle.empty()) return cycle;
      }
      if (legs_ == 2) add_valiant();
    }
    add_overlays();
    return first_cycle();
  }

 private:
  // A VC class of a channel, and how many levels above the lowest of that hop it is.
  struct Place {
    int node = 0;
    int above = 0;
  };

  // Where a route came to: the channels of its last hop, and how many steps it had taken.
  struct End {
    std::vector<int> nodes;
    int steps = 0;
  };

  void link(int from, int to) {
    auto& list = successors_[from];
    if (std::find(list.begin(), list.end(), to) == list.end()) list.push_back(to);
  }

  void places_of(const Hop& hop, std::vector<Place>& places) const {
    places.clear();
    for (int above = 0; above <= hop.more; ++above) {
      const int vc_class = hop.vc_class + above * routes_.classes_per_level();
      for (int i = 0; i < hop.count; ++i) places.push_back({hop.channels[i] * classes_ + vc_class, above});
    }
  }

  static void nodes_of(const std::vector<Place>& places, std::vector<int>& nodes) {
    nodes.clear();
    for (const Place& place : places) nodes.push_back(place.node);
  }

  // The only leg, or the second after a first of so many steps.
  RouteState last_leg(int steps, std::uint8_t ties) const {
    RouteState state = routes_.start(-1, false, ties);
    state.leg = static_cast<std::uint8_t>(legs_ - 1);
    state.slack = 0;
    state.steps = static_cast<std::uint8_t>(steps);
    return state;
  }

  // RouteState::ties that differ along one dimension.
  std::vector<std::uint8_t> ways_round() const {
    return routes_.tie_bits() > 0 ? std::vector<std::uint8_t>{0, 255} : std::vector<std::uint8_t>{0};
  }

  bool talk(int from, int to) const {
    // Terminals of a router are of few kinds: the first of each speaks for all.
    for (const int a : terminals_at_[from]) {
      for (const int b : terminals_at_[to]) {
        if (topology_.may_talk(a, b)) return true;
      }
      if (topology_.terminals()[a].kind == TerminalKind::node) break;
    }
    return false;
  }

  // Follows a route to its goal, or until it joins one that this stamp has been over: which a route does that has the
  // same lowest class on the same channel, as those of a stamp have the same slack. False where it joined one.
  bool follow(int router, int target, RouteState state, int goal, std::vector<int>* first, End* end) {
    previous_.clear();
    while (router != goal) {
      const Hop hop = routes_.next(router, target, state);
      places_of(hop, current_);
      if (previous_.empty() && first != nullptr) nodes_of(current_, *first);
      for (const Place& from : previous_) {
        for (const Place& to : current_) {
          if (to.above >= from.above) link(from.node, to.node);
        }
      }
      const bool known = visited_[current_[0].node] == stamp_;
      visited_[current_[0].node] = stamp_;
      if (known) return false;
      std::swap(previous_, current_);
      router = topology_.channels()[hop.channels[0]].to;
    }
    if (end != nullptr) {
      nodes_of(previous_, end->nodes);
      end->steps = state.steps;
    }
    return !previous_.empty();
  }

  // Whether the dependencies of dimension order can be put together from those of single dimensions: every router of
  // a whole grid has nodes, which send to all, and nodes wait for nobody.
  bool separable() const {
    const Shape& shape = topology_.shape();
    if (shape.kind == ShapeKind::irregular || shape.broken || shape.sliced || replies_share_) return false;
    std::size_t routers = 1;
    for (const int extent : shape.extents) routers *= static_cast<std::size_t>(extent);
    if (routers != topology_.routers().size()) return false;
    for (std::size_t r = 0; r < routers; ++r) {
      std::size_t stride = 1;
      for (std::size_t d = 0; d < shape.extents.size(); ++d) {
        const std::vector<int>& coordinates = topology_.routers()[r].coordinates;
        if (coordinates[d] != static_cast<int>(r / stride) % shape.extents[d]) return false;
        stride *= static_cast<std::size_t>(shape.extents[d]);
      }
      const std::vector<int>& here = terminals_at_[r];
      if (here.empty() || topology_.terminals()[here[0]].kind != TerminalKind::node) return false;
    }
    return true;
  }

  // What a router's routes along one dimension begin with there, or end with: those of the first or the second leg.
  void along(int router, std::size_t d, bool first_leg, std::vector<int>& ends, std::vector<int>& firsts) {
    const int stride = stride_of(d);
    const int here = topology_.routers()[router].coordinates[d];
    const auto add = [](const std::vector<int>& nodes, std::vector<int>& to) {
      for (const int node : nodes) {
        if (std::find(to.begin(), to.end(), node) == to.end()) to.push_back(node);
      }
    };
    const auto leg_to = [&](int goal, std::uint8_t ties) {
      return first_leg ? routes_.start(goal, false, ties) : last_leg(0, ties);
    };
    std::vector<int> nodes;
    for (const std::uint8_t ties : ways_round()) {
      ++stamp_;
      for (int c = 0; c < topology_.shape().extents[d]; ++c) {
        if (c == here) continue;
        const int other = router + (c - here) * stride;
        End end;
        // A route that joins another one ends as that does.
        if (follow(other, router, leg_to(router, ties), router, nullptr, &end)) add(end.nodes, ends);
        RouteState state = leg_to(other, ties);
        places_of(routes_.next(router, other, state), current_);
        nodes_of(current_, nodes);
        add(nodes, firsts);
      }
    }
  }

  // Sets of the first leg come before those of the second. A route turns from one dimension into a later one, whatever
  // it did before; any first leg of a Valiant route into a router may be followed by any second leg out of it. The cost
  // is routers times the sum of the extents.
  void add_grid() {
    const int routers = static_cast<int>(topology_.routers().size());
    const std::size_t dimensions = topology_.shape().extents.size();
    std::vector<std::vector<int>> ends(dimensions * legs_);
    std::vector<std::vector<int>> firsts(dimensions * legs_);
    for (int router = 0; router < routers; ++router) {
      for (std::size_t i = 0; i < ends.size(); ++i) {
        ends[i].clear();
        firsts[i].clear();
        along(router, i % dimensions, legs_ == 2 && i < dimensions, ends[i], firsts[i]);
      }
      for (std::size_t d = 0; legs_ == 2 && d < dimensions; ++d) add_levels(router, d);
      for (std::size_t i = 0; i < ends.size(); ++i) {
        for (std::size_t j = i + 1; j < ends.size(); ++j) link_all(ends[i], firsts[j]);
      }
    }
  }

  // Minimal routes of several levels along one dimension: where they turn they do what some leg does.
  void add_levels(int router, std::size_t d) {
    for (const std::uint8_t ties : ways_round()) {
      ++stamp_;
      for (int c = 0; c < topology_.shape().extents[d]; ++c) {
        const int other = router + (c - topology_.routers()[router].coordinates[d]) * stride_of(d);
        follow(other, router, routes_.start(-1, false, ties), router, nullptr, nullptr);
      }
    }
  }

  int stride_of(std::size_t d) const {
    int stride = 1;
    for (std::size_t i = 0; i < d; ++i) stride *= topology_.shape().extents[i];
    return stride;
  }

  void link_all(const std::vector<int>& from, const std::vector<int>& to) {
    for (const int a : from) {
      for (const int b : to) link(a, b);
    }
  }

  // Looks for a cycle now and then: where there is one, it mostly shows after a few targets.
  std::string add_direct(std::uint8_t ties) {
    const int routers = static_cast<int>(topology_.routers().size());
    std::vector<int> first;
    for (int target = 0; target < routers; ++target) {
      if (terminals_at_[target].empty()) continue;
      ++stamp_;
      for (int source = 0; source < routers; ++source) {
        if (source == target || routes_.distance(source, target) < 0 || !talk(source, target)) continue;
        End end;
        const bool came = follow(source, target, routes_.start(-1, false, ties), target, &first, &end);
        if (!replies_share_) continue;
        for (const int terminal : terminals_at_[source]) {
          for (const int node : first) link(channel_nodes_ + terminal, node);
        }
        for (const int terminal : terminals_at_[target]) {
          if (!came) break;  // the route that it joined has added its end
          for (const int node : end.nodes) link(node, channel_nodes_ + terminal);
        }
      }
      if (target >= 32 && std::has_single_bit(static_cast<unsigned>(target))) {
        std::string cycle = first_cycle();
        if (!cycle.empty()) return cycle;
      }
    }
    return {};
  }

  // Any first leg into a router may be followed by any second leg out of it. Second legs to a target that begin after
  // as many steps join where they meet.
  void add_valiant() {
    const int routers = static_cast<int>(topology_.routers().size());
    const int all_ties = 1 << routes_.tie_bits();
    std::vector<std::vector<End>> ends(routers);
    std::set<int> steps;
    for (int middle = 0; middle < routers; ++middle) {
      for (int ties = 0; ties < all_ties; ++ties) {
        add_first_legs(middle, static_cast<std::uint8_t>(ties), ends[middle]);
      }
      for (const End& end : ends[middle]) steps.insert(end.steps);
    }
    std::vector<int> first;
    for (int target = 0; target < routers; ++target) {
      if (terminals_at_[target].empty()) continue;
      for (const int taken : steps) {
        for (int ties = 0; ties < all_ties; ++ties) {
          ++stamp_;
          for (int middle = 0; middle < routers; ++middle) {
            if (target == middle || routes_.distance(middle, target) < 0) continue;
            for (const End& end : ends[middle]) {
              if (end.steps != taken) continue;
              follow(middle, target, last_leg(taken, static_cast<std::uint8_t>(ties)), target, &first, nullptr);
              link_all(end.nodes, first);
            }
          }
        }
      }
    }
  }

  // What first legs into a router end with, apart where they took other numbers of steps.
  void add_first_legs(int middle, std::uint8_t ties, std::vector<End>& ends) {
    ++stamp_;
    for (int source = 0; source < static_cast<int>(topology_.routers().size()); ++source) {
      if (source == middle || terminals_at_[source].empty() || routes_.distance(source, middle) < 0) continue;
      End end;
      if (!follow(source, middle, routes_.start(middle, false, ties), middle, nullptr, &end)) continue;
      const auto same = std::find_if(ends.begin(), ends.end(), [&](const End& e) { return e.steps == end.steps; });
      if (same == ends.end()) {
        ends.push_back(end);
        continue;
      }
      for (const int node : end.nodes) {
        if (std::find(same->nodes.begin(), same->nodes.end(), node) == same->nodes.end()) same->nodes.push_back(node);
      }
    }
  }

  void add_overlays() {
    for (const std::vector<int>& path : topology_.overlays()) {
      for (const int source : path) {
        for (const int target : path) {
          if (source == target) continue;
          ++stamp_;
          follow(source, target, routes_.start(-1, true), target, nullptr, nullptr);
        }
      }
    }
  }

  std::string first_cycle() const {
    enum : std::uint8_t { fresh, open, done };
    std::vector<std::uint8_t> mark(successors_.size(), fresh);
    std::vector<std::pair<int, std::size_t>> path;
    for (int root = 0; root < static_cast<int>(successors_.size()); ++root) {
      if (mark[root] != fresh) continue;
      path.assign(1, {root, 0});
      mark[root] = open;
      while (!path.empty()) {
        const int node = path.back().first;
        if (path.back().second == successors_[node].size()) {
          mark[node] = done;
          path.pop_back();
          continue;
        }
        const int next = successors_[node][path.back().second++];
        if (mark[next] == open) {
          std::vector<int> cycle;
          std::size_t i = path.size();
          while (path[--i].first != next) {
          }
          for (; i < path.size(); ++i) cycle.push_back(path[i].first);
          return printed(cycle);
        }
        if (mark[next] == fresh) {
          mark[next] = open;
          path.emplace_back(next, 0);
        }
      }
    }
    return {};
  }

  std::string printed(const std::vector<int>& cycle) const {
    std::string text;
    if (cycle[0] < channel_nodes_) text = "router " + std::to_string(topology_.channels()[cycle[0] / classes_].from);
    for (const int node : cycle) {
      if (!text.empty()) text += " -> ";
      text += name(node);
    }
    if (cycle[0] >= channel_nodes_) text += " -> " + name(cycle[0]);
    return text;
  }

  std::string name(int node) const {
    if (node >= channel_nodes_) return topology_.terminals()[node - channel_nodes_].name;
    return "router " + std::to_string(topology_.channels()[node / classes_].to) + " (VC " +
           std::to_string(std::countr_zero(routes_.vc_mask(node % classes_))) + ")";
  }

  const Topology& topology_;
  const RouteTable& routes_;
  int classes_;
  int legs_;
  bool replies_share_;
  int channel_nodes_;  // channel * classes + class; terminals follow
  std::vector<std::vector<int>> successors_;
  std::vector<int> visited_;  // by node, the stamp of the last walk over it
  int stamp_ = 0;
  std::vector<std::vector<int>> terminals_at_;
  std::vector<Place> previous_;
  std::vector<Place> current_;
};

}  // namespace

std::string find_dependency_cycle(const Topology& topology, const Parameters& parameters, const RouteTable& routes) {
  return Dependencies(topology, parameters, routes).find();
}

}  // namespace dcgn::memnet
