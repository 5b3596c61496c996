// The workers: a slot's kernel, a block each, and a CPU rank's.
//
// A worker tells the master which strip it has done (none at first) by a `request`, sends the strip's pixels as a
// `result`, and receives an `order` for the next strip; an empty order ends it.
#pragma once

#include "apps/mandelbrot/pixel.hpp"

#include <dcgn/comm.hpp>
#include <dcgn/gpu/comm.hpp>

#include <cstddef>
#include <vector>

namespace dcgn::mandelbrot {

inline constexpr int master = 0;
// lines: begin
inline constexpr int request = 1, result = 2, order = 3;  // tags

DCGN_HOST_DEVICE inline std::size_t pixels_in(const Task& task, Strip strip) {
  return static_cast<std::size_t>(strip.rows) * static_cast<std::size_t>(task.width);
}

// Each slot has room for `pixels_per_slot` in `memory`; the block's shared memory holds a Strip.
struct SlotWorker {
  static constexpr unsigned max_threads = 1024, blocks_per_multiprocessor = 1;

  DCGN_HOST_DEVICE void operator()(gpu::Context& ctx, gpu::Comm comm, Task task, Pixel* memory,
                                   std::size_t pixels_per_slot) const {
    const gpu::Slot me = comm.slot(ctx.block_rank());
    const auto block = gpu::this_block(ctx);
    Pixel* pixels = memory + ctx.block_rank() * pixels_per_slot;
    Strip* strip = ctx.shared<Strip>();
    if (block.leader()) *strip = {};
    for (;;) {
      if (me.send(block, *strip, master, request) != Code::ok) return;
      if (strip->rows && me.send(block, Span(pixels, pixels_in(task, *strip)), master, result) != Code::ok) return;
      if (!me.recv(block, *strip, master, order) || strip->rows == 0) return;
      compute(task, *strip, pixels, ctx.thread_rank(), ctx.num_threads());
    }
  }
};

// lines: end

inline void cpu_worker(Comm& comm, const Task& task) {
  std::vector<Pixel> pixels;
  for (Strip strip;;) {
    comm.send(strip, master, request);
    if (strip.rows) comm.send(pixels, master, result);
    comm.recv(strip, master, order);
    if (strip.rows == 0) return;
    pixels.resize(pixels_in(task, strip));
    compute(task, strip, pixels.data(), 0, 1);
  }
}

}  // namespace dcgn::mandelbrot
