// The memory networks of sections V and VI, and what connects GPUs without one.
#include "memnet/src/fail.hpp"
#include "memnet/src/topologies.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace dcgn::memnet {
namespace {

void require_range(const char* what, int value, int least, int most) {
  if (value < least || value > most) {
    fail("topology", std::string(what) + " is " + std::to_string(value) + ", expected " + std::to_string(least) + ".." +
                         std::to_string(most));
  }
}

// What differs between the topologies.
struct Plan {
  ShapeKind kind = ShapeKind::flattened;  // of a slice
  bool local = false;                     // clusters fully connected
  bool sliced = false;
  int copies = 1;  // of each channel of a slice
};

Plan plan_of(MemoryTopology kind) {
  switch (kind) {
    case MemoryTopology::dragonfly: return {ShapeKind::irregular, true, false, 1};
    case MemoryTopology::flattened_butterfly: return {ShapeKind::flattened, true, false, 1};
    case MemoryTopology::sliced_butterfly: return {ShapeKind::flattened, false, true, 1};
    case MemoryTopology::sliced_mesh: return {ShapeKind::mesh, false, true, 1};
    case MemoryTopology::sliced_torus: return {ShapeKind::torus, false, true, 1};
    case MemoryTopology::sliced_mesh_2x: return {ShapeKind::mesh, false, true, 2};
    case MemoryTopology::sliced_torus_2x: return {ShapeKind::torus, false, true, 2};
    case MemoryTopology::overlay: return {ShapeKind::flattened, false, true, 1};
  }
  return {};
}

// The lengths of a slice's dimensions: rows as long as they may be, and all full.
std::vector<int> slice_extents(int clusters, int clusters_per_row) {
  if (clusters <= clusters_per_row) return {clusters};
  int columns = clusters_per_row;
  while (clusters % columns != 0) --columns;
  if (columns == 1) return {clusters};
  return {columns, clusters / columns};
}

// Whether two clusters of a slice are connected, by their coordinates.
bool connected(ShapeKind kind, const std::vector<int>& extents, const std::vector<int>& a, const std::vector<int>& b) {
  int differing = -1;
  for (std::size_t d = 0; d < extents.size(); ++d) {
    if (a[d] == b[d]) continue;
    if (differing >= 0) return false;
    differing = static_cast<int>(d);
  }
  if (differing < 0) return false;
  const int distance = std::abs(a[differing] - b[differing]);
  switch (kind) {
    case ShapeKind::irregular: return false;
    case ShapeKind::mesh: return distance == 1;
    case ShapeKind::torus: return distance == 1 || (extents[differing] > 2 && distance == extents[differing] - 1);
    case ShapeKind::flattened: return true;
  }
  return false;
}

// Whether the dimension in which they differ has no other clusters.
bool alone(const std::vector<int>& extents, const std::vector<int>& a, const std::vector<int>& b) {
  for (std::size_t d = 0; d < extents.size(); ++d)
    if (a[d] != b[d]) return extents[d] == 2;
  return false;
}

// A path through all clusters of a slice that only takes steps to neighbours: row by row, there and back.
std::vector<int> snake(const std::vector<int>& extents) {
  const int columns = extents[0];
  const int rows = extents.size() > 1 ? extents[1] : 1;
  std::vector<int> order;
  for (int row = 0; row < rows; ++row) {
    for (int i = 0; i < columns; ++i) order.push_back(row * columns + (row % 2 == 0 ? i : columns - 1 - i));
  }
  return order;
}

}  // namespace

std::string_view to_string(MemoryTopology kind) noexcept {
  switch (kind) {
    case MemoryTopology::dragonfly: return "dDFLY";
    case MemoryTopology::flattened_butterfly: return "dFBFLY";
    case MemoryTopology::sliced_butterfly: return "sFBFLY";
    case MemoryTopology::sliced_mesh: return "sMESH";
    case MemoryTopology::sliced_torus: return "sTORUS";
    case MemoryTopology::sliced_mesh_2x: return "sMESH-2x";
    case MemoryTopology::sliced_torus_2x: return "sTORUS-2x";
    case MemoryTopology::overlay: return "overlay";
  }
  return "unknown";
}

