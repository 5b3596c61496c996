// Compression of pixels on their way, and how it is chosen.
#pragma once

#include <cstdint>
#include <string>

namespace dcgn::pixels {

// What is done to pixels on their way.
enum class Compression {
  none,
  lossless,  // zstd, of any pixels
  jpeg,      // libjpeg-turbo, of unsigned bytes of GL_RGB, GL_BGR, GL_RGBA or GL_BGRA; alpha goes without loss
  automatic  // what costs least
};
std::string to_string(Compression compression);
// Whether this build has it.
bool is_available(Compression compression) noexcept;

// What a byte of pixels costs, in seconds, and how many bytes go on their way for it.
struct CompressionCost {
  double compress_s = 0, decompress_s = 0;
  double ratio = 1;
};
// Of a byte of pixels over such a link, where compressing, sending and decompressing follow each other: the model of
// Lawlor 2009, latency aside, time = size / bandwidth.
constexpr double cost_s(const CompressionCost& cost, double link_bytes_per_s) {
  return cost.compress_s + cost.ratio / link_bytes_per_s + cost.decompress_s;
}

}  // namespace dcgn::pixels
