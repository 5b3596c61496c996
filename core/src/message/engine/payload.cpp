// Bytes of a payload that do not fill a word.
#include "message/engine/compiled.hpp"

#include <dcgn/message/payload.hpp>

#include <cstdint>

#if DCGN_COMPILED_HERE

namespace dcgn::message {

DCGN_HOST_DEVICE std::uint32_t join_bytes(const unsigned char* from, std::uint32_t count) {
  std::uint32_t value = 0;
  for (std::uint32_t i = 0; i < count; ++i) value |= static_cast<std::uint32_t>(from[i]) << 8 * i;
  return value;
}

DCGN_HOST_DEVICE void split_bytes(unsigned char* to, std::uint32_t count, std::uint32_t value) {
  for (std::uint32_t i = 0; i < count; ++i) to[i] = static_cast<unsigned char>(value >> 8 * i);
}

}  // namespace dcgn::message

#endif