Topology memory_network(const MemoryNetwork& network) {
  require_range("gpus", network.gpus, 0, 256);
  require_range("cpus", network.cpus, 0, 64);
  const int clusters = network.gpus + network.cpus;
  require_range("gpus + cpus", clusters, 1, 256);
  const int slices = network.hmcs_per_cluster;
  require_range("hmcs_per_cluster", slices, 1, 64);
  require_range("channels_per_node", network.channels_per_node, 1, 64);
  require_range("vault_ports", network.vault_ports, 1, 32);
  require_range("clusters_per_row", network.clusters_per_row, 1, 256);
  require_range("channels_per_hmc", network.channels_per_hmc, 0, 63);
  require_range("pair_channels", network.pair_channels, 1, 16);
  if (network.channels_per_node % slices != 0) {
    fail("topology", "channels_per_node is " + std::to_string(network.channels_per_node) +
                         ", expected a multiple of the " + std::to_string(slices) + " HMCs of a cluster");
  }
  const Plan plan = plan_of(network.kind);
  const bool overlay = network.kind == MemoryTopology::overlay;
  if (overlay && network.cpus == 0) fail("topology", "an overlay without a CPU, expected cpus to be 1 or more");
  const std::vector<int> extents = slice_extents(clusters, network.clusters_per_row);
  const std::string name = std::string(to_string(network.kind)) + " of " + counted(network.gpus, "GPU") +
                           (network.cpus > 0 ? ", " + counted(network.cpus, "CPU") : "") + ", " +
                           counted(clusters * slices, "HMC");

  Shape shape{plan.kind, extents, plan.sliced};
  if (plan.kind == ShapeKind::irregular) shape.extents.clear();
  if (plan.kind != ShapeKind::irregular && plan.local) shape.extents.push_back(slices);
  Topology topology(name, shape);
  std::vector<std::vector<int>> place(clusters);
  for (int c = 0; c < clusters; ++c) {
    place[c] = {c % extents[0]};
    if (extents.size() > 1) place[c].push_back(c / extents[0]);
    for (int s = 0; s < slices; ++s) {
      Router router{"hmc " + std::to_string(c * slices + s), {}, c, s, 0, 0};
      if (plan.kind != ShapeKind::irregular) router.coordinates = place[c];
      if (plan.kind != ShapeKind::irregular && plan.local) router.coordinates.push_back(s);
      // A cluster is a column of its slices; rows of clusters are below each other.
      router.x = place[c][0] * 2.0;
      router.y = (extents.size() > 1 ? place[c][1] * (slices + 1.0) : 0) + s;
      topology.add_router(std::move(router));
    }
  }

  Link off_chip;
  off_chip.serdes = true;
  // A request pays SerDes at the HMC where it leaves the path, a reply at the CPU. The network has the former; half of
  // the latter on each direction of the port makes the round trip exact.
  Link of_cpu = off_chip;
  if (overlay) {
    of_cpu.pass_through = true;
    of_cpu.extra_latency = network.serdes_cycles / 2;
  }
  for (int c = 0; c < clusters; ++c) {
    const bool cpu = c < network.cpus;
    const int terminal =
        topology.add_terminal((cpu ? "cpu " + std::to_string(c) : "gpu " + std::to_string(c - network.cpus)),
                              cpu ? TerminalKind::cpu : TerminalKind::gpu, c);
    for (int i = 0; i < network.channels_per_node; ++i)
      topology.attach(terminal, c * slices + i % slices, cpu ? of_cpu : off_chip);
  }
  for (int h = 0; h < clusters * slices; ++h) {
    const int terminal = topology.add_terminal("hmc " + std::to_string(h), TerminalKind::hmc, h / slices);
    for (int i = 0; i < network.vault_ports; ++i) topology.attach(terminal, h);
  }

  if (plan.local) {
    for (int c = 0; c < clusters; ++c) {
      for (int s = 0; s < slices; ++s) {
        for (int other = s + 1; other < slices; ++other) {
          topology.add_channel(c * slices + s, c * slices + other, off_chip);
        }
      }
    }
  }
  if (plan.kind == ShapeKind::irregular) {
    // One channel between any two clusters, dealt out over the HMCs of each.
    for (int c = 0; c < clusters; ++c) {
      for (int other = c + 1; other < clusters; ++other) {
        topology.add_channel(c * slices + (other - c - 1) % slices,
                             other * slices + (clusters - other + c - 1) % slices, off_chip);
      }
    }
  }
  const std::vector<int> order = snake(extents);
  std::vector<int> position(clusters, 0);
  for (int i = 0; i < clusters; ++i) position[order[i]] = i;
  for (int s = 0; s < slices; ++s) {
    for (int c = 0; c < clusters; ++c) {
      for (int other = c + 1; other < clusters; ++other) {
        if (!connected(plan.kind, extents, place[c], place[other])) continue;
        Link link = off_chip;
        link.pass_through = overlay && std::abs(position[c] - position[other]) == 1;
        const int copies = plan.copies * (alone(extents, place[c], place[other]) ? network.pair_channels : 1);
        for (int i = 0; i < copies; ++i) topology.add_channel(c * slices + s, other * slices + s, link);
      }
    }
    if (overlay) {
      std::vector<int> path;
      path.reserve(order.size());
      for (const int c : order) path.push_back(c * slices + s);
      topology.add_overlay(std::move(path));
    }
  }

  if (network.channels_per_hmc > 0) {
    std::vector<int> used(topology.routers().size(), network.channels_per_node / slices);
    for (const Channel& channel : topology.channels()) ++used[channel.from];
    const auto most = std::max_element(used.begin(), used.end());
    if (*most > network.channels_per_hmc) {
      fail("topology", name + " needs " + std::to_string(*most) + " channels on " +
                           topology.routers()[most - used.begin()].name + ", expected at most channels_per_hmc, " +
                           std::to_string(network.channels_per_hmc));
    }
  }
  return topology;
}

