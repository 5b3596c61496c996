// A picture that takes computing: the Mandelbrot set, by a fragment shader. Any strip of it is what the whole has
// there.
#pragma once

#include "pixels/src/gl.hpp"

#include <dcgn/pixels/image.hpp>

#include <vector>

namespace dcgn::bench {

class PixelsScene {
 public:
  // In the current context: a texture for so many rows of a picture of this size, from `first` on.
  PixelsScene(int width, int height, int first, int rows);
  PixelsScene(const PixelsScene&) = delete;
  PixelsScene& operator=(const PixelsScene&) = delete;
  ~PixelsScene();

  void draw() const;
  unsigned texture() const { return texture_; }

 private:
  int width_, rows_;
  unsigned program_ = 0, vertices_ = 0, texture_ = 0, framebuffer_ = 0;
};

// A texture of RGBA8 full of these pixels.
unsigned make_texture(int width, int height, const std::vector<unsigned char>& content);

}  // namespace dcgn::bench
