// Pictures in memory and as PNG files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dcgn::base {
class OutputFile;
}

namespace dcgn::image {

struct Colour {
  std::uint8_t r = 0, g = 0, b = 0;
};

// Linearly from a (t = 0) to b (t = 1).
Colour mix(Colour a, Colour b, double t);
// From the perceptual space OKLCH: lightness 0..1, chroma from 0 (grey) to about 0.3, hue in turns.
Colour oklch(double lightness, double chroma, double hue);

class Image {
 public:
  Image(int width, int height, Colour background = {})
      : width_(width),
        height_(height),
        pixels_(static_cast<std::size_t>(width) * static_cast<std::size_t>(height), background) {}

  int width() const { return width_; }
  int height() const { return height_; }
  Colour& at(int x, int y) { return pixels_[index(x, y)]; }
  Colour at(int x, int y) const { return pixels_[index(x, y)]; }
  const Colour* data() const { return pixels_.data(); }

  // What lies outside is left out.
  void fill(int x, int y, int width, int height, Colour colour);

 private:
  std::size_t index(int x, int y) const {
    return static_cast<std::size_t>(y) * static_cast<std::size_t>(width_) + static_cast<std::size_t>(x);
  }
  int width_, height_;
  std::vector<Colour> pixels_;
};

// The picture as a PNG file. Throws Error(io).
void write_png(base::OutputFile& output, const Image& image);

}  // namespace dcgn::image
