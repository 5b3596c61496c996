// Who draws what, where the wall is balanced: a back end draws its region of the wall's cut, whichever screens that is
// on, into a window as large as the wall, and gives its pixels to those screens before the swap.
//
// The cut changes where the program clears the window, and by that says that nothing there is needed any more: at the
// same call everywhere. A program that builds on earlier pictures, or does what a region cannot follow, keeps the cut
// that it has.
#pragma once

#include "state.hpp"

#include <cstdint>
#include <vector>

namespace dcgn::wall {

// What follows the Setup: the screens, and the first cut.
void begin_balance(std::vector<Rect> screens, std::vector<Rect> cut);
// To be drawn by when the program lets it.
void plan_cut(std::vector<Rect> next);
int cuts_taken();

// What this back end draws of a window: its region, or the screen's part where that is not for balancing.
Rect part_drawn(const Window& window);

// The program is about to clear these of GL's buffers, wholly.
void note_clear(Window& window, unsigned buffers);
// It turns that test on.
void note_test(Window& window, unsigned test);
// The cut stays as it is from now on. The reason is said, where there could have been another.
void keep_cut(const char* why);

// Before the swap: the window's back buffer has the whole of this screen's part.
void complete_picture(Window& window);

// In all.
struct Given {
  std::int64_t pixels = 0, bytes = 0;
};
Given given();

}  // namespace dcgn::wall
