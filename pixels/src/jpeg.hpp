// libjpeg-turbo, where this build has it: is_available(Compression::jpeg).
#pragma once

#include <cstddef>
#include <vector>

namespace dcgn::pixels {

enum class JpegColors { rgb, bgr, rgba, bgra };
struct JpegImage {
  int width = 0, height = 0;
  JpegColors colors = JpegColors::rgb;
};

// Rows without gaps; alpha is left out, and left alone.
void append_jpeg(const std::byte* memory, const JpegImage& image, int quality, std::vector<std::byte>& out);
// Whether that gave just such an image. What has alpha gets 255 there.
bool expand_jpeg(const std::byte* packed, std::size_t packed_bytes, const JpegImage& image, std::byte* memory);

}  // namespace dcgn::pixels
