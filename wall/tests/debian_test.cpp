// Programs of Debian's, which nobody has built for a wall: those that are installed.
#include "wall/src/script.hpp"
#include "wall/tests/show.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace dcgn::test {

namespace {

const std::filesystem::path& folder() {
  static const std::filesystem::path made = [] {
    std::filesystem::path path = std::filesystem::path(DCGN_WALL_PROGRAMS) / "pictures";
    std::filesystem::create_directories(path);
    return path;
  }();
  return made;
}

void put(std::ostream& file, unsigned value, int bytes) {
  for (int i = 0; i < bytes; ++i) file.put(static_cast<char>(value >> 8 * i));
}

// RGB of the wall's size, uncompressed.
std::string tiff() {
  std::string name = folder() / "picture.tif";
  std::ofstream file(name, std::ios::binary);
  constexpr unsigned data = 8 + 2 + 9 * 12 + 4 + 6, short_type = 3, long_type = 4;
  file << "II*" << '\0';
  put(file, 8, 4);
  put(file, 9, 2);
  const auto entry = [&file](unsigned tag, unsigned type, unsigned count, unsigned value) {
    put(file, tag, 2);
    put(file, type, 2);
    put(file, count, 4);
    put(file, value, 4);
  };
  entry(256, long_type, 1, wall_width);
  entry(257, long_type, 1, wall_height);
  entry(258, short_type, 3, data - 6);  // bits, of each channel
  entry(259, short_type, 1, 1);
  entry(262, short_type, 1, 2);
  entry(273, long_type, 1, data);
  entry(277, short_type, 1, 3);
  entry(278, long_type, 1, wall_height);
  entry(279, long_type, 1, wall_width * wall_height * 3);
  put(file, 0, 4);
  for (int i = 0; i < 3; ++i) put(file, 8, 2);
  for (int y = 0; y < wall_height; ++y)
    for (int x = 0; x < wall_width; ++x)
      for (const int c : {x, y, x * y / 100}) file.put(static_cast<char>(c));
  return name;
}

// Nothing where there is no cwebp.
std::string webp() {
  const std::string ppm = folder() / "picture.ppm", name = folder() / "picture.webp";
  std::ofstream file(ppm, std::ios::binary);
  file << "P6\n" << wall_width << " " << wall_height << "\n255\n";
  for (int y = 0; y < wall_height; ++y)
    for (int x = 0; x < wall_width; ++x)
      for (const int c : {x, x ^ y, y}) file.put(static_cast<char>(c));
  file.close();
  return std::system(("cwebp -quiet -lossless " + ppm + " -o " + name + " 2>/dev/null").c_str()) == 0 ? name : "";
}

void expect_same(const std::vector<std::string>& command, bool shaded) {
  wall::Options o;
  o.command = command;
  o.script = wall::parse_script("2 resize 240 180\n3 resize 240 180\n4 resize 240 180\n", "script");  // drawn anew
  o.frames = 6;
  o.check_every = 1;
  o.layout = equal_screens(1, 1);
  const Shown one = show(o);
  ASSERT_TRUE(has_colours(one.picture));
  o.layout = equal_screens(2, 1);
  expect_like(one.picture, show(o).picture, shaded);
  o.layout = equal_screens(3, 3);
  o.exact = true;
  expect_like(one.picture, show(o).picture, false);
  o.balance = true;
  o.random_cuts = 4;
  expect_like(one.picture, show(o).picture, false);
}

#define DCGN_SKIP_WITHOUT(program, package) \
  if (!std::filesystem::exists("/usr/bin/" program)) GTEST_SKIP() << program ", of " package ", is not here"

TEST(WallDebian, Vwebp) {
  DCGN_SKIP_WITHOUT("vwebp", "webp");
  const std::string picture = webp();
  ASSERT_NE(picture, "");
  expect_same({"vwebp", picture}, false);
}

TEST(WallDebian, Tiffgt) {
  DCGN_SKIP_WITHOUT("tiffgt", "libtiff-opengl");
  expect_same({"tiffgt", tiff()}, false);
}

TEST(WallDebian, Opencsgexample) {
  DCGN_SKIP_WITHOUT("opencsgexample", "libopencsg-example");
  expect_same({"opencsgexample"}, true);
}

#if defined(DCGN_COMMAND)
// By the header in place of GLUT's.
TEST(WallExample, ProgramsThatAreCompiledAnewShowThemselvesOnTheWall) {
  const std::string layout = std::to_string(wall_width / 2) + "x" + std::to_string(wall_height);
  EXPECT_EQ(run_on_test_display({wall_program("mpiglut"), "1"},
                                {{"DCGN_WALL_LAYOUT", "2x1:" + layout}, {"DCGN_WALL_COMMAND", DCGN_COMMAND}}),
            0);
  EXPECT_EQ(run_on_test_display({wall_program("mpiglut"), "1"},
                                {{"DCGN_WALL_LAYOUT", "2x1:" + layout}, {"DCGN_WALL_COMMAND", "/no/such"}}),
            3);
}
#endif

}  // namespace

}  // namespace dcgn::test
