// A topology as an SVG picture: routers and processors, the channels between them, coloured by their load after a run.
#pragma once

#include "memnet/src/simulation.hpp"
#include "memnet/src/topology.hpp"

#include <string>

namespace dcgn::memnet {

// Routers stand where the topology puts them; processors below the routers of their cluster, nodes beside their router.
// An HMC is drawn as its router. With `run`, each direction of a channel has the colour of its use, flits carried over
// flits that it could carry, and a tooltip that says how much; without, a channel is one line.
std::string topology_svg(const Topology& topology, const std::string& title, const Result* run = nullptr);

// The colour of a use from 0 to 1, "#rrggbb".
std::string use_colour(double use);

}  // namespace dcgn::memnet
