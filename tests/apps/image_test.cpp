// Pictures, as files too, and text.
#include "apps/image/image.hpp"
#include "apps/image/text.hpp"
#include "base/output_file.hpp"
#include "tests/expect.hpp"

#include <gtest/gtest.h>
#include <png.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

using namespace dcgn::image;

namespace {

TEST(Png, HoldsThePixelsThatWereWritten) {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("dcgn_" + std::to_string(::getpid()) + ".png");
  Image image(3, 2);
  image.at(2, 1) = {10, 200, 30};
  image.at(0, 0) = {255, 0, 1};
  dcgn::base::OutputFile file(path);
  write_png(file, image);

  png_image header{};
  header.version = PNG_IMAGE_VERSION;
  ASSERT_TRUE(png_image_begin_read_from_file(&header, path.c_str()));
  header.format = PNG_FORMAT_RGB;
  ASSERT_EQ(header.width, 3u);
  ASSERT_EQ(header.height, 2u);
  std::vector<unsigned char> bytes(18);
  ASSERT_TRUE(png_image_finish_read(&header, nullptr, bytes.data(), 0, nullptr));
  EXPECT_EQ(bytes, (std::vector<unsigned char>{255, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 10, 200, 30}));
  std::filesystem::remove(path);
}

TEST(Png, NamesThePathThatCannotBeWritten) {
  dcgn::base::OutputFile file("/dev/full");
  const dcgn::Error error = dcgn::test::error_of([&] { write_png(file, Image(1, 1)); });
  EXPECT_EQ(error.code(), dcgn::Code::io);
  EXPECT_TRUE(dcgn::test::contains(error.what(), "/dev/full: not written: "));
}

TEST(Text, DrawsWithinItsBoxAndClipsAtTheBorder) {
  Image image(20, 10);
  EXPECT_EQ(draw_text(image, 1, 1, "1H", {255, 255, 255}), text_width("1H"));
  const auto lit = [&](int x, int y) { return image.at(x, y).r != 0; };
  EXPECT_TRUE(lit(7, 1) && lit(7, 7) && lit(11, 4) && lit(9, 4));  // H: two bars and the one between
  EXPECT_FALSE(lit(9, 1) || lit(9, 7) || lit(12, 4));
  draw_text(image, 17, 6, "\xff#W", {9, 9, 9}, 3);  // unknown signs, and beyond the border: nothing happens
}

TEST(Colour, OklchOfNoChromaIsGrey) {
  const Colour grey = oklch(0.6, 0, 0.3);
  EXPECT_EQ(grey.r, grey.g);
  EXPECT_EQ(grey.g, grey.b);
  EXPECT_EQ(oklch(1, 0, 0).r, 255);
  EXPECT_EQ(mix({0, 100, 200}, {100, 100, 0}, 0.5).b, 100);
}

}  // namespace
