// The windows as X has them: where they are on this screen, and what it shows.
#pragma once

#include "state.hpp"

#include <string>

namespace dcgn::wall {

// The part of the window that this screen has, and whether the window here is the whole of it.
void find_seen(Window& window);
// Where freeglut is to make it; then its X window is known, and moved to its place.
void adopt(Window& window);
void place(const Window& window);
// Of a screen that is turned: puts the picture, which is in the back buffer or else in the front one, on it.
void show_turned(const Window& window, bool back_buffer);
// Keys go where the pointer is, as there is no window manager that would say so; `state` is GLUT's of an entry.
void focus_where_pointer_is(int state);
extern bool making_top_level;  // what freeglut makes is a window of the program's, not a menu
// The Picture, and its RGB.
std::string picture_of_screen();

}  // namespace dcgn::wall
