// Reading and drawing rectangles of images: all that GL is asked to do with pixels. What it touches of the context's
// state is put back.
#pragma once

#include "pixels/src/format.hpp"

#include <dcgn/pixels/image.hpp>

#include <cstdint>
#include <string>

namespace dcgn::pixels {

// Pixels that were looked at: what they are in, and that all of it is there.
struct Checked {
  enum class Kind { texture, renderbuffer, window };
  Kind kind = Kind::texture;
  unsigned name = 0, target = 0;  // of a texture or renderbuffer
  int level = 0, layer = 0;
  unsigned buffer = 0;  // of the window: GL_BACK, ...
  unsigned internal_format = 0;
  PixelFormat format{};
  Rectangle rectangle{};

  std::int64_t row_bytes() const { return rectangle.width * format.pixel_bytes(); }
  std::int64_t bytes() const { return rectangle.height * row_bytes(); }
  std::int64_t element_count() const { return bytes() / bytes_of(format.kind); }
  Datatype datatype() const { return Datatype::contiguous(element_count(), Datatype::of(format.kind)); }
  // So many of the rectangle's rows, from `first` on.
  Checked rows(int first, int count) const;
};

// Throws Error as ImageComm says.
Checked check(const char* operation, const Pixels& pixels);

class ShaderCopier;  // shader_copier.hpp

// Reads into memory, or, given the name of a buffer, into that from an offset of 0 on; then it is GL that waits. The
// buffer has 4-byte words: the last one may be written as a whole.
void read_image(const char* operation, const Checked& pixels, void* memory);
void read_image_to_buffer(const char* operation, const Checked& pixels, unsigned buffer, ShaderCopier& copier);
// The other way.
void write_image(const char* operation, const Checked& pixels, const void* memory);
void write_image_from_buffer(const char* operation, const Checked& pixels, unsigned buffer, ShaderCopier& copier);

}  // namespace dcgn::pixels
