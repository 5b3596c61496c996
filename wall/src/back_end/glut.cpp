// GLUT's functions, in front of freeglut's: windows lie on the wall, and callbacks come from the wall's loop.
#include "callbacks.hpp"
#include "clock.hpp"
#include "glut_real.hpp"
#include "link.hpp"
#include "loop.hpp"
#include "screen.hpp"
#include "state.hpp"

#include <algorithm>
#include <cstdlib>

namespace dcgn::wall {

namespace {

using Function = void (*)();

int init_x = -1, init_y = -1, init_width = 300, init_height = 300;

// What freeglut calls, on the screen where something was done: the front end is told, and all get it from there.
Window* here() {
  const auto found = windows.find(glut::get_window());
  return setup.users && found != windows.end() ? &found->second : nullptr;
}

void tell(What what, int code, int state, int x, int y, const Callback Window::*wanted) {
  const Window* const window = here();
  if (!window || !(window->*wanted)) return;
  Event e;
  e.what = what;
  e.window = window->id;
  e.code = code;
  e.state = state;
  e.x = x + (window->whole ? 0 : window->seen.x - window->place.x);
  e.y = y + (window->whole ? 0 : window->seen.y - window->place.y);
  if (what != What::motion && what != What::passive && what != What::entry) e.modifiers = glut::get_modifiers();
  tell_event(e);
}

void on_display(void*) {
  if (const Window* const window = here()) {
    Event e;
    e.window = window->id;
    tell_event(e);
  }
}
void on_reshape(int, int, void*) {}
void on_key(unsigned char key, int x, int y, void*) { tell(What::key, key, 0, x, y, &Window::keyboard); }
void on_key_up(unsigned char key, int x, int y, void*) { tell(What::key_up, key, 0, x, y, &Window::keyboard_up); }
void on_special(int key, int x, int y, void*) { tell(What::special, key, 0, x, y, &Window::special); }
void on_special_up(int key, int x, int y, void*) { tell(What::special_up, key, 0, x, y, &Window::special_up); }
void on_mouse(int button, int state, int x, int y, void*) { tell(What::button, button, state, x, y, &Window::mouse); }
void on_motion(int x, int y, void*) { tell(What::motion, 0, 0, x, y, &Window::motion); }
void on_passive(int x, int y, void*) { tell(What::passive, 0, 0, x, y, &Window::passive); }
void on_wheel(int wheel, int way, int x, int y, void*) { tell(What::wheel, wheel, way, x, y, &Window::wheel); }
void on_entry(int state, void*) {
  focus_where_pointer_is(state);
  tell(What::entry, state, 0, 0, 0, &Window::entry);
}
void on_menu(int value, void*) {
  Event e;
  e.what = What::menu;
  const Window* const window = here();
  if (!window) return;
  e.window = window->id;
  e.menu = glut::get_menu();
  e.code = value;
  tell_event(e);
}

// freeglut makes the plain form of a callback one with user data, by a function that has one of ours in front of it: so
// ours ask for that form at once.
void listen() {
  using None = void (*)(void*);
  using Two = void (*)(int, int, void*);
  using Three = void (*)(int, int, int, void*);
  using Key = void (*)(unsigned char, int, int, void*);
  DCGN_REAL_AS(void(None, void*), "glutDisplayFuncUcall")(on_display, nullptr);
  DCGN_REAL_AS(void(Two, void*), "glutReshapeFuncUcall")(on_reshape, nullptr);
  DCGN_REAL_AS(void(Key, void*), "glutKeyboardFuncUcall")(on_key, nullptr);
  DCGN_REAL_AS(void(Key, void*), "glutKeyboardUpFuncUcall")(on_key_up, nullptr);
  DCGN_REAL_AS(void(Three, void*), "glutSpecialFuncUcall")(on_special, nullptr);
  DCGN_REAL_AS(void(Three, void*), "glutSpecialUpFuncUcall")(on_special_up, nullptr);
  DCGN_REAL_AS(void(void (*)(int, int, int, int, void*), void*), "glutMouseFuncUcall")(on_mouse, nullptr);
  DCGN_REAL_AS(void(Two, void*), "glutMotionFuncUcall")(on_motion, nullptr);
  DCGN_REAL_AS(void(Two, void*), "glutPassiveMotionFuncUcall")(on_passive, nullptr);
  DCGN_REAL_AS(void(void (*)(int, void*), void*), "glutEntryFuncUcall")(on_entry, nullptr);
}

Window& add_window(int id, int parent, const Rect& place) {
  Window& window = windows[id];
  window.id = id;
  window.parent = parent;
  window.place = place;
  window.double_buffered = glut::get(glut::window_double_buffer) != 0;
  window.balanced = setup.balanced && window.double_buffered && windows.size() == 1;
  current = &window;
  find_seen(window);
  adopt(window);
  listen();
  return window;
}

int make_window(const char* title) {
  connect();
  // The first is the wall; others are as large as they are to be.
  const Rect place =
      windows.empty() ? setup.wall : Rect{std::max(0, init_x), std::max(0, init_y), init_width, init_height};
  Window planned;
  planned.place = place;
  find_seen(planned);
  const Rect& size = planned.whole ? planned.place : planned.seen;
  DCGN_REAL_AS(void(int, int), "glutInitWindowPosition")(setup.x, setup.y);
  DCGN_REAL_AS(void(int, int), "glutInitWindowSize")(std::max(1, size.width), std::max(1, size.height));
  inside_glut = making_top_level = true;
  const int id = DCGN_REAL_AS(int(const char*), "glutCreateWindow")(title);
  inside_glut = making_top_level = false;
  if (id > 0) add_window(id, 0, place);
  return id;
}

void set(Callback Window::*member, Function function, void* user, bool with_user) {
  if (current) current->*member = {function, user, with_user};
}

void listen_to_wheel(Callback callback) {
  if (!current) return;
  current->wheel = callback;
  using Wheel = void (*)(int, int, int, int, void*);
  DCGN_REAL_AS(void(Wheel, void*), "glutMouseWheelFuncUcall")(callback ? on_wheel : nullptr, nullptr);
}

int menu_with(Callback callback) {
  inside_glut = true;
  const int id = DCGN_REAL_AS(int(void (*)(int, void*), void*), "glutCreateMenuUcall")(on_menu, nullptr);
  inside_glut = false;
  menus[id] = callback;
  if (current) select_window(current->id);  // a menu is a window of freeglut's
  return id;
}

void start_timer(unsigned ms, Callback callback, int value) {
  timers.push_back({frame_time_ns() + std::int64_t{ms} * 1'000'000, callback, value});
}

void move_to(const Rect& place_on_wall) {
  current->place = place_on_wall;
  find_seen(*current);
  place(*current);
  current->reshape = current->redisplay = true;
  // Where it was is to be seen again.
  if (const auto parent = windows.find(current->parent); parent != windows.end()) parent->second.redisplay = true;
}

// A wall does not change its size because a program asks for it.
bool is_the_wall() { return !current || current->id == windows.begin()->first; }

Rect place_of_parent() {
  const auto parent = windows.find(current->parent);
  return parent == windows.end() ? Rect{} : parent->second.place;
}

}  // namespace

}  // namespace dcgn::wall

