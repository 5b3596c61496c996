// Time and chance, alike on all back ends: what the program asks for is the wall's time, that of the frame.
#pragma once

#include "wall/src/protocol.hpp"

#include <cstdint>

namespace dcgn::wall {

void begin_time(const Setup& setup);
// At a frame's beginning. Time never goes back.
void advance_time(std::int64_t to_ns);
// Each question of the program takes a microsecond, so that who waits for a time to pass comes to an end.
std::int64_t ask_time_ns();
std::int64_t frame_time_ns();
// Whether a function goes on, when it has returned, at code of the program's, and not of GL's, X's and the like.
bool asked_by_program(const void* caller);
// The machine's, for measurements.
std::int64_t host_time_ns();

}  // namespace dcgn::wall
