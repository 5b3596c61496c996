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

  DCGN_HOST_DEVICE int operator[](int k) const { return table ? looked_up(*this, k) : first + k * stride; }

 private:
  // Out of line, so that a kernel's calls are not larger for it; of a copy, or these would have to be in memory.
  [[gnu::noinline]] DCGN_HOST_DEVICE static int looked_up(Peers peers, int k) {
    const std::int32_t above = peers.table[k] - peers.first, stride = peers.stride;
    if (above <= 0) return peers.first;
    return peers.first + (stride == 1 ? above : (above + stride - 1) / stride * stride);
  }
};

}  // namespace dcgn::message
