// The whole job: every pixel right, every strip by one rank, whatever the ranks.
#include "apps/mandelbrot/mandelbrot.hpp"

#include "apps/mandelbrot/picture.hpp"
#include "tests/gpus.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>

using namespace dcgn;
using namespace dcgn::mandelbrot;

namespace {

Options small(NodeShape nodes, int strip) {
  Options o;
  o.task = {{-2, 1, -1.1, 1.1}, 61, 47, 150};
  o.nodes = nodes;
  o.strip = strip;
  o.threads = 32;
  return o;
}

class Mandelbrot : public testing::TestWithParam<NodeShape> {};

TEST_P(Mandelbrot, ComputesEveryPixelOnce) {
  DCGN_SKIP_WITHOUT_GPUS(GetParam());
  for (const int strip : {1, 8, 100}) {
    const Options o = small(GetParam(), strip);
    int last = 0;
    const Outcome outcome = run(o, [&](int done, int rows) {
      EXPECT_GT(done, last);
      EXPECT_EQ(rows, 47);
      last = done;
    });
    EXPECT_EQ(last, 47);
    EXPECT_EQ(count_wrong(o.task, outcome.pixels), 0);
    EXPECT_EQ(std::count(outcome.owners.begin(), outcome.owners.end(), 0), 0);
    int strips = 0, pixels = 0;
    for (const RankWork& w : outcome.ranks) {
      strips += w.strips;
      pixels += w.pixels;
      // A request for each order, the last one empty.
      if (w.report.rank != 0) {
        EXPECT_EQ(w.report.sent_messages, static_cast<unsigned>(w.strips) + 1);
        EXPECT_EQ(w.report.received_messages, static_cast<unsigned>(w.strips) + 1);
      }
    }
    EXPECT_EQ(strips, (46 / std::min(strip, 47)) + 1);
    EXPECT_EQ(pixels, 61 * 47);
  }
}

std::string shape_name(const testing::TestParamInfo<NodeShape>& shape) {
  const NodeShape& n = shape.param;
  return "cpus" + std::to_string(n.cpus) + "_gpus" + std::to_string(n.gpus) + "_slots" + std::to_string(n.slots) +
         "_nodes" + std::to_string(n.count);
}

INSTANTIATE_TEST_SUITE_P(Shapes, Mandelbrot,
                         testing::Values(NodeShape{.cpus = 2}, NodeShape{.cpus = 1, .gpus = 1, .slots = 3},
                                         NodeShape{.cpus = 2, .gpus = 1, .slots = 2, .count = 2}),
                         shape_name);

TEST(MandelbrotStrips, MayBePartsOfARow) {
  Options o = small({.cpus = 1, .gpus = 1, .slots = 3}, 1);
  o.pieces = 7;
  const Outcome outcome = run(o);
  EXPECT_EQ(count_wrong(o.task, outcome.pixels), 0);
  EXPECT_EQ(outcome.owners.size(), (61u * 47 - 1) / 9 + 1);
}

TEST(MandelbrotCheck, CountsAWrongPixel) {
  const Options o = small({.cpus = 2}, 8);
  Outcome outcome = run(o);
  ++outcome.pixels[1000].iterations;
  EXPECT_EQ(count_wrong(o.task, outcome.pixels), 1);
}

// A picture of three strips by ranks 1, 2 and 1; all pixels alike, but the inside of the last column.
class MandelbrotPicture : public testing::Test {
 protected:
  MandelbrotPicture() {
    options_.task = {{0, 1, 0, 1}, 30, 6, 100};
    options_.nodes = {.cpus = 3};
    options_.strip = 2;
    outcome_.pixels.assign(30 * 6, {7, 70'000.0f});
    for (std::size_t y = 0; y < 6; ++y) outcome_.pixels[y * 30 + 29] = {100, 0};
    outcome_.owners = {1, 2, 1};
    for (int r = 0; r < 3; ++r) {
      RankWork work;
      work.report.rank = r;
      work.report.place = {.node = 0, .cpu = r};
      outcome_.ranks.push_back(work);
    }
  }
  static std::array<int, 3> rgb(image::Colour c) { return {c.r, c.g, c.b}; }

  Options options_;
  Outcome outcome_;
};

TEST_F(MandelbrotPicture, FractalIsBlackInsideAndColouredOutside) {
  const image::Image picture = fractal_picture(options_, outcome_);
  EXPECT_EQ(picture.width(), 30);
  EXPECT_EQ(picture.height(), 6);
  EXPECT_EQ(rgb(picture.at(29, 3)), (std::array{0, 0, 0}));
  EXPECT_NE(rgb(picture.at(0, 3)), (std::array{0, 0, 0}));
}

TEST_F(MandelbrotPicture, StripsHaveTheColourOfTheirRank) {
  const image::Image picture = ranks_picture(options_, outcome_);
  EXPECT_EQ(rgb(picture.at(3, 0)), rgb(picture.at(3, 5)));
  EXPECT_NE(rgb(picture.at(3, 0)), rgb(picture.at(3, 2)));
  EXPECT_NE(rgb(picture.at(29, 0)), rgb(picture.at(29, 2))) << "inside the set too";
}

TEST_F(MandelbrotPicture, LegendIsBelowAndAsWideAsItNeeds) {
  const image::Image picture = ranks_picture(options_, outcome_);
  EXPECT_GT(picture.height(), 6 + 3 * 8);
  EXPECT_GT(picture.width(), 100);  // though the fractal has 30
}

}  // namespace
