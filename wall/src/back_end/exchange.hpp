// Pixels that back ends drew of each other's screens, on their way.
#pragma once

#include "balance.hpp"
#include "wall/src/cut.hpp"

#include <cstdint>
#include <vector>

namespace dcgn::wall {

// Takes part in the barrier of that number: gives this back end's pieces of the window's back buffer, and puts there
// what others have drawn of it.
Given exchange_pixels(const Window& window, const std::vector<Piece>& pieces, std::int64_t number);

}  // namespace dcgn::wall
