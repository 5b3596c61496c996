// zstd, where this build has it: is_available(Compression::lossless).
#pragma once

#include <cstddef>
#include <vector>

namespace dcgn::pixels {

void append_lossless(const std::byte* memory, std::size_t bytes, std::vector<std::byte>& out);
// Whether that gave just so many bytes.
bool expand_lossless(const std::byte* packed, std::size_t packed_bytes, std::byte* memory, std::size_t bytes);

}  // namespace dcgn::pixels
