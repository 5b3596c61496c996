// Runs programs on walls that nobody sees, and compares what they show.
#pragma once

#include "wall/src/front_end.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace dcgn::test {

inline constexpr int wall_width = 240, wall_height = 180;  // the programs' windows, and all walls

// Of the tests' own.
std::string wall_program(const std::string& name);

// A wall of equal screens of that size in all: 1, 1 is one big window.
wall::Layout equal_screens(int columns, int rows);

struct Shown {
  wall::WallPicture picture;
  wall::Report report;
  std::vector<std::string> warnings;
};

// Under an Xvfb that the process's tests have in common. Options are as they are to be but for the display.
Shown show(wall::Options options);

// The same program in one window without a wall, as an X server shows it once it has stayed the same for a while.
wall::WallPicture show_plain(const std::vector<std::string>& command);

// The exit code of a command with these variables, and the display of the tests; -1: it did not end.
int run_on_test_display(const std::vector<std::string>& command,
                        const std::vector<std::pair<std::string, std::string>>& variables);

// Runs the program without a script on screens beside each other; has the left button pressed at that place of one once
// there is something to see, and Esc, which ends the program, once the wall shows `wanted`, or half a minute later.
struct Press {
  std::size_t screen;
  int x, y;
};
Shown show_live(wall::Options options, const Press& press, const wall::WallPicture& wanted);

struct Difference {
  int pixels = 0;  // that are not alike
  int most = 0;    // of 255, in a channel
  int far = 0;     // pixels that are more than one step of 255 apart
};
Difference difference(const wall::WallPicture& a, const wall::WallPicture& b);

// That the wall shows what one window does, every pixel. `shaded`: but for one of a hundred, which may be one step of
// 255 away, and four of edges, where depths that tie may fall to the other side.
void expect_like(const wall::WallPicture& one, const wall::WallPicture& wall, bool shaded);

// Whether there is something to see.
bool has_colours(const wall::WallPicture& picture);

}  // namespace dcgn::test
