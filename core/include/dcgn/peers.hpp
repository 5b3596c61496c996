// The ranks that a rank exchanges messages with in one call, by number.
#pragma once

#include <dcgn/host_device.hpp>

#include <cstdint>

namespace dcgn::message {

// Ranks of the world by number: number k is first + k * stride; where there is a table, the first of those ranks that
// is not below table[k].
struct Peers {
  std::int32_t first = 0, stride = 1;
  const std::int32_t* table = nullptr;
  std::int32_t self = -1;  // the number of the calling rank, which is left out

  DCGN_HOST_DEVICE int operator[](int k) const {
    if (!table) return first + k * stride;
    const std::int32_t above = table[k] - first;
    if (above <= 0) return first;
    return first + (stride == 1 ? above : (above + stride - 1) / stride * stride);
  }
};

}  // namespace dcgn::message
