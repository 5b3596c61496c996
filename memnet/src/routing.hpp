// Which channel and which virtual channels a packet takes next.
//
// Grids are routed in dimension order. A torus has two classes of VCs: a packet that will cross a ring's wrap channel
// takes the second class all around that ring, which leaves a gap in the dependencies of either. Half way round, a
// packet's own draw says which way it goes. Elsewhere routes are shortest paths, those with the fewest channels between
// clusters first, and the classes are the first of these that the deadlock check finds sound: one for all; the channels
// between clusters taken so far; layers, each for some of the destinations; the hops taken so far. Where none is,
// routes are up*/down*, which one class is enough for: channels lead up towards the root of a breadth-first tree or
// down from it, and a packet that has gone down never goes up again (Schroeder et al., "Autonet"). The VCs of a message
// class are divided evenly between its classes; where there are fewer VCs than classes the last classes share, and the
// deadlock check decides.
//
// Classes are in levels, and a packet's level never falls. The second leg of a Valiant route begins above where the
// first may end. A minimal route has no second leg: where Valiant routes may be, its packets take any level on each hop
// that leaves one for every step to come, and so the VCs of both legs.
//
// UGAL's rule: a packet takes its minimal route unless more flits, by Parameters::ugal_threshold, wait along it than
// along one over a random router. What waits is counted over all channels of a route (UGAL-G of Kim, Dally, Scott and
// Abts, "Technology-Driven, Highly-Scalable Dragonfly Topology"): flits behind the channel in the next router, and of
// packets bound for it in the router before. A flit that nothing holds up is counted in both places, and would send
// others round an idle network: so the minimal route must also be the one with more flits beyond two packets, of the
// size that is routed, at each channel. With UgalQueues::channel it is what a router knows by itself, as in Singh's
// "Load-Balanced Routing in Interconnection Networks": the channels of the route times the flits on and beyond the
// first (the credits that are out), and times those beyond two packets.
// A terminal with one port decides when a packet is about to leave its first router. One with several decides
// when a packet comes, by first channels: hops are routers then, the queue counts what waits at the port too, and each
// port's minimal route is a candidate as well. It takes none that is slower by the cycles of its hops and the flits
// that wait at the port and the first channel. Adaptive routing is that choice without the random router.
#pragma once

#include "memnet/src/parameters.hpp"
#include "memnet/src/topology.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <vector>

namespace dcgn::memnet {

// Where a packet is on its way.
struct RouteState {
  std::int32_t intermediate = -1;  // the router that a Valiant route goes to first; -1: none, or passed
  std::uint8_t leg = 0;            // 1 after the intermediate router
  std::int8_t dimension = -1;      // of the last hop
  std::uint8_t crossing = 0;       // of the last hop's ring: the wrap channel is on the way; up*/down*: has gone down
  std::uint8_t steps = 0;          // hops, or channels between clusters, as the class scheme counts; levels skipped
  std::uint8_t level = 0;          // the lowest of the last hop
  std::uint8_t slack = 0;          // levels above it that were allowed there
  std::uint8_t ties = 0;           // a bit a dimension: which way round where both are as far
  bool overlay = false;            // takes the pass-through path
};

// The channels that will do for the next hop, all to the same router, and the VC classes there: `vc_class`, and `more`
// others, one in each level above it.
struct Hop {
  const std::int32_t* channels = nullptr;
  std::int32_t count = 0;
  std::int32_t vc_class = 0;
  std::int32_t more = 0;
};

class RouteTable {
 public:
  enum class Scheme : std::uint8_t { grid, single, clusters, hops, layers, up_down };

  // Picks the scheme by itself, and throws Error(configuration) with the cycle where none is sound.
  RouteTable(const Topology& topology, const Parameters& parameters);

  // Channels from one router to another by minimal routes; -1 where there is no path.
  int distance(int from, int to) const;
  // Towards `target` from another router; goes on to the second leg at the intermediate router.
  Hop next(int router, int target, RouteState& state) const {
    if (state.overlay) return overlay_hop(router, target);
    if (state.intermediate == router) {
      state.intermediate = -1;
      state.leg = 1;
      state.dimension = -1;
      state.crossing = 0;
      state.ties = std::rotl(state.ties, 4);
    }
    const int goal = state.intermediate >= 0 ? state.intermediate : target;
    return kind_ == ShapeKind::irregular ? table_hop(router, goal, state) : grid_hop(router, goal, state);
  }
  // A packet's state at its source. `ties` are random bits, of which tie_bits() count.
  RouteState start(int intermediate, bool overlay, std::uint8_t ties = 0) const;
  // After a hop: the packet took this VC of its message class, which may be of a level above the lowest.
  void settle(RouteState& state, int vc) const {
    if (state.slack != 0) settle_level(state, vc);
  }

  // Whether both routers are on one pass-through path, and the channels between them there.
  int overlay_distance(int from, int to) const;

