#include "apps/image/image.hpp"

#include "base/output_file.hpp"

#include <dcgn/error.hpp>

#include <png.h>

#include <algorithm>
#include <cstdio>

namespace dcgn::image {

void Image::fill(int x, int y, int width, int height, Colour colour) {
  for (int v = std::max(y, 0); v < std::min(y + height, height_); ++v)
    for (int u = std::max(x, 0); u < std::min(x + width, width_); ++u) at(u, v) = colour;
}

void write_png(base::OutputFile& output, const Image& image) {
  output.write([&](std::FILE* stream) {
    png_image header{};
    header.version = PNG_IMAGE_VERSION;
    header.width = static_cast<png_uint_32>(image.width());
    header.height = static_cast<png_uint_32>(image.height());
    header.format = PNG_FORMAT_RGB;
    // Large pictures are written in a fraction of the time, and take some more room.
    if (image.width() > (4 << 20) / image.height()) header.flags = PNG_IMAGE_FLAG_FAST;
    static_assert(sizeof(Colour) == 3, "libpng takes three bytes a pixel");
    if (!png_image_write_to_stdio(&header, stream, 0, image.data(), 0, nullptr))
      throw Error(Code::io, "output", output.path() + ": not written: " + header.message);
  });
}

}  // namespace dcgn::image
