// Textures read into buffers, and filled from them, by compute shaders: drivers that read textures by the CPU do so at
// a tenth of what the GPU's own writes get (NVIDIA 580 on an H100: 6 of 53 GB/s), and fill them from a GPU's buffer at
// the rate of PCIe.
#pragma once

#include "pixels/src/access.hpp"

#include <array>
#include <cstdint>

namespace dcgn::pixels {

// Of one context, whose programs it makes as they are needed. Where that one is not current they go with it.
class ShaderCopier {
 public:
  // Where buffers lie decides what the driver does better.
  enum class Buffers { on_host, on_gpu };
  explicit ShaderCopier(Buffers where) : where_(where) {}
  ShaderCopier(const ShaderCopier&) = delete;
  ShaderCopier& operator=(const ShaderCopier&) = delete;
  ~ShaderCopier();

  // Between the pixels, which are in a texture, and the buffer, from its beginning on; read() may write up to 3 bytes
  // beyond them. False, with nothing done, where the driver does better or the pixels are not the texture's own bytes.
  bool read(const Checked& pixels, unsigned buffer);
  bool write(const Checked& pixels, unsigned buffer);

 private:
  bool copy(bool writes, const Checked& pixels, unsigned buffer);
  unsigned program(bool writes, int size_class);

  Buffers where_;
  std::array<std::array<unsigned, 5>, 2> programs_{};  // that read and that write, by the logarithm of a pixel's bytes
  void* context_ = nullptr;
};

}  // namespace dcgn::pixels
