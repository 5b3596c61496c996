// Pictures in memory and as PNG files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

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

// A PNG file to be: tried at once, so that a path that cannot be written is known before the work, and there whole at
// the end or not at all. Until then an older file stays as it is.
class PngFile {
 public:
  // Throws Error(io), naming the path, where it cannot be written.
  explicit PngFile(std::string path);
  PngFile(const PngFile&) = delete;
  PngFile& operator=(const PngFile&) = delete;
  ~PngFile();

  const std::string& path() const { return path_; }
  // Throws Error(io).
  void write(const Image& image);

 private:
  std::string path_;
  int stream_ = -1;  // a pipe's or a device's, held open
};

}  // namespace dcgn::image
