// Pictures of fields: a plane of cells in colours that the eye sees as evenly apart as the values are.
#pragma once

#include "apps/image/image.hpp"
#include "stencil/src/output/field_source.hpp"

#include <cstdint>
#include <span>

namespace dcgn::image {

// Values below 0 from white to blue, above to red, dark at -1 and 1: for order parameters, whose sign is the phase. All
// between are of equal steps in lightness. Not a number is grey.
Colour diverging(double value);
// From black over red to light yellow, 0 to 1: for temperatures.
Colour heat(double value);
// The phase of a complex number as hue, its magnitude, 0 to 1, as lightness: vortices are dark points about which all
// hues are.
Colour phase(double real, double imaginary);

enum class Palette { diverging, heat, phase };

// Which values get the palette's ends: `greatest` for diverging and phase, both for heat.
struct Range {
  double least = 0, greatest = 1;
};

// A field of two dimensions, or the middle plane (z) of one of three, at most so many pixels wide and high: an average
// over k x k cells is a pixel, or k x k pixels are a cell, with the same k for both. y goes upwards. Throws
// Error(configuration) for fields of one dimension, and of four.
Image picture(const stencil::FieldSource& source, Palette palette, Range range, int most_pixels);

}  // namespace dcgn::image
