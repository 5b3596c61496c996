// What the program has told GLUT to call, besides each window's callbacks.
#pragma once

#include "state.hpp"

#include <cstdint>
#include <map>
#include <vector>

namespace dcgn::wall {

struct Timer {
  std::int64_t due_ns;
  Callback callback;
  int value;
};

extern Callback idle;
extern std::vector<Timer> timers;
extern std::map<int, Callback> menus;
extern int modifiers;  // held while the event that is being delivered came about
extern bool leaving;   // the main loop

}  // namespace dcgn::wall
