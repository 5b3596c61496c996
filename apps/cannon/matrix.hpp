// The matrices: small whole numbers, the same for whoever computes them, so that every product and sum of them is exact
// in floats and there is one right result, in whatever order it is added up.
#pragma once

#include <dcgn/host_device.hpp>

#include <cstddef>
#include <cstdint>

namespace dcgn::cannon {

enum class Which : std::uint32_t { a, b };

// From -4 to 4; 0 outside of the size x size matrix.
DCGN_HOST_DEVICE inline float element(Which which, int size, int row, int column) {
  if (row >= size || column >= size) return 0;
  std::uint32_t x = static_cast<std::uint32_t>(row) * 0x9e3779b1u ^ static_cast<std::uint32_t>(column) * 0x85ebca77u ^
                    (static_cast<std::uint32_t>(which) + 1) * 0xc2b2ae3du;
  x = (x ^ x >> 15) * 0x2c1b3c6du;
  x = (x ^ x >> 12) * 0x297a2d39u;
  return static_cast<float>(static_cast<int>((x ^ x >> 15) % 9) - 4);
}

// The n x n tile whose first element is at (row, column): the share of one of `threads` threads.
DCGN_HOST_DEVICE inline void fill_tile(Which which, int size, int row, int column, int n, float* out, unsigned thread,
                                       unsigned threads) {
  const auto edge = static_cast<unsigned>(n);
  for (std::size_t i = thread; i < static_cast<std::size_t>(edge) * edge; i += threads)
    out[i] = element(which, size, row + static_cast<int>(i / edge), column + static_cast<int>(i % edge));
}

}  // namespace dcgn::cannon
