#include "pixels/src/lossless.hpp"

#include <dcgn/error.hpp>

#include <string>

#if defined(DCGN_HAS_ZSTD)
#include <zstd.h>
#endif

namespace dcgn::pixels {

#if defined(DCGN_HAS_ZSTD)

void append_lossless(const std::byte* memory, std::size_t bytes, std::vector<std::byte>& out) {
  constexpr int fastest = 1;  // links are fast: what takes longer gains nothing
  const std::size_t before = out.size();
  out.resize(before + ZSTD_compressBound(bytes));
  const std::size_t packed = ZSTD_compress(out.data() + before, out.size() - before, memory, bytes, fastest);
  if (ZSTD_isError(packed))
    throw Error(Code::out_of_resources, "pixels::compress", std::string("zstd: ") + ZSTD_getErrorName(packed));
  out.resize(before + packed);
}

bool expand_lossless(const std::byte* packed, std::size_t packed_bytes, std::byte* memory, std::size_t bytes) {
  return ZSTD_decompress(memory, bytes, packed, packed_bytes) == bytes;
}

#else

void append_lossless(const std::byte*, std::size_t, std::vector<std::byte>&) {
  throw Error(Code::unsupported, "pixels::compress", "this build has no zstd: scripts/install-packages pixels");
}
bool expand_lossless(const std::byte*, std::size_t, std::byte*, std::size_t) {
  throw Error(Code::unsupported, "pixels::decompress", "this build has no zstd: scripts/install-packages pixels");
}

#endif

}  // namespace dcgn::pixels
