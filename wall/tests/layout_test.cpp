// Layouts: what they say, and what walls with bezels, overlaps, turned screens and other hosts show.
#include "wall/src/layout.hpp"
#include "expect.hpp"
#include "wall/src/script.hpp"
#include "wall/tests/show.hpp"

#include <gtest/gtest.h>

namespace dcgn::test {

namespace {

using wall::Rect;

wall::Options lists_on(const std::string& layout) {
  wall::Options o;
  o.layout = wall::parse_layout(layout, "wall.toml");
  o.command = {wall_program("lists")};
  o.script.emplace();
  o.frames = 3;
  return o;
}

const wall::WallPicture& in_one_window() {
  static const Shown one = show(lists_on("[grid]\nwidth = 240\nheight = 180"));
  return one.picture;
}

TEST(WallLayout, AGridHasBezelsAndOverlaps) {
  const wall::Layout bezels =
      wall::parse_layout("[grid]\ncolumns = 2\nrows = 2\nwidth = 100\nheight = 80\nbezel = [12, 5]", "f");
  EXPECT_EQ(bezels.width, 212);
  EXPECT_EQ(bezels.height, 165);
  EXPECT_EQ(bezels.screens[3].part, (Rect{112, 85, 100, 80}));
  EXPECT_EQ(bezels.screens[3].name, "screen 1,1");
  const wall::Layout overlap =
      wall::parse_layout("[grid]\ncolumns = 3\nwidth = 100\nheight = 80\noverlap = [10, 0]", "f");
  EXPECT_EQ(overlap.width, 280);
  EXPECT_EQ(overlap.screens[2].part, (Rect{180, 0, 100, 80}));
}

TEST(WallLayout, MistakesAreNamedWithTheirLine) {
  const auto said = [](const char* text) {
    return std::string(error_of([&] { wall::parse_layout(text, "wall.toml"); }).what());
  };
  EXPECT_TRUE(contains(said("[grid]\nwidth = 10"), "wall.toml:1: [grid] has no height"));
  EXPECT_TRUE(
      contains(said("[grid]\nwidth = 10\nheight = 0"), "wall.toml:3: height = 0: expected a whole number from 1"));
  EXPECT_TRUE(contains(said("[grid]\nwidth = 10\nheight = 5\nbezels = [1, 2]"), "wall.toml:4: bezels in [grid]"));
  EXPECT_TRUE(contains(said("[screens]"), "wall.toml:1: screens: expected [wall], [grid] or [[screen]]"));
  EXPECT_TRUE(contains(said(""), "no screens"));
  EXPECT_TRUE(
      contains(said("[[screen]]\nx = 0\ny = 0\nwidth = 9\nheight = 9\nrotate = 45"), "rotate = 45: expected 0, 90"));
  EXPECT_TRUE(contains(said("[[screen]]\nx = -1\ny = 0\nwidth = 9\nheight = 9"), "is not on the wall"));
  const char* const grid = "[grid]\nwidth = 9\nheight = 9\n";
  EXPECT_TRUE(
      contains(said((std::string(grid) + "[screen]\nx = 0\n").c_str()), "wall.toml:4: screen: expected [[screen]]"));
  EXPECT_TRUE(contains(said("screen = [1]"), "wall.toml:1: screen: expected [[screen]]"));
  EXPECT_TRUE(contains(said("grid = 3"), "wall.toml:1: grid: expected [grid]"));
  EXPECT_TRUE(contains(said((std::string("wall = 3\n") + grid).c_str()), "wall.toml:1: wall: expected [wall]"));
  EXPECT_TRUE(contains(error_of([] { wall::load_layout("1x1:4294967306x10"); }).what(), "expected a file of TOML"));
  EXPECT_TRUE(contains(error_of([] { wall::load_layout("2x2"); }).what(), "expected a file of TOML, or COLUMNSxROWS"));
}

TEST(WallLayout, ScriptsAreReadAndTheirMistakesNamed) {
  const wall::Script script = wall::parse_script("# all\n3 key # 1 2 shift alt\n\n4 mouse right up 7 8\n", "s");
  ASSERT_EQ(script.size(), 2u);
  EXPECT_EQ(script[0].second.code, '#');
  EXPECT_EQ(script[0].second.modifiers, 5);
  EXPECT_EQ(script[1].first, 4);
  EXPECT_EQ(script[1].second.code, 2);
  EXPECT_EQ(script[1].second.state, 1);
  const auto said = [](const char* text) {
    return std::string(error_of([&] { wall::parse_script(text, "s"); }).what());
  };
  EXPECT_TRUE(contains(said("2 key a 1 1\n1 key a 1 1"), "s:2: frame 1: expected no frame before"));
  EXPECT_TRUE(contains(said("1 press a"), "s:1: 'press': expected one of key"));
  EXPECT_TRUE(contains(said("1 mouse left down 3"), "the end of the line: expected y"));
  EXPECT_TRUE(contains(said("1 motion 3 4 hyper"), "'hyper': expected one of shift, ctrl, alt"));
  EXPECT_TRUE(contains(said("-1 key a 1 1"), "s:1: frame -1: expected 0 or more"));
  EXPECT_TRUE(contains(said("1 motion 4294967299 4"), "s:1: 4294967299: expected x, in pixels"));
  EXPECT_TRUE(contains(said("1 wheel 0 2 3 4"), "s:1: 2: expected 1 or -1"));
  EXPECT_TRUE(contains(said("1 wheel 0 0 3 4"), "s:1: 0: expected 1 or -1"));
  EXPECT_TRUE(contains(said("1 key 300 1 1"), "s:1: '300': expected a character, or its number, 10 to 255"));
}

TEST(WallLayout, ChanceIsNoMistakeOnAWallOfOnePixel) {
  EXPECT_FALSE(wall::random_script(1, 2000, 1, 1).empty());  // of which some resize it
}

TEST(WallLayout, WhatIsBehindBezelsIsNotShown) {
  const Shown wall = show(lists_on("[grid]\ncolumns = 2\nwidth = 110\nheight = 180\nbezel = [20, 0]"));
  for (int y = 0; y < wall_height; ++y)
    for (int x = 0; x < wall_width; ++x) {
      const std::size_t at = (static_cast<std::size_t>(y) * wall_width + static_cast<std::size_t>(x)) * 3;
      const bool hidden = x >= 110 && x < 130;
      ASSERT_EQ(wall.picture.rgb[at], hidden ? 0 : in_one_window().rgb[at]) << x << ", " << y;
    }
}

TEST(WallLayout, OverlappingScreensShowTheSame) {
  const Shown wall = show(lists_on("[grid]\ncolumns = 2\nwidth = 150\nheight = 180\noverlap = [60, 0]"));
  EXPECT_EQ(difference(in_one_window(), wall.picture).pixels, 0);
}

TEST(WallLayout, TurnedScreensAreTurnedBack) {
  const char* const text =
      "[[screen]]\nx = 0\ny = 0\nwidth = 100\nheight = 180\nrotate = 90\n"
      "[[screen]]\nx = 100\ny = 0\nwidth = 140\nheight = 80\nrotate = 180\n"
      "[[screen]]\nx = 100\ny = 80\nwidth = 140\nheight = 100\nrotate = 270\n";
  wall::Options o = lists_on(text);
  EXPECT_EQ(difference(in_one_window(), show(o).picture).pixels, 0);
  o.exact = true;
  EXPECT_EQ(difference(in_one_window(), show(o).picture).pixels, 0);
}

// What runs a command elsewhere is a shell here.
TEST(WallLayout, ScreensOfOtherHostsAreStartedByTheCommandForThem) {
  const char* const text =
      "[wall]\nremote = [\"env\", \"WALL_HOST={host}\", \"sh\", \"-c\"]\n"
      "[[screen]]\nx = 0\ny = 0\nwidth = 120\nheight = 180\nhost = \"one\"\n"
      "[[screen]]\nx = 120\ny = 0\nwidth = 120\nheight = 180\n";
  EXPECT_EQ(difference(in_one_window(), show(lists_on(text)).picture).pixels, 0);
}

}  // namespace

}  // namespace dcgn::test
