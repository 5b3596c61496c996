// Extents and indices of grids and blocks.
#pragma once

#include <dcgn/host_device.hpp>

namespace dcgn {

// CUDA's dim3: a number is {number, 1, 1}.
struct Dim3 {
  unsigned x = 1;
  unsigned y = 1;
  unsigned z = 1;

  // What is left out is 1; how many there are.
  DCGN_HOST_DEVICE constexpr Dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
  DCGN_HOST_DEVICE constexpr unsigned volume() const { return x * y * z; }
  // The position of `index` in this extent, x fastest.
  DCGN_HOST_DEVICE constexpr unsigned linear(Dim3 index) const { return (index.z * y + index.y) * x + index.x; }
  // The inverse of linear().
  DCGN_HOST_DEVICE constexpr Dim3 index(unsigned position) const {
    return {position % x, position / x % y, position / x / y};
  }
};

}  // namespace dcgn
