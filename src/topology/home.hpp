// Which part of a job lives in this process: some nodes in a row, and so some ranks in a row. All of them, or one node
// where the job has a process for each.
#pragma once

#include <dcgn/placement.hpp>

namespace dcgn::topology {

struct Home {
  int first_node = 0, nodes = 0;
  int first_rank = 0, ranks = 0;

  int end_rank() const noexcept { return first_rank + ranks; }
  bool has(int rank) const noexcept { return rank >= first_rank && rank < end_rank(); }

  static Home of_all(const Placement& placement) { return {0, placement.nodes(), 0, placement.size()}; }
  static Home of_node(const Placement& placement, int node) {
    const NodeShape& s = placement.shape(node);
    return {node, 1, placement.first_rank(node), s.cpus + s.gpus * s.slots};
  }
};

}  // namespace dcgn::topology
