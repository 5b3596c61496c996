// The two pictures of a run: the fractal, and who computed which strip of it (the paper's figure 5).
#pragma once

#include "apps/image/image.hpp"
#include "apps/mandelbrot/mandelbrot.hpp"

namespace dcgn::mandelbrot {

image::Image fractal_picture(const Options& options, const Outcome& outcome);
// Strips in the colour of their rank, over the fractal, with a legend below.
image::Image ranks_picture(const Options& options, const Outcome& outcome);

}  // namespace dcgn::mandelbrot
