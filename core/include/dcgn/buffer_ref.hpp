// A message's buffer, as calls hand it on.
#pragma once

#include <cstdint>

namespace dcgn::message {

// Bytes to send. What a CPU rank's datatype says goes with them.
struct ConstBufferRef {
  const void* data = nullptr;
  std::int64_t bytes = 0;
  std::uint32_t elements = 0;  // which the receiver compares: as in a header
};

// Room for a message.
struct BufferRef {
  void* data = nullptr;
  std::int64_t bytes = 0;
  std::uint32_t elements = 0;  // 0: the receiver takes any
};

}  // namespace dcgn::message
