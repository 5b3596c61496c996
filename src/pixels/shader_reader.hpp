// Textures read into buffers by compute shaders: drivers that read textures by the CPU do so at a tenth of what the
// GPU's own writes get (NVIDIA 580 on an H100: 6 of 53 GB/s).
#pragma once

#include "pixels/access.hpp"

#include <array>
#include <cstdint>

namespace dcgn::pixels {

// Of one context, whose programs it makes as they are needed. Where that one is not current they go with it.
class ShaderReader {
 public:
  ShaderReader() = default;
  ShaderReader(const ShaderReader&) = delete;
  ShaderReader& operator=(const ShaderReader&) = delete;
  ~ShaderReader();

  // Reads the pixels, which are in a texture, into the buffer from its beginning on, and up to 3 bytes beyond them.
  // False, with nothing done, where the driver does better or what is asked for are not the bytes that the texture has.
  bool read(const Checked& pixels, unsigned buffer);

 private:
  unsigned program(int size_class);

  std::array<unsigned, 5> programs_{};  // by the logarithm of a pixel's bytes
  void* context_ = nullptr;
};

}  // namespace dcgn::pixels
