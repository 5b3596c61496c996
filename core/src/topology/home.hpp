// Which part of a job lives in this process: some nodes in a row, and so some ranks in a row. All of them, or one node
// where the job has a process for each.
#pragma once

#include <dcgn/placement.hpp>

namespace dcgn::topology {

struct Home {
  int first_node = 0, nodes = 0;
  int first_rank = 0, ranks = 0;

  int end_rank() const noexcept { return first_rank + ranks; }
  int end_node() const noexcept { return first_node + nodes; }
  bool has(int rank) const noexcept { return rank >= first_rank && rank < end_rank(); }

  static Home of_all(const Placement& placement) { return {0, placement.nodes(), 0, placement.size()}; }
  static Home of_node(const Placement& placement, int node) { return of_nodes(placement, node, 1); }
  static Home of_nodes(const Placement& placement, int first, int count) {
    const int rank = placement.first_rank(first), last = first + count - 1;
    const NodeShape& s = placement.shape(last);
    return {first, count, rank, placement.first_rank(last) + s.cpus + s.gpus * s.slots - rank};
  }
};

// The number of each slot's GPU, counted through the nodes from one on. Asked node by node.
class GpuCount {
 public:
  GpuCount(const Placement& placement, int first_node) : placement_(placement), node_(first_node) {}
  int of(const Place& place) {
    for (; node_ < place.node; ++node_) before_ += placement_.shape(node_).gpus;
    return before_ + place.device;
  }

 private:
  const Placement& placement_;
  int node_;
  int before_ = 0;
};

}  // namespace dcgn::topology
