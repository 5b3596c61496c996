// Programs on walls of 2 x 1, 2 x 2 and 3 x 3 screens show what they show in one window.
#include "wall/tests/show.hpp"

#include "wall/src/script.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <ostream>
#include <sstream>

namespace dcgn::test {

namespace {

struct ProgramCase {
  const char* program;
  // Whether there are shades: where the viewport is shifted, their sums may round to the next of 255 steps. Points,
  // bitmaps and flat surfaces are to be those of one window.
  bool shaded = false;
  const char* script = "";
  int frames = 4;
};

void PrintTo(const ProgramCase& c, std::ostream* out) { *out << c.program; }

wall::Options options_for(const ProgramCase& c, int columns, int rows, bool exact) {
  wall::Options o;
  o.layout = equal_screens(columns, rows);
  o.command = {wall_program(c.program)};
  o.exact = exact;
  o.script = wall::parse_script(c.script, "script");
  o.frames = c.frames;
  o.check_every = 1;
  return o;
}

class Programs : public testing::TestWithParam<ProgramCase> {};

TEST_P(Programs, ShowOnAWallWhatTheyShowInOneWindow) {
  const ProgramCase& c = GetParam();
  const Shown one = show(options_for(c, 1, 1, false));
  ASSERT_TRUE(has_colours(one.picture));
  struct Wall {
    int columns, rows;
    bool exact;
  };
  for (const Wall& w : {Wall{2, 1, false}, Wall{2, 2, false}, Wall{2, 2, true}, Wall{3, 3, false}}) {
    SCOPED_TRACE(testing::Message() << w.columns << " x " << w.rows << (w.exact ? ", exact" : ""));
    const Shown wall = show(options_for(c, w.columns, w.rows, w.exact));
    expect_like(one.picture, wall.picture, c.shaded && !w.exact);
    EXPECT_EQ(wall.report.frames, c.frames);
    EXPECT_GT(wall.report.checked, 0);
    EXPECT_LE(wall.report.most_skew, 1);
    EXPECT_TRUE(wall.warnings.empty()) << wall.warnings[0];
  }
}

INSTANTIATE_TEST_SUITE_P(
    Wall, Programs,
    testing::Values(ProgramCase{"fixed", true}, ProgramCase{"shaders"}, ProgramCase{"lists"}, ProgramCase{"bitmaps"},
                    ProgramCase{"picking", false, "1 mouse left down 75 100\n1 mouse left up 75 100\n"},
                    ProgramCase{"read_back", true} /* depths */,
                    ProgramCase{"sub_windows", false, "1 mouse left down 70 60\n2 mouse left down 100 75\n"},
                    ProgramCase{"two_windows"}, ProgramCase{"menus", false, "1 menu 1 2\n2 menu 2 17\n"},
                    ProgramCase{"timers", false, "", 8}, ProgramCase{"idle", false, "", 6}, ProgramCase{"framebuffer"},
                    ProgramCase{"scissors"},
                    ProgramCase{
                        "events", false,
                        "0 key a 10 20 shift\n0 key-up a 10 20\n1 special f5 3 4 ctrl alt\n1 mouse right down 118 88\n"
                        "1 motion 121 91\n2 wheel 0 1 5 5\n2 passive 130 100\n"}),
    [](const testing::TestParamInfo<ProgramCase>& i) { return std::string(i.param.program); });

// Which nobody has built for a wall.
TEST(Wall, OneWindowIsThatOfFreeglutAlone) {
  for (const char* program : {"lists", "bitmaps", "read_back"}) {
    SCOPED_TRACE(program);
    const wall::WallPicture plain = show_plain({wall_program(program)});
    ASSERT_TRUE(has_colours(plain));
    EXPECT_EQ(difference(plain, show(options_for(ProgramCase{program}, 1, 1, false)).picture).pixels, 0);
  }
}

// As distributions have built them for years, here by another name in the program's file.
TEST(Wall, ProgramsThatAskForTheOlderNameOfFreeglutsLibraryRun) {
  std::ostringstream content;
  content << std::ifstream(wall_program("lists"), std::ios::binary).rdbuf();
  std::string program = content.str();
  const std::string name = "libglut.so.3.12";
  const std::size_t at = program.find(name + '\0');
  ASSERT_NE(at, std::string::npos);
  program.replace(at, name.size(), "libglut.so.3" + std::string(3, '\0'));
  std::ofstream(wall_program("old_name"), std::ios::binary) << program;
  std::filesystem::permissions(wall_program("old_name"), std::filesystem::perms::owner_all);
  const Shown one = show(options_for(ProgramCase{"lists"}, 1, 1, false));
  EXPECT_EQ(difference(one.picture, show(options_for(ProgramCase{"old_name"}, 2, 1, false)).picture).pixels, 0);
}

TEST(Wall, AResizedWindowIsThatOfASmallerWall) {
  const ProgramCase c{"events", false, "1 resize 200 133\n2 passive 150 80\n"};
  const Shown one = show(options_for(c, 1, 1, false));
  EXPECT_EQ(difference(one.picture, show(options_for(c, 2, 2, false)).picture).pixels, 0);
  EXPECT_EQ(difference(one.picture, show(options_for(c, 2, 2, true)).picture).pixels, 0);
}

TEST(Wall, AWindowThatIsDestroyedIsGoneEverywhere) {
  const ProgramCase c{"two_windows", false, "2 key d 5 5\n", 6};
  const Shown one = show(options_for(c, 1, 1, false));
  EXPECT_EQ(difference(one.picture, show(options_for(c, 2, 2, false)).picture).pixels, 0);
  EXPECT_EQ(difference(one.picture, show(options_for(c, 2, 1, true)).picture).pixels, 0);
  EXPECT_GT(difference(one.picture, show(options_for(ProgramCase{"two_windows"}, 1, 1, false)).picture).pixels, 1000);
}

TEST(Wall, RandomInputReachesAllScreensAlike) {
  constexpr std::uint64_t seed = 20090831;
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  wall::Options o = options_for(ProgramCase{"events"}, 2, 1, false);
  o.frames = 300;
  o.script = wall::random_script(seed, o.frames, wall_width, wall_height);
  const Shown wall = show(o);
  EXPECT_EQ(wall.report.checked, 300);
  EXPECT_GT(wall.report.events, 200);
  o.layout = equal_screens(1, 1);
  EXPECT_EQ(difference(wall.picture, show(o).picture).pixels, 0);
}

}  // namespace

}  // namespace dcgn::test
