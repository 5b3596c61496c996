// What a phase separating field is judged by: its mass, its free energy, and how large its domains are.
#pragma once

#include "stencil/src/output/field_source.hpp"

#include <cstdint>
#include <vector>

namespace dcgn::stencil {

// A free energy density of Ginzburg and Landau's form, with |u|^2 = u^2 in real fields:
//   quadratic/2 |u|^2 + quartic/4 |u|^4 + gradient/2 |grad u|^2
// That of the Cahn-Hilliard equation (Playne and Hawick 2011, equation 1) has -B, U and K.
struct Landau {
  double quadratic = -1, quartic = 1, gradient = 1;
};

struct Statistics {
  double mass = 0;  // the integral of u, of |psi|^2 for complex cells
  double free_energy = 0;
  double least = 0, greatest = 0;  // of u, of |psi|
};

// In one pass over the layers. Integrals are sums over cells by the volume of one, and compensated, so that they are
// exact to about 1e-16 of the sum of magnitudes however many cells there are. The gradient is that of differences from
// each cell to the next one, whose functional derivative is the usual Laplacian of 2d + 1 points; across a side that is
// not periodic there is none.
Statistics statistics_of(const FieldSource& source, const Landau& energy, bool periodic = true);

// S(k) = |sum over cells of (u - mean) exp(-i k x)|^2 / cells, averaged over the modes of shells of equal |k|: shell n
// has those with |k| nearest to n 2 pi / L, where L is the grid's longest side, up to the wave number that the coarsest
// dimension resolves in all directions. Shells without modes are left out.
struct StructureFactor {
  struct Shell {
    double k = 0;  // n 2 pi / L, in radians per length
    double s = 0;
    std::int64_t modes = 0;
  };
  std::vector<Shell> shells;

  // 2 pi / k1, where k1 is the first moment of the average above: sum k S(k) / sum S(k), over shells of one width and
  // without the weight k^(d-1) that integrals over all modes have. Not a number where the field is uniform.
  double domain_length() const;
};

// Takes memory for the whole field in double precision, and FFTW; Error(unsupported) where Decagon was built without
// it.
StructureFactor structure_factor(const FieldSource& source);
// Whether it was built with it.
bool has_structure_factor();

}  // namespace dcgn::stencil
