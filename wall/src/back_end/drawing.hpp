// What of GL names pixels of the window: shifted, so that a screen draws its part of the wall. Matrices and shaders are
// the program's own, and so is what it does in framebuffer objects.
#pragma once

#include "state.hpp"

#include <cstdint>

namespace dcgn::wall {

// GL's first state in a window: that of one as large as the program's.
void start_drawing(const Window& window);

// The current window has changed its size, and with it where GL's coordinates lie: what the program has set stays.
void follow_window(const Offset& before);

// The part of the window that this screen has: BGRA, rows from the bottom.
void read_own_pixels(const Window& window, bool back_buffer, std::uint8_t* bgra);

// The scissor test as it must be, where the window is larger than the screen.
void apply_scissor(const Window& window);

}  // namespace dcgn::wall
