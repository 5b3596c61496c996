// Heat: du/dt = k laplace u, with the nearest neighbours; and Jacobi's iteration for laplace u = 0, whose next value is
// the mean of these.
#pragma once

#include <dcgn/host_device.hpp>

namespace dcgn::heat {

template <class T, int Dims, class Cells>
DCGN_HOST_DEVICE T sum_around(const Cells& u) {
  T sum = u(-1, 0, 0) + u(1, 0, 0);
  if constexpr (Dims > 1) sum = sum + (u(0, -1, 0) + u(0, 1, 0));
  if constexpr (Dims > 2) sum = sum + (u(0, 0, -1) + u(0, 0, 1));
  return sum;
}

// In Dims dimensions, 1 to 3, of cells that are `spacing` apart in all of them.
template <class T, int Dims>
struct Update {
  static constexpr int dims = Dims, radius = 1;
  static constexpr bool diamond = true;

  explicit Update(double conductivity = 1, double spacing = 1)
      : rate(static_cast<T>(conductivity / (spacing * spacing))) {}

  template <class Cells>
  DCGN_HOST_DEVICE T operator()(const Cells& u) const {
    return rate * (sum_around<T, Dims>(u) - 2 * Dims * u(0, 0, 0));
  }
  double fastest_rate() const { return 4 * Dims * static_cast<double>(rate); }

  T rate;
};

// With Scheme::next.
template <class T, int Dims>
struct Jacobi {
  static constexpr int dims = Dims, radius = 1;
  static constexpr bool diamond = true;

  template <class Cells>
  DCGN_HOST_DEVICE T operator()(const Cells& u) const {
    return sum_around<T, Dims>(u) * (static_cast<T>(1) / (2 * Dims));
  }
};

}  // namespace dcgn::heat
