// The GPU-as-slave Mandelbrot's kernel: a strip by all threads of the grid. Its pixels are those of apps/mandelbrot.
#pragma once

#include "apps/mandelbrot/pixel.hpp"

#include <dcgn/gpu/kernel.hpp>

namespace dcgn::bench::peer {

// lines: begin
struct ComputeStrip {
  DCGN_HOST_DEVICE void operator()(gpu::Context& ctx, mandelbrot::Task task, mandelbrot::Strip strip,
                                   mandelbrot::Pixel* pixels) const {
    compute(task, strip, pixels, ctx.block_rank() * ctx.num_threads() + ctx.thread_rank(),
            ctx.num_blocks() * ctx.num_threads());
  }
};
// lines: end

}  // namespace dcgn::bench::peer
