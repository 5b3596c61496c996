#include "screen.hpp"

#include "drawing.hpp"
#include "glut_real.hpp"
#include "loop.hpp"

#include <GL/gl.h>
#include <GL/glx.h>
#include <X11/Xlib.h>
#include <X11/Xutil.h>

#include <algorithm>
#include <memory>
#include <vector>

namespace dcgn::wall {

bool making_top_level = false;

namespace {

Display* display = nullptr;
::Window clip = 0;    // in which windows lie that are larger than the screen
::Window turned = 0;  // on which the picture is put where it is turned

int shown_width() { return setup.turn % 2 ? setup.screen.height : setup.screen.width; }
int shown_height() { return setup.turn % 2 ? setup.screen.width : setup.screen.height; }

::Window bare_window(Display* on, int width, int height) {
  const ::Window root = DefaultRootWindow(on);
  XSetWindowAttributes attributes{};
  attributes.override_redirect = True;  // no window manager sees to it
  attributes.background_pixel = BlackPixel(on, DefaultScreen(on));
  const ::Window made =
      DCGN_REAL(XCreateWindow)(on, root, setup.x, setup.y, static_cast<unsigned>(width), static_cast<unsigned>(height),
                               0, CopyFromParent, InputOutput, nullptr, CWOverrideRedirect | CWBackPixel, &attributes);
  XMapWindow(on, made);
  return made;
}

// Before the first window: whether the screen is there, and what is to lie beneath.
void open_screen(Display* on) {
  if (display) return;
  display = on;
  if (setup.x + shown_width() > DisplayWidth(on, DefaultScreen(on)) ||
      setup.y + shown_height() > DisplayHeight(on, DefaultScreen(on)))
    die("its display is too small: expected room for the screen where the layout has it");
  if (setup.turn) {
    // All is drawn where one pixel of it can be seen, and copied from there.
    clip = bare_window(on, 1, 1);
    turned = bare_window(on, shown_width(), shown_height());
  } else if (setup.exact) {
    clip = bare_window(on, setup.screen.width, setup.screen.height);
  }
}

struct ImageDeleter {
  void operator()(XImage* image) const { XDestroyImage(image); }
};
using Image = std::unique_ptr<XImage, ImageDeleter>;

// A channel's place in a pixel.
int shift_of(unsigned long mask) {
  int shift = 0;
  while (mask && !(mask & 1)) {
    mask >>= 1;
    ++shift;
  }
  return shift;
}

}  // namespace

void find_seen(Window& window) {
  window.seen = intersection(window.place, setup.screen);
  if (const auto parent = windows.find(window.parent); window.parent && parent != windows.end())
    window.seen = intersection(window.seen, parent->second.place);
  window.whole = window.parent != 0 || setup.exact;
}

void place(const Window& window) {
  if (!display) return;
  int x = 0, y = 0;
  Rect size = window.whole ? window.place : window.seen;
  if (window.parent) {
    const Window& parent = windows.at(window.parent);
    const Rect& from = parent.whole ? parent.place : parent.seen;
    x = window.place.x - from.x;
    y = window.place.y - from.y;
  } else if (window.whole || clip) {
    x = size.x - setup.screen.x;
    y = size.y - setup.screen.y;
  } else {
    x = setup.x + size.x - setup.screen.x;
    y = setup.y + size.y - setup.screen.y;
  }
  if (size.empty()) {  // X has no windows without pixels
    x = y = -8;
    size.width = size.height = 1;
  }
  XMoveResizeWindow(display, window.x_window, x, y, static_cast<unsigned>(size.width),
                    static_cast<unsigned>(size.height));
  XSync(display, False);
}

void adopt(Window& window) {
  display = glXGetCurrentDisplay();
  window.x_window = glXGetCurrentDrawable();
  place(window);
  start_drawing(window);
}

void show_turned(const Window& window, bool back_buffer) {
  if (!setup.turn || window.seen.empty()) return;
  const Rect& seen = window.seen;
  std::vector<std::uint8_t> bgra(static_cast<std::size_t>(seen.width) * seen.height * 4);
  read_own_pixels(window, back_buffer, bgra.data());
  // The part of the screen that the window has, from its top left.
  const int x0 = seen.x - setup.screen.x, y0 = seen.y - setup.screen.y;
  const int w = setup.screen.width, h = setup.screen.height;
  Rect to{x0, y0, seen.width, seen.height};
  if (setup.turn == 1) to = {h - y0 - seen.height, x0, seen.height, seen.width};
  if (setup.turn == 2) to = {w - x0 - seen.width, h - y0 - seen.height, seen.width, seen.height};
  if (setup.turn == 3) to = {y0, w - x0 - seen.width, seen.height, seen.width};
  auto* const pixels = static_cast<char*>(std::calloc(static_cast<std::size_t>(to.width) * to.height, 4));
  if (!pixels) die("no memory for a picture");
  const Image image(XCreateImage(display, DefaultVisual(display, DefaultScreen(display)),
                                 static_cast<unsigned>(DefaultDepth(display, DefaultScreen(display))), ZPixmap, 0,
                                 pixels, static_cast<unsigned>(to.width), static_cast<unsigned>(to.height), 32, 0));
  const int red = shift_of(image->red_mask), green = shift_of(image->green_mask), blue = shift_of(image->blue_mask);
  for (int y = 0; y < seen.height; ++y)
    for (int x = 0; x < seen.width; ++x) {
      int at_x = x, at_y = y;
      if (setup.turn == 1) at_x = seen.height - 1 - y, at_y = x;
      if (setup.turn == 2) at_x = seen.width - 1 - x, at_y = seen.height - 1 - y;
      if (setup.turn == 3) at_x = y, at_y = seen.width - 1 - x;
      const std::uint8_t* const from = &bgra[(static_cast<std::size_t>(seen.height - 1 - y) * seen.width + x) * 4];
      XPutPixel(image.get(), at_x, at_y,
                static_cast<unsigned long>(from[2]) << red | static_cast<unsigned long>(from[1]) << green |
                    static_cast<unsigned long>(from[0]) << blue);
    }
  XPutImage(display, turned, DefaultGC(display, DefaultScreen(display)), image.get(), 0, 0, to.x, to.y,
            static_cast<unsigned>(to.width), static_cast<unsigned>(to.height));
}

std::string picture_of_screen() {
  Picture picture{shown_width(), shown_height()};
  std::string rgb = std::string(reinterpret_cast<const char*>(&picture), sizeof picture);
  const std::size_t header = rgb.size();
  rgb.resize(header + static_cast<std::size_t>(picture.width) * picture.height * 3);
  if (!display) return rgb;  // no window yet: black
  const int before = current ? current->id : 0;
  for (const auto& [id, window] : windows) {
    select_window(id);
    DCGN_REAL(glFinish)();
  }
  select_window(before);
  XSync(display, False);
  const Image image(XGetImage(display, DefaultRootWindow(display), setup.x, setup.y,
                              static_cast<unsigned>(picture.width), static_cast<unsigned>(picture.height), AllPlanes,
                              ZPixmap));
  if (!image) die("its screen could not be read");
  const int red = shift_of(image->red_mask), green = shift_of(image->green_mask), blue = shift_of(image->blue_mask);
  char* to = rgb.data() + header;
  for (int y = 0; y < picture.height; ++y)
    for (int x = 0; x < picture.width; ++x) {
      const unsigned long pixel = XGetPixel(image.get(), x, y);
      for (const int shift : {red, green, blue}) *to++ = static_cast<char>(pixel >> shift & 255);
    }
  return rgb;
}

void focus_where_pointer_is(int state) {
  if (state == glut::entered && current && display)
    XSetInputFocus(display, current->x_window, RevertToPointerRoot, CurrentTime);
}

}  // namespace dcgn::wall

// freeglut makes its windows as for a desktop: on a wall they lie where they are put, without a frame.
extern "C" ::Window XCreateWindow(Display* on, ::Window parent, int x, int y, unsigned width, unsigned height,
                                  unsigned border, int depth, unsigned kind, Visual* visual, unsigned long mask,
                                  XSetWindowAttributes* attributes) {
  using namespace dcgn::wall;
  const bool top_level = making_top_level && parent == DefaultRootWindow(on) && kind == InputOutput && attributes;
  XSetWindowAttributes with{};
  if (top_level) {
    open_screen(on);
    with = *attributes;
    with.override_redirect = True;
    mask |= CWOverrideRedirect;
    attributes = &with;
    if (clip) parent = clip;
  }
  return DCGN_REAL(XCreateWindow)(on, parent, x, y, width, height, border, depth, kind, visual, mask, attributes);
}