int channel_count_formula(MemoryTopology kind, int clusters, int hmcs_per_cluster, int clusters_per_row) {
  const int n = clusters;
  const int m = hmcs_per_cluster;
  const std::vector<int> extents = slice_extents(clusters, clusters_per_row);
  const int inside = n * m * (m - 1) / 2;  // clusters fully connected
  int full = 0;                            // the channels of the slices
  int line = 0;
  int ring = 0;
  for (const int k : extents) {
    const int rows = m * n / k;  // of this dimension, in all slices
    full += rows * (k * (k - 1) / 2);
    line += rows * (k - 1);
    ring += rows * (k > 2 ? k : k - 1);
  }
  switch (kind) {
    case MemoryTopology::dragonfly: return inside + n * (n - 1) / 2;
    case MemoryTopology::flattened_butterfly: return inside + full;
    case MemoryTopology::sliced_butterfly: return full;
    case MemoryTopology::sliced_mesh: return line;
    case MemoryTopology::sliced_torus: return ring;
    case MemoryTopology::sliced_mesh_2x: return 2 * line;
    case MemoryTopology::sliced_torus_2x: return 2 * ring;
    case MemoryTopology::overlay: return full;
  }
  return 0;
}

Topology pcie_tree(int gpus, int gpus_per_switch, double bandwidth, int extra_latency) {
  require_range("gpus", gpus, 1, 256);
  require_range("gpus_per_switch", gpus_per_switch, 0, 60);
  Topology topology(counted(gpus, "GPU") + " on PCIe");
  topology.set_processors_talk(true);
  Link link;
  link.extra_latency = extra_latency;
  link.bandwidth = bandwidth;
  const int root = topology.add_router({gpus_per_switch == 0 ? "switch" : "root complex", {}, -1, -1, 0, 0});
  const int cpu = topology.add_terminal("cpu 0", TerminalKind::cpu);
  topology.attach(cpu, root, link);
  for (int g = 0; g < gpus; ++g) {
    int router = root;
    if (gpus_per_switch > 0) {
      router = 1 + g / gpus_per_switch;
      if (g % gpus_per_switch == 0) {
        topology.add_router({"switch " + std::to_string(router - 1), {}, -1, -1, router - 1.0, 1});
        topology.add_channel(root, router, link);
      }
    }
    topology.attach(topology.add_terminal("gpu " + std::to_string(g), TerminalKind::gpu), router, link);
  }
  return topology;
}

Topology nvlink_switch(int gpus, int planes, int links_per_plane, double bandwidth, int extra_latency) {
  require_range("gpus", gpus, 1, 64);
  require_range("planes", planes, 1, 64);
  require_range("links_per_plane", links_per_plane, 1, 64);
  Topology topology(counted(gpus, "GPU") + " on " + std::to_string(planes) +
                    (planes == 1 ? " NVLink switch" : " NVLink switches"));
  topology.set_processors_talk(true);
  Link link;
  link.extra_latency = extra_latency;
  link.bandwidth = bandwidth;
  for (int p = 0; p < planes; ++p) {
    topology.add_router({"switch " + std::to_string(p), {}, -1, p, static_cast<double>(p), 0});
  }
  for (int g = 0; g < gpus; ++g) {
    const int terminal = topology.add_terminal("gpu " + std::to_string(g), TerminalKind::gpu);
    for (int l = 0; l < links_per_plane; ++l) {
      for (int p = 0; p < planes; ++p) topology.attach(terminal, p, link);
    }
  }
  return topology;
}

}  // namespace dcgn::memnet
