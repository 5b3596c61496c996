// Compressed pixels as a message: a header, and what it says follows.
#pragma once

#include "pixels/src/access.hpp"

#include <dcgn/pixels/compression.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dcgn::pixels {

// Whether JPEG takes such pixels.
bool takes_jpeg(const PixelFormat& format);

// So many bytes at most.
std::int64_t most_framed_bytes(const Checked& pixels);

struct Framed {
  std::vector<std::byte> bytes;
  Compression compression = Compression::none;  // none, too, where it would have gained nothing
};
// `memory` has the pixels; compression is one that is available and takes them.
Framed frame(const char* operation, const Checked& pixels, const std::byte* memory, Compression compression,
             int jpeg_quality);

// Into memory for just these pixels. Throws Error(mismatch) where the message is no frame, or one of other sizes.
Compression unframe(const char* operation, const Checked& pixels, const std::byte* framed, std::int64_t bytes,
                    std::byte* memory);

// What compressing these and decompressing them again costs here and now.
CompressionCost measure_cost(const char* operation, const Checked& pixels, const std::byte* memory,
                             Compression compression, int jpeg_quality);

}  // namespace dcgn::pixels
