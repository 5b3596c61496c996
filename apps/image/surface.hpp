// A field of three dimensions seen from outside: the surface on which it has one value, as in figure 1 of Playne and
// Hawick 2011.
#pragma once

#include "apps/image/image.hpp"
#include "stencil/src/output/field_source.hpp"

namespace dcgn::image {

struct View {
  int width = 900, height = 900;
  double value = 0;              // the surface's; where the field is greater there is matter, which the box's sides cut
  bool below = false;            // where it is less: the cores of vortices are, in a magnitude
  double turn = 30, above = 24;  // degrees about z, and above the plane of x and y, from where one looks
  int most_cells = 256;          // along a dimension; a larger field is averaged over blocks of cells
};

// Rays through each pixel, cast to the first point of matter, which is found by bisection and lit by
// two lights and by how much of the sky is open there. The box's edges are drawn, those behind matter are hidden by it.
// By all of the machine's processors. Takes the averaged field's memory. Real cells, or the magnitude of complex ones.
// Throws Error(configuration) for fields of other than three dimensions.
Image surface(const stencil::FieldSource& source, const View& view);

}  // namespace dcgn::image
