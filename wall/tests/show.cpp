#include "wall/tests/show.hpp"

#include "wall/src/child.hpp"
#include "wall/src/stream.hpp"
#include "wall/src/virtual_display.hpp"

#include <X11/Xlib.h>
#include <X11/Xutil.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <thread>

namespace dcgn::test {

namespace {

const std::string& test_display() {
  static const wall::VirtualDisplay display(1280, 800);
  setenv("LP_NUM_THREADS", "1", 0);
  setenv("LIBGL_ALWAYS_SOFTWARE", "1", 0);
  setenv("LP_PERF", "no_rast_linear", 0);  // as exact walls have it
  return display.name();
}

wall::WallPicture grab(Display* display) {
  wall::WallPicture picture{wall_width, wall_height, {}};
  XImage* const image =
      XGetImage(display, DefaultRootWindow(display), 0, 0, wall_width, wall_height, AllPlanes, ZPixmap);
  for (int y = 0; y < wall_height; ++y)
    for (int x = 0; x < wall_width; ++x) {
      const unsigned long pixel = XGetPixel(image, x, y);
      for (const int shift : {16, 8, 0}) picture.rgb.push_back(static_cast<std::uint8_t>(pixel >> shift));
    }
  XDestroyImage(image);
  return picture;
}

// The one whose corner is there.
::Window window_at(Display* display, int x, int y) {
  ::Window root = 0, parent = 0, *children = nullptr, found = 0;
  unsigned count = 0;
  XQueryTree(display, DefaultRootWindow(display), &root, &parent, &children, &count);
  for (unsigned i = 0; i < count; ++i) {
    XWindowAttributes a{};
    XGetWindowAttributes(display, children[i], &a);
    if (a.map_state == IsViewable && a.x == x && a.y == y) found = children[i];
  }
  if (children) XFree(children);
  return found;
}

}  // namespace

std::string wall_program(const std::string& name) { return std::string(DCGN_WALL_PROGRAMS) + "/wall_" + name; }

wall::Layout equal_screens(int columns, int rows) {
  return wall::load_layout(std::to_string(columns) + "x" + std::to_string(rows) + ":" +
                           std::to_string(wall_width / columns) + "x" + std::to_string(wall_height / rows));
}

Shown show(wall::Options options) {
  Shown shown;
  wall::place_on_one_display(options.layout, test_display());
  options.picture_at_end = true;
  options.warn = [&shown](const std::string& what) { shown.warnings.push_back(what); };
  shown.report = wall::run_wall(options, [&shown](const wall::WallPicture& picture) { shown.picture = picture; });
  return shown;
}

wall::WallPicture show_plain(const std::vector<std::string>& command) {
  const std::string name = test_display();
  Display* const display = XOpenDisplay(name.c_str());
  wall::WallPicture last;
  if (!display) return last;
  const wall::Child program(command, [&name] { setenv("DISPLAY", name.c_str(), 1); });
  const auto until = wall::Clock::now() + std::chrono::seconds(30);
  for (int same = 0; same < 8 && wall::Clock::now() < until;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
    wall::WallPicture now = grab(display);
    same = has_colours(now) && now.rgb == last.rgb ? same + 1 : 0;
    last = std::move(now);
  }
  XCloseDisplay(display);
  return last;
}

int run_on_test_display(const std::vector<std::string>& command,
                        const std::vector<std::pair<std::string, std::string>>& variables) {
  const std::string display = test_display();
  wall::Child program(command, [&] {
    setenv("DISPLAY", display.c_str(), 1);
    for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
  });
  return program.ended(60'000) ? program.exit_code() : -1;
}

Shown show_live(wall::Options options, const Press& press, const wall::WallPicture& wanted) {
  std::atomic<bool> asked = false, answered = false, ended = false;
  Shown result;
  wall::place_on_one_display(options.layout, test_display());
  options.wants_picture = [&asked] { return asked.exchange(false); };
  std::exception_ptr error;
  std::thread wall([&] {
    try {
      result.report = wall::run_wall(options, [&](const wall::WallPicture& picture) {
        result.picture = picture;
        answered = true;
      });
    } catch (...) {
      error = std::current_exception();
    }
    ended = true;
  });
  const auto until = wall::Clock::now() + std::chrono::seconds(30);
  const auto look_until = [&](auto&& good) {
    while (!ended && wall::Clock::now() < until) {
      answered = false;
      asked = true;
      while (!answered && !ended && wall::Clock::now() < until)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      if (answered && good(result.picture)) return;
    }
  };
  look_until(has_colours);
  Display* const display = XOpenDisplay(test_display().c_str());
  const wall::Screen& screen = options.layout.screens[press.screen];
  const ::Window there = window_at(display, screen.x, screen.y);
  XEvent button{};
  button.xbutton = {ButtonPress, 0,           True,    display, there,   DefaultRootWindow(display),
                    0,           CurrentTime, press.x, press.y, press.x, press.y,
                    0,           1,           True};
  XSendEvent(display, there, True, ButtonPressMask, &button);
  XFlush(display);
  look_until([&wanted](const wall::WallPicture& picture) { return picture.rgb == wanted.rgb; });
  XEvent key{};
  key.xkey = {KeyPress, 0, True, display, there, DefaultRootWindow(display),        0,   CurrentTime,
              1,        1, 1,    1,       0,     XKeysymToKeycode(display, 0xff1b), True};
  XSendEvent(display, there, True, KeyPressMask, &key);
  XFlush(display);
  wall.join();
  XCloseDisplay(display);
  if (error) std::rethrow_exception(error);
  return result;
}

Difference difference(const wall::WallPicture& a, const wall::WallPicture& b) {
  Difference d;
  if (a.rgb.size() != b.rgb.size() || a.width != b.width) return {1 << 30, 255, 1 << 30};
  for (std::size_t i = 0; i < a.rgb.size(); i += 3) {
    int most = 0;
    for (std::size_t c = i; c < i + 3; ++c) most = std::max(most, std::abs(a.rgb[c] - b.rgb[c]));
    d.pixels += most > 0;
    d.most = std::max(d.most, most);
    d.far += most > 1;
  }
  return d;
}

void expect_like(const wall::WallPicture& one, const wall::WallPicture& wall, bool shaded) {
  const Difference d = difference(one, wall);
  EXPECT_LE(d.pixels, shaded ? wall_width * wall_height / 100 : 0) << "by " << d.most << " of 255 at most";
  EXPECT_LE(d.far, shaded ? 4 : 0);
}

bool has_colours(const wall::WallPicture& picture) {
  return std::any_of(picture.rgb.begin(), picture.rgb.end(), [&](std::uint8_t c) { return c != picture.rgb[0]; });
}

}  // namespace dcgn::test
