// Pixels compressed on their way: nothing lost but by JPEG, and the cheapest chosen.
#include "pixels/tests/support.hpp"
#include "tests/expect.hpp"

#include <cstdlib>

namespace dcgn::test::compression {
namespace {

using pixels::Compression, pixels::CompressionCost, pixels::Moved, pixels::Options, pixels::Path;

class PixelCompression : public PixelTest {
 protected:
  void SetUp() override {
    PixelTest::SetUp();
    if (!pixels::is_available(Compression::lossless) || !pixels::is_available(Compression::jpeg))
      GTEST_SKIP() << "this build has no zstd, or no libjpeg-turbo";
  }
};

constexpr int width = 200, height = 150;

// Smooth colors, as pictures have, and an alpha that no JPEG would keep.
Bytes picture() {
  Bytes bytes;
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      for (const int value : {x, y, (x + y) / 2, (x * 7 + y * 13) % 3 ? 255 : 0})
        bytes.push_back(static_cast<unsigned char>(value));
  return bytes;
}

void fill(const Texture& texture, const Bytes& bytes) {
  glBindTexture(GL_TEXTURE_2D, texture.name());
  glTexSubImage2D(GL_TEXTURE_2D, 0, 0, 0, width, height, GL_RGBA, GL_UNSIGNED_BYTE, bytes.data());
  glBindTexture(GL_TEXTURE_2D, 0);
}

// What came at rank 1, and what both ends said of it.
void move(const Options& options, const Bytes& content, const std::function<void(const Bytes&, const Moved&)>& see) {
  in_ranks(2, [&](Comm& comm) {
    ImageComm images(comm, options);
    const Texture texture(rgba8(), width, height, 5);
    if (comm.rank() == 0) {
      fill(texture, content);
      const Moved sent = images.send(texture.pixels(), 1);
      comm.send(sent.wire_bytes, 1);
      return;
    }
    const Moved moved = images.recv(texture.pixels(), 0);
    std::int64_t wire = 0;
    comm.recv(wire, 0);
    EXPECT_EQ(moved.wire_bytes, wire);
    EXPECT_EQ(moved.bytes, width * height * 4);
    see(texture.read(), moved);
  });
}

TEST_F(PixelCompression, LosslessLosesNothing) {
  for (const std::int64_t tile_bytes : {0, 20'000})
    move({.tile_bytes = tile_bytes, .compression = Compression::lossless}, picture(),
         [](const Bytes& came, const Moved& moved) {
           EXPECT_TRUE(came == picture());
           EXPECT_EQ(moved.compression, Compression::lossless);
           EXPECT_LT(moved.wire_bytes, moved.bytes / 2);
         });
}

TEST_F(PixelCompression, NoiseGoesAsItIs) {
  const Bytes noise = random_bytes(rgba8(), width * height, 3);
  move({.compression = Compression::lossless}, noise, [&](const Bytes& came, const Moved& moved) {
    EXPECT_TRUE(came == noise);
    EXPECT_EQ(moved.compression, Compression::none);
    EXPECT_LT(moved.wire_bytes, moved.bytes + 100);
  });
}

TEST_F(PixelCompression, JpegIsNearAndKeepsAlpha) {
  const auto worst_of = [](int quality) {
    int worst = 0;
    move({.path = Path::copy, .compression = Compression::jpeg, .jpeg_quality = quality}, picture(),
         [&](const Bytes& came, const Moved& moved) {
           const Bytes expected = picture();
           EXPECT_EQ(moved.compression, Compression::jpeg);
           EXPECT_LT(moved.wire_bytes, moved.bytes / 4);
           for (std::size_t i = 0; i < came.size(); ++i) {
             const int off = std::abs(came[i] - expected[i]);
             if (i % 4 == 3)
               EXPECT_EQ(off, 0);
             else
               worst = std::max(worst, off);
           }
         });
    return worst;
  };
  EXPECT_LE(worst_of(95), 12);
  EXPECT_LE(worst_of(30), 60);
}

TEST_F(PixelCompression, AutomaticIsThatOfTheLeastCost) {
  // The model by itself.
  const CompressionCost none{}, good{1e-9, 1e-9, 0.25};
  EXPECT_GT(cost_s(none, 1e8), cost_s(good, 1e8));    // 10 ns a byte, or 4.5
  EXPECT_LT(cost_s(none, 1e10), cost_s(good, 1e10));  // 0.1 ns, or 2
  // A link of a modem's speed, and one that costs nothing.
  move({.compression = Compression::automatic, .link_bytes_per_s = 1e4}, picture(),
       [](const Bytes& came, const Moved& moved) {
         EXPECT_TRUE(came == picture());
         EXPECT_EQ(moved.compression, Compression::lossless);
       });
  move({.compression = Compression::automatic, .link_bytes_per_s = 1e18}, picture(),
       [](const Bytes& came, const Moved& moved) {
         EXPECT_TRUE(came == picture());
         EXPECT_EQ(moved.compression, Compression::none);
       });
  // What loses is chosen only where that is allowed.
  move({.compression = Compression::automatic, .jpeg_quality = 80, .link_bytes_per_s = 1e4}, picture(),
       [](const Bytes&, const Moved& moved) { EXPECT_NE(moved.compression, Compression::none); });
}

TEST_F(PixelCompression, ALinkIsMeasuredByBothEnds) {
  in_ranks(2, [](Comm& comm) {
    ImageComm images(comm, {.compression = Compression::automatic});
    const double speed = images.measure_link(1 - comm.rank());
    EXPECT_GT(speed, 1e6);
    double other = speed;
    comm.sendrecv_replace(other, 1 - comm.rank(), 0, 1 - comm.rank(), 0);
    EXPECT_EQ(speed, other);
    const Texture texture(rgba8(), width, height, 5);
    if (comm.rank() == 0) {
      images.send(texture.pixels(), 1);
      EXPECT_GT(images.cost(Compression::lossless).compress_s, 0);
    } else {
      images.recv(texture.pixels(), 0);
    }
    EXPECT_TRUE(texture.read() == Texture(rgba8(), width, height, 5).read());
  });
}

TEST_F(PixelCompression, OfOneEndAloneIsRefused) {
  in_ranks(1, [](Comm& comm) {
    ImageComm plain(comm), packs(comm, {.compression = Compression::lossless});
    const Texture texture(rgba8(), width, height, 5);
    fill(texture, picture());
    const Bytes before = texture.read();
    const auto move = [&](ImageComm& out, ImageComm& in, const Rectangle& r) {
      const pixels::ImageRequest sent = out.isend(texture.pixels(), 0);
      const Error error = error_of([&] { in.recv(texture.pixels(r), 0); });
      out.wait(sent);
      EXPECT_EQ(error.code(), Code::mismatch) << error.what();
      return std::string(error.what());
    };
    EXPECT_TRUE(contains(move(plain, packs, {0, 0, width, height}), "was not sent with compression"));
    EXPECT_TRUE(contains(move(packs, packs, {0, 0, width, height - 1}),
                         "200 x 150 pixels of 4 bytes, the rectangle 200 x 149"));
    EXPECT_TRUE(texture.read() == before);
  });
}

}  // namespace
}  // namespace dcgn::test::compression
