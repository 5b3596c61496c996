// What a back end knows of itself: its part of the wall, and the program's windows.
#pragma once

#include "wall/src/protocol.hpp"

#include <cstdint>
#include <map>
#include <type_traits>
#include <vector>

namespace dcgn::wall {

// A callback of GLUT, with freeglut's user data or without.
struct Callback {
  void (*function)() = nullptr;
  void* user = nullptr;
  bool with_user = false;

  explicit operator bool() const { return function != nullptr; }
  template <class... A>
  void operator()(A... a) const {
    if (!function) return;
    if (with_user)
      reinterpret_cast<void (*)(A..., void*)>(function)(a..., user);
    else
      reinterpret_cast<void (*)(A...)>(function)(a...);
  }
};

// The scissor test as the program knows it, where ours lies beneath it.
struct Scissor {
  bool enabled = false;
  Rect box;
};

struct Window {
  int id = 0, parent = 0;  // GLUT's numbers
  Rect place;              // on the wall, from its top left
  Rect seen;               // the part of it that is this screen's
  // Whether the window here is as large as the program's, of which the screen shows a part; else it is `seen`, and GL's
  // window coordinates are shifted.
  bool whole = false;
  bool double_buffered = true;
  bool balanced = false;  // what is drawn of it here is a region of the wall's cut
  bool front = false;     // the program draws to the front buffer
  unsigned cleared = 0;   // GL's buffers, since the last swap
  unsigned needed = 0;    // those whose contents are ever tested against
  bool redisplay = true, reshape = true, shown = false;
  unsigned long x_window = 0;
  unsigned draw_framebuffer = 0, read_framebuffer = 0;
  Scissor scissor;
  struct Saved {
    unsigned mask;
    Scissor scissor;
  };
  std::vector<Saved> attributes;  // the program's stack of them

  Callback display, overlay_display, reshaped, keyboard, keyboard_up, special, special_up, mouse, motion, passive,
      wheel, entry, visibility, window_status, position, close, wm_close;

  // `seen` from the window's bottom left, as GL has it.
  Rect seen_in_gl() const { return in_gl(seen); }
  Rect in_gl(const Rect& r) const {
    return {r.x - place.x, place.y + place.height - r.y - r.height, r.width, r.height};
  }
};

struct Offset {
  int x = 0, y = 0;
};

// Before the front end has been spoken to there is none.
extern bool connected;
extern Setup setup;
extern std::map<int, Window> windows;
extern Window* current;   // null: none
extern bool inside_glut;  // freeglut's own work for its windows, which the program knows nothing of
extern std::int64_t frame;

bool on_main_thread();

// How far GL's window coordinates of the program lie from those of what is drawn to, or read.
Offset draw_offset();
Offset read_offset();

// One line for the front end, once, when the next frame begins; of any thread.
void warn(const char* what);
// Says so and ends the program at once.
[[noreturn]] void die(const char* what);

}  // namespace dcgn::wall
