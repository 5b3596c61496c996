// Tables for dimension order and for shortest paths, and the classes of virtual channels.
#include "memnet/src/routing.hpp"

#include "memnet/src/deadlock.hpp"

#include <dcgn/error.hpp>

#include <algorithm>
#include <string>
#include <utility>

namespace dcgn::memnet {

RouteTable::RouteTable(const Topology& topology, const Parameters& parameters)
    : topology_(topology),
      routers_(static_cast<int>(topology.routers().size())),
      vcs_per_class_(parameters.vcs_per_class),
      legs_(parameters.routing == Routing::valiant || parameters.routing == Routing::ugal ? 2 : 1),
      kind_(topology.shape().broken ? ShapeKind::irregular : topology.shape().kind),
      sliced_(topology.shape().sliced) {
  build_groups();
  if (kind_ != ShapeKind::irregular) build_grid();
  overlay_path_.assign(routers_, -1);
  overlay_place_.assign(routers_, -1);
  for (std::size_t p = 0; p < topology.overlays().size(); ++p) {
    const std::vector<int>& path = topology.overlays()[p];
    for (std::size_t i = 0; i < path.size(); ++i) {
      overlay_path_[path[i]] = static_cast<std::int32_t>(p);
      overlay_place_[path[i]] = static_cast<std::int32_t>(i);
    }
  }
  classes_per_level_ = kind_ == ShapeKind::torus ? 2 : 1;
  const auto sound = [&, this](Scheme scheme, std::string& cycle) {
    if (!set_scheme(scheme)) return false;
    cycle = find_dependency_cycle(topology, parameters, *this);
    return cycle.empty();
  };
  std::string cycle;
  if (kind_ != ShapeKind::irregular) {
    if (sound(Scheme::grid, cycle)) return;
  } else if (!topology.next_routers().empty()) {
    build_own();
    for (const Scheme scheme : {Scheme::single, Scheme::layers, Scheme::hops}) {
      if (sound(scheme, cycle)) return;
    }
  } else {
    // Routes that spread over channels that are as good close circles sooner than those that prefer some of them.
    for (const bool spread : {true, false}) {
      build_table(spread);
      if (sound(Scheme::single, cycle) || (most_crossed_ > 0 && sound(Scheme::clusters, cycle))) return;
    }
    for (const Scheme scheme : {Scheme::layers, Scheme::hops, Scheme::up_down}) {
      // Up*/down* needs both directions.
      if (scheme == Scheme::up_down && topology.one_way()) continue;
      if (sound(scheme, cycle)) return;
    }
  }
  throw Error(Code::configuration, "simulate",
              topology.name() + " with " + std::string(to_string(parameters.routing)) + " routing and " +
                  counted(parameters.vcs_per_class, "VC") + " per class could deadlock, expected no cycle: " + cycle);
}

void RouteTable::build_groups() {
  const auto outputs = topology_.outputs();
  group_begin_.push_back(0);
  for (int r = 0; r < routers_; ++r) {
    std::vector<std::pair<int, int>> neighbours;
    for (const int channel : outputs[r]) neighbours.emplace_back(topology_.channels()[channel].to, channel);
    std::sort(neighbours.begin(), neighbours.end());
    for (std::size_t i = 0; i < neighbours.size(); ++i) {
      if (i == 0 || neighbours[i].first != neighbours[i - 1].first) {
        Group group;
        group.first = static_cast<std::int32_t>(group_channels_.size());
        group.to = neighbours[i].first;
        group.between_clusters = topology_.routers()[r].cluster != topology_.routers()[neighbours[i].first].cluster;
        groups_.push_back(group);
      }
      group_channels_.push_back(neighbours[i].second);
      ++groups_.back().count;
    }
    group_begin_.push_back(static_cast<std::int32_t>(groups_.size()));
    const int count = group_begin_[r + 1] - group_begin_[r];
    if (count >= none) {
      throw Error(
          Code::configuration, "simulate",
          "router " + topology_.routers()[r].name + " has " + std::to_string(count) + " ports, expected at most 64");
    }
  }
}

int RouteTable::group_between(int from, int to) const {
  for (int g = group_begin_[from]; g < group_begin_[from + 1]; ++g) {
    if (groups_[g].to == to) return g;
  }
  return -1;
}

void RouteTable::build_grid() {
  extents_ = topology_.shape().extents;
  dimensions_ = static_cast<int>(extents_.size());
  for (const int extent : extents_) {
    offsets_.push_back(row_);
    row_ += extent;
  }
  for (const Router& router : topology_.routers()) {
    coordinates_.insert(coordinates_.end(), router.coordinates.begin(), router.coordinates.end());
    slice_.push_back(router.slice);
  }
  std::vector<std::int32_t> neighbours(row_);  // of a router, by dimension and coordinate: the group to there
  steps_.resize(static_cast<std::size_t>(routers_) * row_);
  for (int r = 0; r < routers_; ++r) {
    std::fill(neighbours.begin(), neighbours.end(), -1);
    for (int g = group_begin_[r]; g < group_begin_[r + 1]; ++g) {
      const int to = groups_[g].to;
      int differing = -1;
      int count = 0;
      for (int d = 0; d < dimensions_; ++d) {
        if (coordinate(r, d) == coordinate(to, d)) continue;
        differing = d;
        ++count;
      }
      if (count != 1 || (sliced_ && slice_[r] != slice_[to])) {
        throw Error(Code::configuration, "topology",
                    "the channel from router " + std::to_string(r) + " to router " + std::to_string(to) +
                        " does not follow a dimension of " + topology_.name() + ", expected routers of one row");
      }
      neighbours[offsets_[differing] + coordinate(to, differing)] = g;
    }
    for (int d = 0; d < dimensions_; ++d) {
      places_.push_back(offsets_[d] + coordinate(r, d));
      const int extent = extents_[d];
      const int here = coordinate(r, d);
      for (int there = 0; there < extent; ++there) {
        if (there == here) continue;
        Step& step = steps_[static_cast<std::size_t>(r) * row_ + offsets_[d] + there];
        const int up = there > here ? there - here : there - here + extent;
        const int upwards = neighbours[offsets_[d] + (here + 1) % extent] | (there < here ? crosses : 0);
        const int downwards = neighbours[offsets_[d] + (here + extent - 1) % extent] | (there > here ? crosses : 0);
        switch (kind_) {
          case ShapeKind::irregular: break;
          case ShapeKind::flattened: step.on = neighbours[offsets_[d] + there]; break;
          case ShapeKind::mesh: step.on = (there > here ? upwards : downwards) & ~crosses; break;
          case ShapeKind::torus:
            step.on = 2 * up <= extent ? upwards : downwards;
            if (2 * up == extent) step.back = downwards;
            break;
        }
      }
    }
  }
}

int RouteTable::distance(int from, int to) const {
  if (from == to) return 0;
  if (kind_ == ShapeKind::irregular) return distance_[static_cast<std::size_t>(to) * routers_ + from];
  if (sliced_ && slice_[from] != slice_[to]) return -1;
  int sum = 0;
  for (int d = 0; d < dimensions_; ++d) {
    const int step = std::abs(coordinate(from, d) - coordinate(to, d));
    switch (kind_) {
      case ShapeKind::irregular: break;
      case ShapeKind::mesh: sum += step; break;
      case ShapeKind::torus: sum += std::min(step, extents_[d] - step); break;
      case ShapeKind::flattened: sum += step != 0 ? 1 : 0; break;
    }
  }
  return sum;
}

int RouteTable::overlay_distance(int from, int to) const {
  if (overlay_path_[from] < 0 || overlay_path_[from] != overlay_path_[to]) return -1;
  return std::abs(overlay_place_[from] - overlay_place_[to]);
}

RouteState RouteTable::start(int intermediate, bool overlay, std::uint8_t ties) const {
  RouteState state;
  state.intermediate = intermediate;
  state.overlay = overlay;
  state.slack = static_cast<std::uint8_t>(intermediate < 0 && !overlay ? slack_ : 0);
  state.ties = ties;
  return state;
}

void RouteTable::settle_level(RouteState& state, int vc) const {
  const int raised = class_of_vc_[vc] / classes_per_level() - state.level;
  state.slack = static_cast<std::uint8_t>(state.slack - raised);
  state.steps = static_cast<std::uint8_t>(state.steps + raised);
}

Hop RouteTable::overlay_hop(int router, int target) const {
  const std::vector<int>& path = topology_.overlays()[overlay_path_[router]];
  const int place = overlay_place_[router];
  const Group& group = groups_[group_between(router, path[place + (overlay_place_[target] > place ? 1 : -1)])];
  return {&group_channels_[group.first], group.count, vc_classes() - 1};
}

Hop RouteTable::table_hop(int router, int goal, RouteState& state) const {
  const std::vector<std::uint8_t>& table = state.crossing != 0 ? down_table_ : table_;
  const Group& group = groups_[group_begin_[router] + table[static_cast<std::size_t>(goal) * routers_ + router]];
  // A channel belongs to the level of the steps before it. Both legs may have hops in the intermediate cluster.
  state.level = static_cast<std::uint8_t>(state.steps + (scheme_ == Scheme::hops ? 0 : state.leg));
  if (scheme_ == Scheme::hops || (scheme_ == Scheme::clusters && group.between_clusters)) ++state.steps;
  if (group.down) state.crossing = 1;
  const int layer = classes_per_level_ > 1 ? layer_[goal] : 0;
  return {&group_channels_[group.first], group.count, limited(state.level * classes_per_level_ + layer), state.slack};
}

}  // namespace dcgn::memnet
