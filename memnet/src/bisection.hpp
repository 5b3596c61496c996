// How little a network carries between two halves of its routers.
#pragma once

#include "memnet/src/topology.hpp"

namespace dcgn::memnet {

struct Bisection {
  int channels = 0;    // bidirectional, between the halves
  double flits = 0;    // what they carry in a cycle, each way; of one-way channels, the way that carries less
  bool exact = false;  // no other halves have less between them; else an upper bound
};

// The halves have as many routers, give or take one, and least flits between them. Where terminals have ports on
// several routers, as GPUs on those of their cluster, these stay together, if all such groups are as large. Exact are
// up to 20 routers or groups, of which all halves are tried; and whole grids of like channels: meshes and tori whose
// longest dimension is even, flattened butterflies whose shortest is. Elsewhere Kernighan and Lin's exchanges improve
// halves by number, by cluster, by each coordinate, by distance from some routers, and at random.
Bisection bisection(const Topology& topology);

}  // namespace dcgn::memnet
