// GL's pixel formats and types: what a pixel of them is in memory.
#pragma once

#include <dcgn/datatype.hpp>

#include <cstdint>
#include <string>

namespace dcgn::pixels {

// What an image holds, and what a format asks for.
enum class Content { color, integer, depth, stencil, depth_stencil };

struct PixelFormat {
  unsigned format = 0, type = 0;
  Content content = Content::color;
  int elements = 0;  // of a pixel: its components, or 1 where a type packs them into one word
  ElementKind kind = ElementKind::byte;
  bool packed = false;  // components are bits of a word

  std::int64_t pixel_bytes() const { return elements * bytes_of(kind); }
};

// Throws Error(invalid_type), naming both, where GL has no such pair.
PixelFormat pixel_format(const char* operation, unsigned format, unsigned type);

// Of an internal format. What is none of the integers', depth's or stencil's is a color.
Content content_of(unsigned internal_format);
std::string to_string(Content content);

// "GL_RGBA", or the number where it has no name here.
std::string name_of_format(unsigned format);
std::string name_of_type(unsigned type);

}  // namespace dcgn::pixels
