// Pictures: files that appear only when they are written, and text.
#include "apps/image/image.hpp"
#include "apps/image/text.hpp"

#include <gtest/gtest.h>
#include <png.h>
#include <unistd.h>
#include <dcgn/error.hpp>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

using namespace dcgn::image;

namespace {

class PngFileTest : public testing::Test {
 protected:
  PngFileTest() {
    folder_ = std::filesystem::temp_directory_path() / ("dcgn_png_" + std::to_string(::getpid()) + "_" +
                                                        testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directory(folder_);
    path_ = (folder_ / "x.png").string();
  }
  ~PngFileTest() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path folder_;
  std::string path_;
};

TEST_F(PngFileTest, HoldsThePixelsThatWereWritten) {
  Image image(3, 2);
  image.at(2, 1) = {10, 200, 30};
  image.at(0, 0) = {255, 0, 1};
  PngFile(path_).write(image);

  png_image header{};
  header.version = PNG_IMAGE_VERSION;
  ASSERT_TRUE(png_image_begin_read_from_file(&header, path_.c_str()));
  header.format = PNG_FORMAT_RGB;
  ASSERT_EQ(header.width, 3u);
  ASSERT_EQ(header.height, 2u);
  std::vector<unsigned char> bytes(18);
  ASSERT_TRUE(png_image_finish_read(&header, nullptr, bytes.data(), 0, nullptr));
  EXPECT_EQ(bytes, (std::vector<unsigned char>{255, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 10, 200, 30}));
}

TEST_F(PngFileTest, NewFileIsThereOnceItIsWrittenAndAlone) {
  PngFile file(path_);
  EXPECT_FALSE(std::filesystem::exists(path_));
  file.write(Image(1, 1));
  EXPECT_TRUE(std::filesystem::exists(path_));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

TEST_F(PngFileTest, LinkStaysALink) {
  const std::filesystem::path link = folder_ / "link.png";
  std::ofstream(path_) << "old";
  std::filesystem::create_symlink(path_, link);
  PngFile(link.string()).write(Image(1, 1));
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_GT(std::filesystem::file_size(path_), 3u);
}

TEST_F(PngFileTest, OldFileStaysAsItIsUntilThen) {
  std::ofstream(path_) << "a long old text that is longer than the picture that replaces it, by far: " +
                              std::string(1000, '.');
  { const PngFile file(path_); }
  EXPECT_GT(std::filesystem::file_size(path_), 1000u);
  PngFile(path_).write(Image(1, 1));
  EXPECT_LT(std::filesystem::file_size(path_), 200u);
}

TEST_F(PngFileTest, NamesThePathThatCannotBeWritten) {
  try {
    const PngFile file((folder_ / "none" / "x.png").string());
    FAIL();
  } catch (const dcgn::Error& e) {
    EXPECT_EQ(e.code(), dcgn::Code::io);
    EXPECT_NE(std::string(e.what()).find("none/x.png"), std::string::npos);
  }
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
