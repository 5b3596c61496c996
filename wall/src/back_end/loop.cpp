#include "loop.hpp"

#include "balance.hpp"
#include "callbacks.hpp"
#include "calls.hpp"
#include "clock.hpp"
#include "drawing.hpp"
#include "glut_real.hpp"
#include "link.hpp"
#include "screen.hpp"
#include "state.hpp"

#include <GL/gl.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

namespace dcgn::wall {

Callback idle;
std::vector<Timer> timers;
std::map<int, Callback> menus;
int modifiers = 0;
bool leaving = false;

namespace {

std::int64_t swaps = 0, swapped_ns = 0;
// By work_time_ns(): when the frame and its picture began, and what the last frame took.
std::int64_t frame_began_ns = 0, picture_began_ns = 0, busy_ns = 0, drawn_ns = 0, exchanged_ns = 0;
std::uint64_t calls_digest = 0;
bool pumping = false;

// Without waiting for the others.
std::int64_t work_time_ns() { return host_time_ns() - waited_ns(); }

// Which of the wall's windows is there: the last one made lies above.
Window* window_at(int x, int y) {
  Window* found = nullptr;
  for (auto& [id, window] : windows) {
    const Rect& p = window.place;
    if (x >= p.x && y >= p.y && x < p.x + p.width && y < p.y + p.height) found = &window;
  }
  return found ? found : windows.empty() ? nullptr : &windows.begin()->second;
}

void resize(int width, int height) {
  Window& wall = windows.begin()->second;
  select_window(wall.id);
  const Offset before = draw_offset();
  wall.place.width = width;
  wall.place.height = height;
  find_seen(wall);
  place(wall);
  follow_window(before);
  wall.reshape = wall.redisplay = true;
  for (auto& [id, window] : windows)
    if (window.parent) {
      find_seen(window);
      place(window);
    }
}

void deliver(Event e) {
  if (windows.empty()) return;
  if (e.what == What::resize) return resize(e.x, e.y);
  if (e.what == What::menu) {
    const auto menu = menus.find(e.menu);
    if (menu == menus.end()) return;
    select_window(e.window ? e.window : windows.begin()->first);
    glut::set_menu(e.menu);
    return menu->second(e.code);
  }
  Window* window = nullptr;
  if (e.window == 0) {
    window = window_at(e.x, e.y);
    e.x -= window->place.x;
    e.y -= window->place.y;
  } else if (const auto found = windows.find(e.window); found != windows.end()) {
    window = &found->second;
  }
  if (!window) return;
  select_window(window->id);
  modifiers = e.modifiers;
  const auto code = static_cast<unsigned char>(e.code);
  switch (e.what) {
    case What::key: window->keyboard(code, e.x, e.y); break;
    case What::key_up: window->keyboard_up(code, e.x, e.y); break;
    case What::special: window->special(e.code, e.x, e.y); break;
    case What::special_up: window->special_up(e.code, e.x, e.y); break;
    case What::button: window->mouse(e.code, e.state, e.x, e.y); break;
    case What::motion: window->motion(e.x, e.y); break;
    case What::passive: window->passive(e.x, e.y); break;
    case What::wheel: window->wheel(e.code, e.state, e.x, e.y); break;
    case What::entry: window->entry(e.code); break;
    case What::expose: window->redisplay = true; break;
    case What::menu:
    case What::resize: break;
  }
  modifiers = 0;
}

// Callbacks make and destroy windows: by number, not by reference.
std::vector<int> window_numbers() {
  std::vector<int> all;
  all.reserve(windows.size());
  for (const auto& [id, window] : windows) all.push_back(id);
  return all;
}

void draw_windows() {
  for (const int id : window_numbers()) {
    if (const auto found = windows.find(id); found != windows.end() && found->second.reshape) {
      found->second.reshape = false;
      const Rect at = found->second.place;
      select_window(id);
      apply_scissor(found->second);  // another part of it may be this screen's
      if (const Callback reshaped = found->second.reshaped)
        reshaped(at.width, at.height);
      else
        ::glViewport(0, 0, at.width, at.height);  // GLUT's own answer, by the one that stands in front
    }
    if (const auto found = windows.find(id); found != windows.end() && !found->second.shown) {
      found->second.shown = true;
      select_window(id);
      const Callback visibility = found->second.visibility, status = found->second.window_status;
      visibility(glut::visible);
      status(glut::fully_retained);
    }
    const auto found = windows.find(id);
    if (found == windows.end() || !found->second.redisplay) continue;
    found->second.redisplay = false;
    select_window(id);
    const Callback display = found->second.display;
    display();
    if (const auto still = windows.find(id); still != windows.end() && !still->second.double_buffered) {
      select_window(id);
      DCGN_REAL(glFinish)();
      show_turned(still->second, false);
    }
  }
}

void run_timers() {
  const std::int64_t now = frame_time_ns();
  // Those that the callbacks start are due in a later frame at the earliest.
  std::vector<Timer> due;
  std::vector<Timer> later;
  for (Timer& timer : timers) (timer.due_ns <= now ? due : later).push_back(timer);
  timers = std::move(later);
  std::stable_sort(due.begin(), due.end(), [](const Timer& a, const Timer& b) { return a.due_ns < b.due_ns; });
  for (const Timer& timer : due) timer.callback(timer.value);
}

}  // namespace

void select_window(int id) {
  const auto found = windows.find(id);
  if (found == windows.end()) return;
  current = &found->second;
  if (glut::get_window() != id) glut::set_window(id);
}

void pump_windows() {
  if (pumping || windows.empty()) return;
  pumping = inside_glut = true;
  glut::main_loop_event();
  if (current && glut::get_window() != current->id) glut::set_window(current->id);
  pumping = inside_glut = false;
}

Tick how_it_is() {
  Tick tick;
  tick.frame = frame;
  tick.idle = idle ? 1 : 0;
  for (const auto& [id, window] : windows)
    if (window.redisplay || window.reshape) tick.redisplay = 1;
  for (const Timer& timer : timers)
    if (tick.next_timer_ns < 0 || timer.due_ns < tick.next_timer_ns) tick.next_timer_ns = timer.due_ns;
  tick.calls = calls_digest;
  tick.swaps = swaps;
  tick.swapped_ns = swapped_ns;
  tick.busy_ns = busy_ns;
  tick.drawn_ns = drawn_ns;
  tick.exchanged_ns = exchanged_ns;
  tick.given_pixels = given().pixels;
  tick.given_bytes = given().bytes;
  tick.cuts = cuts_taken();
  return tick;
}

void run_frame() {
  std::vector<Event> events;
  busy_ns = work_time_ns() - frame_began_ns;
  const Go go = begin_frame(events);
  drawn_ns = exchanged_ns = 0;
  frame_began_ns = picture_began_ns = work_time_ns();
  advance_time(go.time_ns);
  if (go.end) std::exit(0);
  calls_digest = 0;
  if (go.check) begin_recording();
  for (const Event& event : events) deliver(event);
  draw_windows();
  run_timers();
  const Callback now = idle;
  now();
  if (go.check) calls_digest = end_recording();
  ++frame;
}

void swap_buffers() {
  if (!current) return;
  if (!current->double_buffered) return;
  DCGN_REAL(glFinish)();
  const std::int64_t drawn = work_time_ns();
  drawn_ns += drawn - picture_began_ns;
  complete_picture(*current);
  exchanged_ns += work_time_ns() - drawn;
  show_turned(*current, true);
  meet_for_swap(++swaps);
  glut::swap_buffers();
  swapped_ns = host_time_ns();
  picture_began_ns = work_time_ns();
}

}  // namespace dcgn::wall
