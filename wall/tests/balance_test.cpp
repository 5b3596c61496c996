// Walls whose screens draw parts of each other: the same pictures, sooner.
#include "wall/src/balance.hpp"
#include "wall/src/script.hpp"
#include "wall/tests/show.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <string>
#include <utility>

namespace dcgn::test {

namespace {

using wall::Balance;
using wall::Cut;
using wall::DrawTime;
using wall::Rect;

constexpr Rect whole{0, 0, 400, 300};
const std::vector<Rect> quarters = {{0, 0, 200, 150}, {200, 0, 200, 150}, {0, 150, 200, 150}, {200, 150, 200, 150}};

void expect_to_be_the_wall(const Cut& cut) {
  std::int64_t pixels = 0;
  for (std::size_t i = 0; i < cut.size(); ++i) {
    EXPECT_FALSE(cut[i].empty());
    EXPECT_EQ(wall::intersection(cut[i], whole), cut[i]);
    pixels += wall::area_of(cut[i]);
    for (std::size_t j = 0; j < i; ++j) EXPECT_TRUE(wall::intersection(cut[i], cut[j]).empty());
  }
  EXPECT_EQ(pixels, wall::area_of(whole));
}

// A wall whose pixels cost nothing but those of one rectangle.
struct Machine {
  Rect dear{20, 30, 60, 50};
  double ms_a_pixel = 0.01, ms_a_moved_pixel = 1e-6;

