// How it begins: for each number of bodies always the same.
#pragma once

#include "apps/nbody/body.hpp"

#include <vector>

namespace dcgn::nbody {

struct System {
  std::vector<Body> bodies;  // mass 1 in all, at rest as a whole
  std::vector<Velocity> velocities;
};

// Plummer's sphere in equilibrium, of scale radius 1.
System plummer(int bodies);
// Two discs of stars, each around a heavy one, that are about to meet. The first half is the one, the rest the other.
System discs(int bodies);

enum class Start { plummer, discs };
const char* name_of(Start start);
System start_of(Start start, int bodies);

}  // namespace dcgn::nbody
