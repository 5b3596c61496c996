// Input at random for a long while.
#include "wall/tests/show.hpp"

#include "wall/src/script.hpp"

#include <gtest/gtest.h>

namespace dcgn::test {

namespace {

TEST(WallLong, TenThousandFramesOfRandomInputAreAlikeOnAllScreens) {
  constexpr std::uint64_t seed = 1;
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  for (const char* program : {"events", "picking", "sub_windows"}) {
    wall::Options o;
    o.layout = equal_screens(2, 2);
    o.command = {wall_program(program)};
    o.frames = 10'000;
    o.check_every = 1;
    o.script = wall::random_script(seed, o.frames, wall_width, wall_height);
    const Shown wall = show(o);
    EXPECT_EQ(wall.report.checked, 10'000) << program;
    EXPECT_LE(wall.report.most_skew, 1) << program;
  }
}

// Cut anew at every picture, the screens still show what one window does.
TEST(WallLong, TenThousandFramesOfRandomInputAndCutsAreThoseOfOneWindow) {
  constexpr std::uint64_t seed = 2;
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  for (const char* program : {"picking", "sub_windows", "idle"}) {
    wall::Options o;
    o.layout = equal_screens(1, 1);
    o.command = {wall_program(program)};
    o.exact = true;
    o.frames = 10'000;
    o.check_every = 1;
    o.script = wall::random_script(seed, o.frames, wall_width, wall_height);
    const Shown one = show(o);
    o.layout = equal_screens(2, 2);
    o.balance = true;
    o.random_cuts = seed;
    const Shown wall = show(o);
    EXPECT_EQ(wall.report.checked, 10'000) << program;
    EXPECT_GT(wall.report.cuts, 100) << program;
    EXPECT_LE(wall.report.most_skew, 1) << program;
    EXPECT_EQ(difference(one.picture, wall.picture).pixels, 0) << program;
  }
}

}  // namespace

}  // namespace dcgn::test