using namespace dcgn::wall;

// freeglut calls them too, for its menus: those are its own affair.
#define DCGN_WALL_WINDOW_CALLBACK(name, member)                                                     \
  void glut##name##Func(Function f) {                                                               \
    if (inside_glut) return DCGN_REAL_AS(void(Function), "glut" #name "Func")(f);                   \
    set(&Window::member, f, nullptr, false);                                                        \
  }                                                                                                 \
  void glut##name##FuncUcall(Function f, void* user) {                                              \
    if (inside_glut) return DCGN_REAL_AS(void(Function, void*), "glut" #name "FuncUcall")(f, user); \
    set(&Window::member, f, user, true);                                                            \
  }

// Devices that a wall does not have.
#define DCGN_WALL_NO_CALLBACK(name)  \
  void glut##name##Func(Function) {} \
  void glut##name##FuncUcall(Function, void*) {}

extern "C" {

[[gnu::constructor]] static void begin_back_end() {
  // A shell that starts the program is none itself.
  if (std::getenv("DCGN_WALL_INPUT") && real_function("glutInit")) connect();
}

void glutInit(int* argc, char** argv) {
  connect();
  if (!real_function("glutDisplayFuncUcall")) die("no freeglut of version 3.4 or newer: expected libglut.so.3.12");
  DCGN_REAL_AS(void(int*, char**), "glutInit")(argc, argv);
}

void glutInitWindowSize(int width, int height) {
  init_width = width;
  init_height = height;
}
void glutInitWindowPosition(int x, int y) {
  init_x = x;
  init_y = y;
}

int glutCreateWindow(const char* title) { return make_window(title); }
int glutEnterGameMode() { return make_window("game"); }
void glutLeaveGameMode() {}
void glutGameModeString(const char*) {}

int glutCreateSubWindow(int parent, int x, int y, int width, int height) {
  const auto of = windows.find(parent);
  if (of == windows.end()) return 0;
  const Rect on = of->second.place;
  // freeglut's meaning of what is negative: from the other edge.
  if (x < 0) x = std::max(0, on.width + x);
  if (y < 0) y = std::max(0, on.height + y);
  if (width <= 0) width = std::max(1, on.width - x + width);
  if (height <= 0) height = std::max(1, on.height - y + height);
  inside_glut = true;
  const int id = DCGN_REAL_AS(int(int, int, int, int, int), "glutCreateSubWindow")(parent, 0, 0, width, height);
  inside_glut = false;
  if (id > 0) add_window(id, parent, {on.x + x, on.y + y, width, height});
  return id;
}

void glutDestroyWindow(int id) {
  const auto found = windows.find(id);
  if (found == windows.end()) return;
  const Callback close = found->second.close;
  std::erase_if(windows, [id](const auto& w) { return w.first == id || w.second.parent == id; });
  if (current && windows.find(glut::get_window()) == windows.end()) current = nullptr;
  inside_glut = true;
  DCGN_REAL_AS(void(int), "glutDestroyWindow")(id);
  inside_glut = false;
  pump_windows();                                                 // freeglut does it when it next sees to them
  for (auto& [other, window] : windows) window.redisplay = true;  // what was beneath
  close();
}

void glutSetWindow(int id) { select_window(id); }
int glutGetWindow() { return current ? current->id : 0; }

void glutReshapeWindow(int width, int height) {
  if (is_the_wall()) return;
  move_to({current->place.x, current->place.y, width, height});
}
void glutPositionWindow(int x, int y) {
  if (is_the_wall()) return;
  const Rect on = place_of_parent();
  move_to({on.x + x, on.y + y, current->place.width, current->place.height});
}
void glutFullScreen() {}
void glutLeaveFullScreen() {}
void glutFullScreenToggle() {}
void glutIconifyWindow() {}
void glutWarpPointer(int, int) { warn("glutWarpPointer does nothing on a wall: the pointer is on one screen"); }

void glutPostRedisplay() {
  if (current) current->redisplay = true;
}
void glutPostWindowRedisplay(int id) {
  if (const auto found = windows.find(id); found != windows.end()) found->second.redisplay = true;
}
void glutSwapBuffers() { swap_buffers(); }

void glutMainLoop() {
  while (!leaving && !windows.empty()) run_frame();
  if (glut::get(glut::action_on_window_close) == 0) std::exit(0);
  leaving = false;
}
void glutMainLoopEvent() { run_frame(); }
void glutLeaveMainLoop() { leaving = true; }

DCGN_WALL_WINDOW_CALLBACK(Display, display)
DCGN_WALL_WINDOW_CALLBACK(OverlayDisplay, overlay_display)
DCGN_WALL_WINDOW_CALLBACK(Reshape, reshaped)
DCGN_WALL_WINDOW_CALLBACK(Keyboard, keyboard)
DCGN_WALL_WINDOW_CALLBACK(KeyboardUp, keyboard_up)
DCGN_WALL_WINDOW_CALLBACK(Special, special)
DCGN_WALL_WINDOW_CALLBACK(SpecialUp, special_up)
DCGN_WALL_WINDOW_CALLBACK(Mouse, mouse)
DCGN_WALL_WINDOW_CALLBACK(Motion, motion)
DCGN_WALL_WINDOW_CALLBACK(PassiveMotion, passive)
DCGN_WALL_WINDOW_CALLBACK(Entry, entry)
DCGN_WALL_WINDOW_CALLBACK(Visibility, visibility)
DCGN_WALL_WINDOW_CALLBACK(WindowStatus, window_status)
DCGN_WALL_WINDOW_CALLBACK(Position, position)
DCGN_WALL_WINDOW_CALLBACK(Close, close)
DCGN_WALL_WINDOW_CALLBACK(WMClose, wm_close)
DCGN_WALL_NO_CALLBACK(SpaceballMotion)
DCGN_WALL_NO_CALLBACK(SpaceballRotate)
DCGN_WALL_NO_CALLBACK(SpaceballButton)
DCGN_WALL_NO_CALLBACK(ButtonBox)
DCGN_WALL_NO_CALLBACK(Dials)
DCGN_WALL_NO_CALLBACK(TabletMotion)
DCGN_WALL_NO_CALLBACK(TabletButton)
DCGN_WALL_NO_CALLBACK(MultiEntry)
DCGN_WALL_NO_CALLBACK(MultiButton)
DCGN_WALL_NO_CALLBACK(MultiMotion)
DCGN_WALL_NO_CALLBACK(MultiPassive)
DCGN_WALL_NO_CALLBACK(MenuStatus)
void glutMenuStateFunc(Function) {}
void glutJoystickFunc(Function, int) {}
void glutJoystickFuncUcall(Function, int, void*) {}
void glutForceJoystickFunc() {}

// Without a callback freeglut makes buttons of the wheel.
void glutMouseWheelFunc(Function f) { listen_to_wheel({f, nullptr, false}); }
void glutMouseWheelFuncUcall(Function f, void* user) { listen_to_wheel({f, user, true}); }

void glutIdleFunc(Function f) { idle = {f, nullptr, false}; }
void glutIdleFuncUcall(Function f, void* user) { idle = {f, user, true}; }
void glutTimerFunc(unsigned ms, Function f, int value) { start_timer(ms, {f, nullptr, false}, value); }
void glutTimerFuncUcall(unsigned ms, Function f, int value, void* user) { start_timer(ms, {f, user, true}, value); }

// freeglut shows menus where they are called up; what is chosen goes the way of all events.
int glutCreateMenu(Function f) { return menu_with({f, nullptr, false}); }
int glutCreateMenuUcall(Function f, void* user) { return menu_with({f, user, true}); }

int glutGetModifiers() { return modifiers; }

int glutGet(unsigned what) {
  switch (what) {
    case glut::elapsed_time: return static_cast<int>(ask_time_ns() / 1'000'000);
    case glut::screen_width: return setup.wall.width;
    case glut::screen_height: return setup.wall.height;
    case glut::init_window_x: return init_x;
    case glut::init_window_y: return init_y;
    case glut::init_window_width: return init_width;
    case glut::init_window_height: return init_height;
    case glut::border_width:
    case glut::header_height: return 0;
    default: break;  // freeglut's numbers are no enumeration of ours
  }
  if (current) {
    if (what == glut::window_width) return current->place.width;
    if (what == glut::window_height) return current->place.height;
    if (what == glut::window_x) return current->place.x - place_of_parent().x;
    if (what == glut::window_y) return current->place.y - place_of_parent().y;
  }
  return glut::get(what);
}

}  // extern "C"
