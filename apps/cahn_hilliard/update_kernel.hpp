// The Cahn-Hilliard equation, which phases separate by:
//
//   du/dt = M laplace(-B u + U u^3 - K laplace u)
//
// with u from -1 to 1. Source: Playne and Hawick 2011, equation 1. Its free energy, which never rises, is the sum of
// -B u^2 / 2 + U u^4 / 4 + K |grad u|^2 / 2.
#pragma once

#include <dcgn/host_device.hpp>

namespace dcgn::cahn_hilliard {

struct Parameters {
  double mobility = 1;  // M
  double b = 1;         // B: how deep the quench is
  double u = 1;         // U
  double k = 1;         // K: what an interface costs
};

// In Dims dimensions, 2 or 3, of cells that are `spacing` apart in all of them. Laplacians are of second order, with
// the nearest neighbours; the one of the laplacian is written out, so that a cell needs the potential of its neighbours
// only: 13 cells in 2-D, 25 in 3-D.
template <class T, int Dims>
struct Update {
  static_assert(Dims == 2 || Dims == 3);
  static constexpr int dims = Dims, radius = 2;
  static constexpr bool diamond = true;

  explicit Update(const Parameters& p = {}, double spacing = 1)
      : linear(static_cast<T>(-p.b * p.mobility / (spacing * spacing))),
        cubic(static_cast<T>(p.u * p.mobility / (spacing * spacing))),
        bending(static_cast<T>(-p.k * p.mobility / (spacing * spacing * spacing * spacing))) {}

  template <class Cells>
  DCGN_HOST_DEVICE T operator()(const Cells& u) const {
    const T here = u(0, 0, 0);
    const auto potential = [this](T value) { return value * (linear + cubic * (value * value)); };
    // Sums go by distance, the same whatever the direction.
    const T near = (u(-1, 0, 0) + u(1, 0, 0)) + (u(0, -1, 0) + u(0, 1, 0)) + pair_along_z(u, 1);
    const T far = (u(-2, 0, 0) + u(2, 0, 0)) + (u(0, -2, 0) + u(0, 2, 0)) + pair_along_z(u, 2);
    T diagonal = (u(-1, -1, 0) + u(1, 1, 0)) + (u(-1, 1, 0) + u(1, -1, 0));
    T around = (potential(u(-1, 0, 0)) + potential(u(1, 0, 0))) + (potential(u(0, -1, 0)) + potential(u(0, 1, 0)));
    if constexpr (Dims == 3) {
      diagonal = diagonal + ((u(-1, 0, -1) + u(1, 0, 1)) + (u(-1, 0, 1) + u(1, 0, -1))) +
                 ((u(0, -1, -1) + u(0, 1, 1)) + (u(0, -1, 1) + u(0, 1, -1)));
      around = around + (potential(u(0, 0, -1)) + potential(u(0, 0, 1)));
    }
    constexpr T sides = 2 * Dims;
    const T squared = sides * (sides + 1) * here - 2 * sides * near + 2 * diagonal + far;
    return (around - sides * potential(here)) + bending * squared;
  }

  // Of the mode that changes sign from each cell to the next, about u = 1 or -1.
  double fastest_rate() const {
    constexpr double most = 4 * Dims;  // minus the laplacian's eigenvalue, times the square of the spacing
    return most * (static_cast<double>(linear) + 3 * static_cast<double>(cubic)) -
           most * most * static_cast<double>(bending);
  }

  T linear, cubic, bending;

 private:
  template <class Cells>
  DCGN_HOST_DEVICE static T pair_along_z(const Cells& u, int distance) {
    if constexpr (Dims == 3) return u(0, 0, -distance) + u(0, 0, distance);
    return T();
  }
};

}  // namespace dcgn::cahn_hilliard
