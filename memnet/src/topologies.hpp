// Generators of topologies: networks of nodes, and the memory networks of sections V and VI.
#pragma once

#include "memnet/src/parameters.hpp"
#include "memnet/src/topology.hpp"

#include <string_view>
#include <vector>

namespace dcgn::memnet {

// Networks of nodes. `extents` has a length per dimension, each at least 2; every router has `concentration` nodes.
// Links of nodes take one cycle; those between routers `extra_latency` cycles more: 1 in a folded torus, whose channels
// are two tiles long. All throw Error(configuration) for numbers that cannot be.
Topology mesh(const std::vector<int>& extents, int concentration = 1, int extra_latency = 0);
Topology torus(const std::vector<int>& extents, int concentration = 1, int extra_latency = 0);
// k-ary n-flat. With `on_chip`, a channel takes a cycle per node that it passes: routers of a square concentration
// side x side are side nodes apart.
Topology flattened_butterfly(const std::vector<int>& extents, int concentration, bool on_chip = false,
                             int extra_latency = 0);
// Canonical dragonfly: groups of `a` routers, fully connected; `h` global channels and `p` nodes a router; a * h + 1
// groups, one channel between any two. Latencies are beyond a cycle: of channels within groups, and between them.
Topology dragonfly(int p, int a, int h, int local_latency = 0, int global_latency = 0);
// k-ary n-tree: `levels` rows of arity^(levels - 1) switches, `arity` nodes on each of the lowest; every switch has
// `arity` channels down and, below the top, as many up.
Topology fat_tree(int arity, int levels, int extra_latency = 0);
// k-ary n-fly: `levels` stages of arity^(levels - 1) switches, and channels from each stage to the next alone. Nodes
// send into the first stage and receive from the last: there is one way, on which each stage sets a digit of the
// destination, the highest first.
Topology butterfly(int arity, int levels, int extra_latency = 0);

// The topologies of memory networks.
enum class MemoryTopology : std::uint8_t {
  dragonfly,            // dDFLY: clusters fully connected, one channel between any two clusters
  flattened_butterfly,  // dFBFLY: clusters fully connected, and the slices between them
  sliced_butterfly,     // sFBFLY: the slices alone
  sliced_mesh,
  sliced_torus,
  sliced_mesh_2x,  // every channel of a slice twice
  sliced_torus_2x,
  overlay,  // sFBFLY with a pass-through path for the CPU in each slice (Figure 13)
};
std::string_view to_string(MemoryTopology kind) noexcept;  // "dDFLY", "sMESH-2x", ...

// A cluster is a GPU or the CPU with its local HMCs.
struct MemoryNetwork {
  MemoryTopology kind = MemoryTopology::sliced_butterfly;
  int gpus = 4;
  int cpus = 0;               // clusters 0 .. cpus - 1, which come before the GPUs'
  int hmcs_per_cluster = 4;   // also the number of slices
  int channels_per_node = 8;  // of a GPU or CPU, spread evenly over its HMCs
  int vault_ports = 8;        // of an HMC's logic layer, each a flit a cycle
  int channels_per_hmc = 8;   // refused where the topology needs more; 0: as many as it takes
  int pair_channels = 1;      // between two clusters that are alone in a dimension of a slice
  int serdes_cycles = Parameters().serdes_cycles();
  int clusters_per_row = 4;  // a slice of more is a grid of rows, where it divides: 8 are 4 x 2, 16 are 4 x 4
};

// In an overlay the CPU's own HMCs are on its pass-through paths too (Figure 13): what goes on to other clusters
// bypasses their routers and SerDes. Terminals are the processors in the order of their clusters, then the HMCs,
// cluster by cluster.
Topology memory_network(const MemoryNetwork& network);

// Bidirectional channels between routers by formula (Figure 12).
int channel_count_formula(MemoryTopology kind, int clusters, int hmcs_per_cluster, int clusters_per_row = 4);

// A PCIe tree: a root complex with the CPU, switches of `gpus_per_switch` GPUs below it; 0: all GPUs on the one switch
// of Figure 1(a). The bandwidth is in flits per cycle (15.75 GB/s are 0.7875 at 1.25 GHz).
Topology pcie_tree(int gpus, int gpus_per_switch, double bandwidth, int extra_latency);

// GPUs on `planes` parallel switches, `links_per_plane` channels from each GPU to each.
Topology nvlink_switch(int gpus, int planes, int links_per_plane, double bandwidth, int extra_latency);

}  // namespace dcgn::memnet