  std::vector<DrawTime> times(const Cut& cut) const {
    std::vector<DrawTime> all(cut.size());
    for (std::size_t i = 0; i < cut.size(); ++i)
      all[i].drawn_ms = 1 + ms_a_pixel * static_cast<double>(wall::area_of(wall::intersection(cut[i], dear)));
    for (const wall::Piece& piece : wall::pieces_of(cut, quarters, whole))
      for (const std::int32_t end : {piece.from, piece.to})
        all[static_cast<std::size_t>(end)].exchanged_ms +=
            ms_a_moved_pixel * static_cast<double>(wall::area_of(piece.place));
    return all;
  }
  double frame_ms(const Cut& cut) const {
    double most = 0;
    for (const DrawTime& time : times(cut)) most = std::max(most, time.drawn_ms + time.exchanged_ms);
    return most;
  }
};

TEST(WallBalance, TheFirstCutIsThatOfTheScreens) {
  EXPECT_EQ(Balance(whole, quarters).cut(), quarters);
  std::vector<Rect> nine(9);
  for (int i = 0; i < 9; ++i) nine[static_cast<std::size_t>(i)] = {133 * (i % 3), 100 * (i / 3), 133, 100};
  EXPECT_EQ(Balance({0, 0, 399, 300}, nine).cut(), nine);
  // Between bezels, and where both show the same, in the middle.
  const std::vector<Rect> apart = {{0, 0, 180, 300}, {220, 0, 180, 300}};
  EXPECT_EQ(Balance(whole, apart).cut(), (Cut{{0, 0, 200, 300}, {200, 0, 200, 300}}));
  const std::vector<Rect> overlapping = {{0, 0, 220, 300}, {180, 0, 220, 300}};
  EXPECT_EQ(Balance(whole, overlapping).cut(), (Cut{{0, 0, 200, 300}, {200, 0, 200, 300}}));
}

TEST(WallBalance, WorkInOneCornerComesToBeEverybodys) {
  const Machine machine;
  Balance balance(whole, quarters);
  const double before = machine.frame_ms(balance.cut());
  for (int frame = 0; frame < 120; ++frame) {
    balance.note(machine.times(balance.cut()));
    expect_to_be_the_wall(balance.cut());
  }
  EXPECT_LT(machine.frame_ms(balance.cut()), before / 2.5);
}

TEST(WallBalance, WorkThatMovesIsFollowed) {
  Machine machine;
  Balance balance(whole, quarters);
  double with = 0, without = 0;
  for (int frame = 0; frame < 300; ++frame) {
    machine.dear.x = 20 + frame;
    balance.note(machine.times(balance.cut()));
    with += machine.frame_ms(balance.cut());
    without += machine.frame_ms(quarters);
  }
  EXPECT_LT(with, without / 1.5);
}

TEST(WallBalance, WallsThatAreEvenStayAsTheyAre) {
  Machine machine;
  machine.dear = whole;
  Balance balance(whole, quarters);
  for (int frame = 0; frame < 100; ++frame) EXPECT_FALSE(balance.note(machine.times(balance.cut())));
}

TEST(WallBalance, WherePixelsAreDearToMoveTheyStay) {
  Machine machine;
  machine.ms_a_moved_pixel = 0.01;
  Balance balance(whole, quarters);
  for (int frame = 0; frame < 200; ++frame) balance.note(machine.times(balance.cut()));
  EXPECT_LE(machine.frame_ms(balance.cut()), machine.frame_ms(quarters));
}

TEST(WallBalance, WhatMovingTakesIsLatencyAndPixels) {
  wall::MoveCost cost;
  EXPECT_EQ(cost.ms(0), 0);
  for (const double pixels : {1e3, 5e4, 2e5, 7e5}) cost.note(pixels, 0.25 + 3e-6 * pixels);
  EXPECT_NEAR(cost.ms(1e6), 3.25, 1e-6);
  EXPECT_EQ(cost.ms(0), 0);
}

struct Case {
  const char* program;
  const char* script = "";
  int cuts = 3;
};

// What users do in the first frames, and then that all is drawn again and again, by cut after cut.
wall::Script script_of(const Case& c, int frames) {
  std::string text = c.script;
  for (int frame = 3; frame < frames; ++frame) text += std::to_string(frame) + " resize 240 180\n";
  return wall::parse_script(text, "script");
}

std::ostream& operator<<(std::ostream& out, const Case& c) { return out << c.program; }

wall::Options options_for(std::vector<std::string> command, int columns, int rows, int frames) {
  command[0] = wall_program(command[0]);
  wall::Options o;
  o.layout = equal_screens(columns, rows);
  o.command = std::move(command);
  o.exact = true;
  o.script.emplace();
  o.frames = frames;
  o.check_every = 1;
  return o;
}

class BalancedPrograms : public testing::TestWithParam<Case> {};

// Every pixel, by whatever back end it is drawn.
TEST_P(BalancedPrograms, ShowWhatTheyShowInOneWindow) {
  const Case& c = GetParam();
  constexpr int frames = 12;
  wall::Options one = options_for({c.program}, 1, 1, frames);
  one.script = script_of(c, frames);
  const Shown wanted = show(one);
  ASSERT_TRUE(has_colours(wanted.picture));
  for (const auto& [columns, rows] : {std::pair{2, 1}, {2, 2}, {3, 3}}) {
    SCOPED_TRACE(testing::Message() << columns << " x " << rows);
    wall::Options balanced = one;
    balanced.layout = equal_screens(columns, rows);
    balanced.balance = true;
    balanced.random_cuts = 1;
    const Shown wall = show(balanced);
    EXPECT_EQ(difference(wall.picture, wanted.picture).pixels, 0);
    EXPECT_GE(wall.report.cuts, c.cuts);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Wall, BalancedPrograms,
    testing::Values(Case{"fixed"}, Case{"shaders"}, Case{"lists", "", 1}, Case{"bitmaps"},
                    Case{"picking", "1 mouse left down 75 100\n1 mouse left up 75 100\n"}, Case{"read_back"},
                    Case{"sub_windows", "1 mouse left down 70 60\n2 mouse left down 100 75\n"}, Case{"two_windows"},
                    Case{"menus", "1 menu 1 2\n2 menu 2 17\n"}, Case{"timers"}, Case{"idle"}, Case{"framebuffer"},
                    Case{"scissors"}, Case{"uneven"},
                    Case{"events", "1 mouse left down 30 40\n2 resize 200 133\n2 passive 150 80\n", 0} /* one buffer */,
                    Case{"history", "", 1}),
    [](const testing::TestParamInfo<Case>& i) { return std::string(i.param.program); });

// The load goes from screen to screen; where it is, others draw.
TEST(WallBalance, PicturesOfAnUnevenProgramAreThoseOfOneWindow) {
  for (const int frames : {30, 60}) {
    const Shown one = show(options_for({"uneven"}, 1, 1, frames));
    ASSERT_TRUE(has_colours(one.picture));
    for (const auto& [columns, rows] : {std::pair{2, 1}, {2, 2}}) {
      SCOPED_TRACE(testing::Message() << columns << " x " << rows << ", " << frames << " frames");
      wall::Options o = options_for({"uneven"}, columns, rows, frames);
      o.balance = true;
      const Shown balanced = show(o);
      EXPECT_EQ(difference(one.picture, balanced.picture).pixels, 0);
      EXPECT_GT(balanced.report.cuts, 0);
      EXPECT_LE(balanced.report.most_skew, 1);
    }
  }
}

// Pixels go by messages there, packed or not.
TEST(WallBalance, ScreensOfOtherHostsDrawPartsOfEachOtherToo) {
  const Shown one = show(options_for({"uneven"}, 1, 1, 12));
  std::vector<std::int64_t> bytes;
  using pixels::Compression;
  std::vector<Compression> ways = {Compression::none, Compression::automatic};
#if defined(DCGN_HAS_ZSTD)
  ways.push_back(Compression::lossless);
#endif
  for (const Compression compression : ways) {
    SCOPED_TRACE(static_cast<int>(compression));
    wall::Options o = options_for({"uneven"}, 2, 1, 12);
    o.layout = wall::parse_layout(
        "[wall]\nremote = [\"env\", \"WALL_HOST={host}\", \"sh\", \"-c\"]\n"
        "[[screen]]\nx = 0\ny = 0\nwidth = 120\nheight = 180\nhost = \"one\"\n"
        "[[screen]]\nx = 120\ny = 0\nwidth = 120\nheight = 180\n",
        "wall.toml");
    o.balance = true;
    o.random_cuts = 3;
    o.compression = compression;
    const Shown wall = show(o);
    EXPECT_EQ(difference(one.picture, wall.picture).pixels, 0);
    const wall::ScreenReport &a = wall.report.screens[0], &b = wall.report.screens[1];
    EXPECT_GT(a.given_pixels + b.given_pixels, 0);
    bytes.push_back(a.given_bytes + b.given_bytes);
    EXPECT_LE(bytes.back(), 4 * (a.given_pixels + b.given_pixels));
    if (compression == Compression::lossless) {
      EXPECT_LT(bytes.back(), bytes[0] / 2);
    }
  }
}

// Bezels, overlaps, and screens that are turned.
TEST(WallBalance, WallsOfAllLayoutsShowWhatTheyShowWithoutIt) {
  for (const char* const layout : {"[grid]\ncolumns = 2\nwidth = 110\nheight = 180\nbezel = [20, 0]",
                                   "[grid]\ncolumns = 2\nwidth = 150\nheight = 180\noverlap = [60, 0]",
                                   "[[screen]]\nx = 0\ny = 0\nwidth = 100\nheight = 180\nrotate = 90\n"
                                   "[[screen]]\nx = 100\ny = 0\nwidth = 140\nheight = 80\nrotate = 180\n"
                                   "[[screen]]\nx = 100\ny = 80\nwidth = 140\nheight = 100\nrotate = 270\n"}) {
    SCOPED_TRACE(layout);
    wall::Options o = options_for({"uneven"}, 1, 1, 12);
    o.layout = wall::parse_layout(layout, "wall.toml");
    const Shown wanted = show(o);
    o.balance = true;
    o.random_cuts = 2;
    EXPECT_EQ(difference(wanted.picture, show(o).picture).pixels, 0);
  }
}

// As with GPUs, whose work takes none of this machine's cores.
TEST(WallBalance, AWallWithOneSlowScreenGoesHalfAsFastAgain) {
  wall::Options o = options_for({"uneven", "stall", "still"}, 2, 2, 40);
  const wall::Report without = show(o).report;
  wall::Options slowest = o;
  slowest.layout.screens.resize(1);
  EXPECT_LT(without.frame_ms, show(slowest).report.frame_ms / 0.9) << "of the slowest screen alone";
  o.balance = true;
  const wall::Report balanced = show(o).report;
  EXPECT_LT(balanced.frame_ms, without.frame_ms / 1.5);
  std::int64_t given = 0;
  for (const wall::ScreenReport& screen : balanced.screens) given += screen.given_pixels;
  EXPECT_GT(given, 0);
}

}  // namespace

}  // namespace dcgn::test
