// Networks of nodes.
#include "memnet/src/topologies.hpp"
#include "memnet/src/fail.hpp"

#include <cmath>
#include <cstdlib>
#include <string>
#include <utility>

namespace dcgn::memnet {
namespace {

// What a machine of today holds the buffers of. Routes of networks without dimensions are a table of all pairs, which
// takes far more a router.
constexpr int most_routers = 100000;
constexpr int most_table_routers = 10000;

void require_at_least(const char* what, int value, int least) {
  if (value < least) {
    fail("topology",
         std::string(what) + " is " + std::to_string(value) + ", expected " + std::to_string(least) + " or more");
  }
}

std::string joined(const std::vector<int>& extents) {
  std::string text;
  for (const int extent : extents) text += (text.empty() ? "" : "x") + std::to_string(extent);
  return text;
}

// Routers of a grid without channels, first dimension fastest, and their nodes. `spacing` is how far apart pictures
// show them.
Topology grid(const std::string& name, ShapeKind kind, const std::vector<int>& extents, int concentration,
              double spacing) {
  if (extents.empty()) fail("topology", "extents is empty, expected at least one dimension");
  std::int64_t count = 1;
  for (const int extent : extents) {
    require_at_least("the length of a dimension", extent, 2);
    count *= extent;
    if (count > most_routers) {
      fail("topology", name + " has more than " + std::to_string(most_routers) + " routers, expected at most so many");
    }
  }
  require_at_least("concentration", concentration, 1);
  Topology topology(name, {kind, extents, false});
  for (int index = 0; index < static_cast<int>(count); ++index) {
    Router router;
    router.name = std::to_string(index);
    int rest = index;
    for (const int extent : extents) {
      router.coordinates.push_back(rest % extent);
      rest /= extent;
    }
    // Dimensions beyond the second are drawn beside each other.
    double width = 0;
    for (std::size_t d = 0; d < extents.size(); ++d) {
      const double step = d < 2 ? spacing : width;
      (d == 1 ? router.y : router.x) += router.coordinates[d] * step;
      if (d != 1) width = (d == 0 ? spacing : width) * extents[d] + spacing;
    }
    topology.add_router(std::move(router));
  }
  for (int index = 0; index < static_cast<int>(count); ++index) {
    for (int n = 0; n < concentration; ++n) {
      const int terminal =
          topology.add_terminal("node " + std::to_string(topology.terminals().size()), TerminalKind::node);
      topology.attach(terminal, index);
    }
  }
  return topology;
}

Link link_of(int extra_latency) {
  Link link;
  link.extra_latency = extra_latency;
  return link;
}

// The distance in indices between neighbours of dimension d.
int stride_of(const std::vector<int>& extents, std::size_t d) {
  int stride = 1;
  for (std::size_t i = 0; i < d; ++i) stride *= extents[i];
  return stride;
}

}  // namespace

Topology mesh(const std::vector<int>& extents, int concentration, int extra_latency) {
  Topology topology = grid(joined(extents) + " mesh", ShapeKind::mesh, extents, concentration, 1);
  const Link link = link_of(extra_latency);
  for (std::size_t d = 0; d < extents.size(); ++d) {
    for (int r = 0; r < static_cast<int>(topology.routers().size()); ++r) {
      if (topology.routers()[r].coordinates[d] + 1 < extents[d])
        topology.add_channel(r, r + stride_of(extents, d), link);
    }
  }
  return topology;
}

Topology torus(const std::vector<int>& extents, int concentration, int extra_latency) {
  Topology topology = grid(joined(extents) + " torus", ShapeKind::torus, extents, concentration, 1);
  const Link link = link_of(extra_latency);
  for (std::size_t d = 0; d < extents.size(); ++d) {
    const int stride = stride_of(extents, d);
    for (int r = 0; r < static_cast<int>(topology.routers().size()); ++r) {
      // A ring of two is one channel: its wrap would double it.
      const bool last = topology.routers()[r].coordinates[d] + 1 == extents[d];
      if (!last) topology.add_channel(r, r + stride, link);
      if (last && extents[d] > 2) topology.add_channel(r, r - (extents[d] - 1) * stride, link);
    }
  }
  return topology;
}

Topology flattened_butterfly(const std::vector<int>& extents, int concentration, bool on_chip, int extra_latency) {
  int side = 1;
  if (on_chip) {
    side = static_cast<int>(std::lround(std::sqrt(concentration)));
    if (side * side != concentration) {
      fail("topology",
           "concentration is " + std::to_string(concentration) + ", expected a square for an on-chip network");
    }
  }
  Topology topology =
      grid(joined(extents) + " flattened butterfly", ShapeKind::flattened, extents, concentration, side);
  for (std::size_t d = 0; d < extents.size(); ++d) {
    const int stride = stride_of(extents, d);
    for (int r = 0; r < static_cast<int>(topology.routers().size()); ++r) {
      const int coordinate = topology.routers()[r].coordinates[d];
      for (int other = coordinate + 1; other < extents[d]; ++other) {
        Link link = link_of(extra_latency);
        if (on_chip) link.extra_latency += side * (other - coordinate) - 1;
        topology.add_channel(r, r + (other - coordinate) * stride, link);
      }
    }
  }
  return topology;
}

Topology dragonfly(int p, int a, int h, int local_latency, int global_latency) {
  require_at_least("nodes a router (p)", p, 1);
  require_at_least("routers a group (a)", a, 1);
  require_at_least("global channels a router (h)", h, 1);
  const std::int64_t count = (static_cast<std::int64_t>(a) * h + 1) * a;
  if (a > most_table_routers || h > most_table_routers || count > most_table_routers) {
    fail("topology", "dragonfly p" + std::to_string(p) + " a" + std::to_string(a) + " h" + std::to_string(h) +
                         " has more than " + std::to_string(most_table_routers) + " routers, expected at most so many");
  }
  if (p > 64 || p + a - 1 + h > 64) {
    fail("topology", "dragonfly p" + std::to_string(p) + " a" + std::to_string(a) + " h" + std::to_string(h) + " has " +
                         std::to_string(static_cast<std::int64_t>(p) + a - 1 + h) +
                         " ports a router, expected at most 64");
  }
  const int groups = a * h + 1;
  Topology topology("dragonfly p" + std::to_string(p) + " a" + std::to_string(a) + " h" + std::to_string(h));
  const double circle = groups * (a + 1) / 6.28318530717958648;
  for (int g = 0; g < groups; ++g) {
    for (int r = 0; r < a; ++r) {
      const double angle = (g * (a + 1) + r) / circle;
      topology.add_router(
          {std::to_string(g) + "." + std::to_string(r), {}, g, -1, circle * std::cos(angle), circle * std::sin(angle)});
    }
  }
  for (int r = 0; r < groups * a; ++r) {
    for (int n = 0; n < p; ++n) {
      topology.attach(topology.add_terminal("node " + std::to_string(r * p + n), TerminalKind::node, r / a), r);
    }
  }
  const Link local = link_of(local_latency);
  const Link global = link_of(global_latency);
  for (int g = 0; g < groups; ++g) {
    for (int r = 0; r < a; ++r) {
      for (int other = r + 1; other < a; ++other) topology.add_channel(g * a + r, g * a + other, local);
    }
  }
  // Group g's k-th global channel goes k + 1 groups on; seen from there it is the one that goes the rest of the circle.
  for (int g = 0; g < groups; ++g) {
    for (int k = 0; k < a * h; ++k) {
      const int other = (g + k + 1) % groups;
      if (g < other) topology.add_channel(g * a + k / h, other * a + (a * h - 1 - k) / h, global);
    }
  }
  return topology;
}

namespace {

// Switches in a row of `levels` rows of arity^(levels - 1), `ports` a switch.
int row_of_switches(const std::string& name, int arity, int levels, std::int64_t ports) {
  std::int64_t row = 1;
  for (int l = 1; l < levels && row <= most_table_routers; ++l) row *= arity;
  if (row * levels > most_table_routers) {
    fail("topology",
         name + " has more than " + std::to_string(most_table_routers) + " routers, expected at most so many");
  }
  if (ports > 64) fail("topology", name + " has " + std::to_string(ports) + " ports a router, expected at most 64");
  return static_cast<int>(row);
}

}  // namespace

Topology fat_tree(int arity, int levels, int extra_latency) {
  require_at_least("arity", arity, 2);
  require_at_least("levels", levels, 1);
  const std::string name = std::to_string(arity) + "-ary " + std::to_string(levels) + "-tree";
  const int width = row_of_switches(name, arity, levels, (levels == 1 ? 1 : 2) * static_cast<std::int64_t>(arity));
  Topology topology(name);
  for (int l = 0; l < levels; ++l) {
    for (int w = 0; w < width; ++w) {
      topology.add_router({std::to_string(l) + "." + std::to_string(w),
                           {},
                           -1,
                           -1,
                           static_cast<double>(w),
                           1.5 * static_cast<double>(levels - 1 - l)});
    }
  }
  for (int n = 0; n < width * arity; ++n) {
    topology.attach(topology.add_terminal("node " + std::to_string(n), TerminalKind::node), n / arity);
  }
  // From a level to the next, a digit of the switch's number, in base `arity`, may change: that of the level.
  const Link link = link_of(extra_latency);
  for (int l = 0, stride = 1; l + 1 < levels; ++l, stride *= arity) {
    for (int w = 0; w < width; ++w) {
      const int base = w - w / stride % arity * stride;
      for (int digit = 0; digit < arity; ++digit) {
        topology.add_channel(l * width + w, (l + 1) * width + base + digit * stride, link);
      }
    }
  }
  return topology;
}

Topology butterfly(int arity, int levels, int extra_latency) {
  require_at_least("arity", arity, 2);
  require_at_least("levels", levels, 1);
  const std::string name = std::to_string(arity) + "-ary " + std::to_string(levels) + "-fly";
  const int width = row_of_switches(name, arity, levels, arity);
  Topology topology(name);
  for (int l = 0; l < levels; ++l) {
    for (int w = 0; w < width; ++w) {
      topology.add_router(
          {std::to_string(l) + "." + std::to_string(w), {}, -1, -1, 1.5 * static_cast<double>(l), 1.0 * w});
    }
  }
  for (int n = 0; n < width * arity; ++n) {
    topology.attach(topology.add_terminal("node " + std::to_string(n), TerminalKind::node), n / arity,
                    (levels - 1) * width + n / arity, Link());
  }
  // A switch's number has a digit less than a node's: stage l sets the l-th of them from the top.
  const Link link = link_of(extra_latency);
  for (int l = 0, stride = width / arity; l + 1 < levels; ++l, stride /= arity) {
    for (int w = 0; w < width; ++w) {
      const int base = w - w / stride % arity * stride;
      for (int digit = 0; digit < arity; ++digit)
        topology.add_one_way(l * width + w, (l + 1) * width + base + digit * stride, link);
    }
  }
  return topology;
}

}  // namespace dcgn::memnet
