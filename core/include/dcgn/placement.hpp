// Which rank is where. Node n has C_n + G_n x S_n ranks, numbered consecutively in node order. Within a node its CPU
// kernels come first, then slots 0, 1, ... of GPU 0, then those of GPU 1 (Stuart and Owens 2009, section 3.2.3).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace dcgn {

// `count` nodes that are alike: each runs `cpus` CPU kernels and drives `gpus` GPUs with `slots` slots each. With no
// slots the GPUs have no ranks: CPU ranks send and receive what is in their memory.
struct NodeShape {
  int cpus = 0;
  int gpus = 0;
  int slots = 1;
  int count = 1;
};

// Where a rank is.
struct Place {
  int node = 0;
  int cpu = -1;     // which CPU kernel of the node; -1 for a slot
  int device = -1;  // which GPU of the node; -1 for a CPU kernel
  int slot = -1;    // which slot of the GPU

  bool is_slot() const noexcept { return slot >= 0; }
};

// "CPU 1, node 0" or "slot 2 of GPU 0, node 0".
std::string to_string(const Place& place);

// Arithmetic over runs of equal nodes: what it stores grows with the number of runs, not of ranks, and looking
// something up takes the logarithm of that.
class Placement {
 public:
  // Throws Error(configuration) for negative counts, no rank at all, or more than 2^31 - 1 ranks.
  explicit Placement(const std::vector<NodeShape>& nodes);

  int size() const noexcept { return size_; }
  int nodes() const noexcept { return nodes_; }
  // Of a node from 0 to nodes() - 1, and its first rank.
  const NodeShape& shape(int node) const;
  // Throws Error(invalid_rank) unless 0 <= rank < size().
  Place place(int rank) const;
  // The inverse. Throws Error(invalid_rank) where there is no such place.
  int rank(const Place& place) const;
  int first_rank(int node) const;
  // What it stores.
  std::size_t bytes() const noexcept { return sizeof *this + runs_.capacity() * sizeof(Run); }

 private:
  struct Run {
    NodeShape shape;
    int first_node;
    int first_rank;
    int ranks_per_node;
  };
  const Run& run_of_node(int node) const;

  std::vector<Run> runs_;
  int size_ = 0;
  int nodes_ = 0;
};

}  // namespace dcgn
