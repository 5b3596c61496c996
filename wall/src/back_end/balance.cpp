#include "balance.hpp"

#include "drawing.hpp"
#include "exchange.hpp"
#include "real.hpp"

#include <GL/gl.h>

#include <utility>

namespace dcgn::wall {

namespace {

std::vector<Rect> screens, cut, planned;
int taken = 0;
bool kept = false;
std::int64_t pictures = 0;
Given all_given;

unsigned buffer_of(GLenum test) {
  if (test == GL_DEPTH_TEST) return GL_DEPTH_BUFFER_BIT;
  return test == GL_STENCIL_TEST ? GL_STENCIL_BUFFER_BIT : 0;
}

// What of it GL clears.
unsigned written(unsigned buffers) {
  GLboolean colours[4] = {}, depths = GL_FALSE;
  DCGN_REAL(glGetBooleanv)(GL_COLOR_WRITEMASK, colours);
  DCGN_REAL(glGetBooleanv)(GL_DEPTH_WRITEMASK, &depths);
  if (!colours[0] || !colours[1] || !colours[2]) buffers &= ~unsigned{GL_COLOR_BUFFER_BIT};
  return depths ? buffers : buffers & ~unsigned{GL_DEPTH_BUFFER_BIT};
}

// Whether nothing of earlier pictures will be seen, or tested against, once `buffers` have been cleared.
bool begins_anew(const Window& window, unsigned buffers) {
  const bool first = (window.cleared & GL_COLOR_BUFFER_BIT) == 0;
  return first && !window.front && (buffers & GL_COLOR_BUFFER_BIT) && !(window.needed & ~(window.cleared | buffers));
}

}  // namespace

void begin_balance(std::vector<Rect> all_screens, std::vector<Rect> first) {
  screens = std::move(all_screens);
  cut = std::move(first);
}

void plan_cut(std::vector<Rect> next) {
  if (next.size() == screens.size()) planned = std::move(next);
}

int cuts_taken() { return taken; }

Rect part_drawn(const Window& window) {
  if (!window.balanced || window.front) return window.seen;
  return intersection(window.place, cut[static_cast<std::size_t>(setup.number)]);
}

void note_clear(Window& window, unsigned buffers) {
  if (!window.balanced) return;
  buffers = written(buffers);
  if (!planned.empty() && !kept && begins_anew(window, buffers)) {
    cut = std::exchange(planned, {});
    ++taken;
    apply_scissor(window);
  }
  window.cleared |= buffers;
}

void note_test(Window& window, GLenum test) { window.needed |= buffer_of(test); }

void keep_cut(const char* why) {
  if (screens.empty() || kept) return;
  kept = true;
  warn(why);
}

void complete_picture(Window& window) {
  if (!window.balanced) return;
  for (const GLenum test : {GL_DEPTH_TEST, GL_STENCIL_TEST})
    if (DCGN_REAL(glIsEnabled)(test)) note_test(window, test);
  if (!planned.empty() && !kept)
    warn("the program draws without one glClear before of all that it uses of the window: it keeps what parts it has");
  window.cleared = 0;
  const std::vector<Piece> pieces = pieces_of(cut, screens, window.place);
  if (pieces.empty()) return;
  const Given now = exchange_pixels(window, pieces, ++pictures);
  all_given.pixels += now.pixels;
  all_given.bytes += now.bytes;
}

Given given() { return all_given; }

}  // namespace dcgn::wall
