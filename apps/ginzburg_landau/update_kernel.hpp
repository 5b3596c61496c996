// The time-dependent complex Ginzburg-Landau equation:
//
//   dA/dt = A + (1 + i b) laplace A - (1 + i c) |A|^2 A
//
// of complex cells: twice the bytes of a halo of Cahn-Hilliard's, half as wide. Source: Playne and Hawick 2011, who
// take it for their second case (section 1).
#pragma once

#include <dcgn/element.hpp>
#include <dcgn/host_device.hpp>

namespace dcgn::ginzburg_landau {

struct Parameters {
  double b = 0;  // linear dispersion
  double c = 0;  // of the frequency with the amplitude
};

// In Dims dimensions, 1 to 3, of cells that are `spacing` apart in all of them; T is float or double.
template <class T, int Dims>
struct Update {
  static_assert(Dims >= 1 && Dims <= 3);
  static constexpr int dims = Dims, radius = 1;
  static constexpr bool diamond = true;
  using Cell = complex<T>;

  explicit Update(const Parameters& p = {}, double spacing = 1)
      : diffusion(static_cast<T>(1 / (spacing * spacing)), static_cast<T>(p.b / (spacing * spacing))),
        damping(static_cast<T>(1), static_cast<T>(p.c)) {}

  template <class Cells>
  DCGN_HOST_DEVICE Cell operator()(const Cells& a) const {
    const Cell here = a(0, 0, 0);
    Cell sum = a(-1, 0, 0) + a(1, 0, 0);
    if constexpr (Dims > 1) sum = sum + (a(0, -1, 0) + a(0, 1, 0));
    if constexpr (Dims > 2) sum = sum + (a(0, 0, -1) + a(0, 0, 1));
    const T squared = here.real() * here.real() + here.imag() * here.imag();
    const T sides = 2 * Dims;
    const Cell laplace(sum.real() - sides * here.real(), sum.imag() - sides * here.imag());
    const Cell damped(squared * here.real(), squared * here.imag());
    return here + diffusion * laplace - damping * damped;
  }

  // Of the mode that changes sign from each cell to the next, where |A| is 1.
  double fastest_rate() const { return 4 * Dims * static_cast<double>(diffusion.real()) + 2; }

  Cell diffusion, damping;
};

}  // namespace dcgn::ginzburg_landau
