// The main loop of GLUT, in step with the other back ends.
#pragma once

#include "wall/src/protocol.hpp"

namespace dcgn::wall {

// freeglut sees to its windows, and hands what users do to the front end.
void pump_windows();
// At a frame's beginning.
Tick how_it_is();
// One frame: events, windows that are to be drawn, timers, the idle callback.
void run_frame();
// A new picture of the current window.
void swap_buffers();

void select_window(int id);

}  // namespace dcgn::wall
