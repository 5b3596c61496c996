// freeglut's functions that the library itself calls, and GLUT's numbers. Its header declares those that stand in front
// of them, which take callbacks of any kind.
#pragma once

#include "real.hpp"

#include <type_traits>

namespace dcgn::wall::glut {

inline constexpr unsigned window_x = 0x64, window_y = 0x65, window_width = 0x66, window_height = 0x67;
inline constexpr unsigned window_double_buffer = 0x73;
inline constexpr unsigned screen_width = 0xC8, screen_height = 0xC9;
inline constexpr unsigned init_window_x = 0x1F4, init_window_y = 0x1F5, init_window_width = 0x1F6,
                          init_window_height = 0x1F7;
inline constexpr unsigned action_on_window_close = 0x1F9, border_width = 0x1FA, header_height = 0x1FB;
inline constexpr unsigned elapsed_time = 0x2BC;
inline constexpr int left = 0, entered = 1, visible = 1, fully_retained = 1;

inline int get(unsigned what) { return DCGN_REAL_AS(int(unsigned), "glutGet")(what); }
inline int get_window() { return DCGN_REAL_AS(int(), "glutGetWindow")(); }
inline int get_menu() { return DCGN_REAL_AS(int(), "glutGetMenu")(); }
inline int get_modifiers() { return DCGN_REAL_AS(int(), "glutGetModifiers")(); }
inline void set_window(int id) { DCGN_REAL_AS(void(int), "glutSetWindow")(id); }
inline void set_menu(int id) { DCGN_REAL_AS(void(int), "glutSetMenu")(id); }
inline void main_loop_event() { DCGN_REAL_AS(void(), "glutMainLoopEvent")(); }
inline void swap_buffers() { DCGN_REAL_AS(void(), "glutSwapBuffers")(); }

}  // namespace dcgn::wall::glut
