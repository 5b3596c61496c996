// Whether packets of a network can wait for each other in a circle (Dally and Seitz's channel dependencies).
#pragma once

#include "memnet/src/parameters.hpp"
#include "memnet/src/routing.hpp"
#include "memnet/src/topology.hpp"

#include <string>

namespace dcgn::memnet {

// The dependencies of all packets that may be, found by following the routing function itself: from each channel and VC
// class that a route takes to the next one. Message classes have VCs of their own; where replies share the requests'
// (Parameters::replies with one message class), a terminal passes dependencies on as well. Returns the first cycle as
// "router 3 -> router 4 (VC 0) -> ...", VCs being the first of their classes; an empty text where there is none.
std::string find_dependency_cycle(const Topology& topology, const Parameters& parameters, const RouteTable& routes);

}  // namespace dcgn::memnet
