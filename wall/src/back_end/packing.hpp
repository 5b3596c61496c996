// Pixels as they go to back ends on other hosts: compressed without loss where that was asked for, or costs less.
#pragma once

#include "wall/src/protocol.hpp"

#include <cstddef>
#include <string>

namespace dcgn::wall {

// Says in `piece` how it was done.
std::string pack(const std::string& pixels, Piece& piece);
std::string unpacked(const std::string& content, const Piece& piece, std::size_t bytes);
// An answer's beginning: what was measured of the way to the front end.
void note_link(const std::string& content);

}  // namespace dcgn::wall