  // VCs of a message class that a class, or a packet on a hop, may use, as bits.
  std::uint64_t vc_mask(int vc_class) const { return masks_[vc_class]; }
  std::uint64_t vc_mask(const Hop& hop) const {
    std::uint64_t mask = masks_[hop.vc_class];
    for (int i = 1; i <= hop.more; ++i) mask |= masks_[hop.vc_class + i * classes_per_level()];
    return mask;
  }
  int vc_classes() const { return static_cast<int>(masks_.size()); }
  int classes_per_level() const { return classes_per_level_; }
  // Bits of RouteState::ties that change a route: 0 but in tori.
  int tie_bits() const { return kind_ == ShapeKind::torus ? std::min(dimensions_, 8) : 0; }
  Scheme scheme() const { return scheme_; }
  // "shortest paths, 2 layers of destinations": what routes and classes are.
  std::string description() const;

 private:
  struct Group {
    std::int32_t first = 0;  // in group_channels_
    std::int32_t count = 0;
    std::int32_t to = 0;  // the router
    bool between_clusters = false;
    bool down = false;  // up*/down*: leads away from the root
  };

  Hop overlay_hop(int router, int target) const;
  Hop table_hop(int router, int goal, RouteState& state) const;
  Hop grid_hop(int router, int goal, RouteState& state) const {
    const Step* const row = &steps_[static_cast<std::size_t>(router) * row_];
    const std::int32_t* const places = &places_[static_cast<std::size_t>(goal) * dimensions_];
    int d = 0;
    while (row[places[d]].on == -1) ++d;
    const Step step = row[places[d]];
    const std::int32_t taken = step.back != -1 && (state.ties >> d % 8 & 1) != 0 ? step.back : step.on;
    if (state.dimension != d) {
      state.crossing = (taken & crosses) != 0 ? 1 : 0;
      state.dimension = static_cast<std::int8_t>(d);
    }
    const Group& group = groups_[taken & ~crosses];
    state.level = static_cast<std::uint8_t>(state.steps + state.leg);
    const int vc_class = limited(state.level * classes_per_level() + state.crossing);
    return {&group_channels_[group.first], group.count, vc_class, state.slack};
  }
  void settle_level(RouteState& state, int vc) const;
  void build_groups();
  void build_grid();
  void build_table(bool spread);
  void build_own();  // of Topology::next_routers()
  bool build_layers();
  void build_up_down();
  bool set_scheme(Scheme scheme);  // false where there are too few VCs for it
  void set_levels(int levels);
  int limited(int vc_class) const { return vc_class < vc_classes() ? vc_class : vc_classes() - 1; }
  int group_between(int from, int to) const;
  int coordinate(int router, int d) const { return coordinates_[router * dimensions_ + d]; }

  const Topology& topology_;
  int routers_ = 0;
  int vcs_per_class_ = 1;
  int legs_ = 1;
  Scheme scheme_ = Scheme::grid;
  ShapeKind kind_ = ShapeKind::irregular;
  bool sliced_ = false;
  int dimensions_ = 0;
  std::vector<int> extents_;
  std::vector<int> offsets_;  // of each dimension in a router's row of steps_
  int row_ = 0;               // the sum of the extents
  std::vector<std::int32_t> coordinates_;
  std::vector<std::int32_t> slice_;
  // Grids: by router, and by dimension and coordinate of the goal, the group to take, with `crosses` where the way goes
  // over the ring's wrap channel; -1 where the coordinate is the router's own. `back` is for packets whose draw says
  // so, where both ways round are as far.
  struct Step {
    std::int32_t on = -1;
    std::int32_t back = -1;
  };
  static constexpr std::int32_t crosses = 1 << 30;
  std::vector<Step> steps_;
  std::vector<std::int32_t> places_;  // by router and dimension: its place in rows of steps_
  // Irregular: by target and router, the group to take, of those of the router; `none` where there is none. The second
  // table is for up*/down* packets that have gone down.
  std::vector<std::uint8_t> table_;
  std::vector<std::uint8_t> down_table_;
  std::vector<std::int16_t> distance_;  // by target and router
  static constexpr std::uint8_t none = 255;
  int most_hops_ = 0;                // of a minimal route
  int most_crossed_ = 0;             // channels between clusters
  std::vector<std::uint8_t> layer_;  // by target
  int classes_per_level_ = 1;
  std::vector<Group> groups_;  // by router, in the order of the neighbours
  std::vector<std::int32_t> group_begin_;
  std::vector<std::int32_t> group_channels_;
  std::vector<std::int32_t> overlay_path_;  // by router: the path it is on, or -1; and where
  std::vector<std::int32_t> overlay_place_;
  std::vector<std::uint64_t> masks_;
  std::array<std::uint8_t, 64> class_of_vc_{};
  int slack_ = 0;  // levels beyond those that a minimal route needs
};

}  // namespace dcgn::memnet
