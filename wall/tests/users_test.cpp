// What users do at a screen.
#include "wall/tests/show.hpp"

#include "wall/src/script.hpp"

#include <gtest/gtest.h>

namespace dcgn::test {

namespace {

TEST(WallUsers, WhatIsDoneAtOneScreenReachesAll) {
  wall::Options o;
  o.layout = equal_screens(2, 1);
  o.command = {wall_program("events")};
  o.check_every = 1;
  wall::Options replay = o;
  replay.script = wall::parse_script("2 mouse left down 140 50\n", "script");
  replay.frames = 6;
  const wall::WallPicture wanted = show(replay).picture;
  const Shown live = show_live(o, {.screen = 1, .x = 20, .y = 50}, wanted);
  EXPECT_EQ(difference(live.picture, wanted).pixels, 0);
  EXPECT_EQ(live.report.exit_code, 0);
}

}  // namespace

}  // namespace dcgn::test
