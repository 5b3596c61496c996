// The workers: a slot's kernel, a block each, and a CPU rank's.
//
// A worker tells the master which strip it has done (none at first) by a `request` and receives an `order` for the next
// one; an empty order ends it. Workers of the master's process store pixels where they belong in the master's picture;
// those of other processes have none, and send a strip's pixels as a `result` after the request.
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

// Without a picture each slot has room for `most` pixels in `own`. The block's shared memory holds a Strip.
struct SlotWorker {
  static constexpr unsigned max_threads = 1024, blocks_per_multiprocessor = 1;

  DCGN_HOST_DEVICE void operator()(gpu::Context& ctx, gpu::Comm comm, Task task, Pixel* picture, Pixel* own,
                                   int most) const {
    const gpu::Slot me = comm.slot(ctx);
    const gpu::BlockScope block = gpu::this_block(ctx);
    Strip* const strip = ctx.shared<Strip>();
    if (block.leader()) *strip = {};
    Pixel* pixels = own + std::ptrdiff_t{me.slot()} * most;
    for (;;) {
      if (me.send(block, *strip, master, request) != Code::ok) return;
      const Span<Pixel> done(pixels, static_cast<std::size_t>(strip->pixels));
      if (!picture && !done.empty() && me.send(block, done, master, result) != Code::ok) return;
      if (!me.recv(block, *strip, master, order) || strip->pixels == 0) return;
      if (picture) pixels = picture + strip->first;
      compute(task, *strip, pixels, ctx.thread_rank(), ctx.num_threads());
      gpu::fence(block);
    }
  }
};
// lines: end

inline void cpu_worker(Comm& comm, const Task& task, Pixel* picture) {
  std::vector<Pixel> own;
  for (Strip strip;;) {
    comm.send(strip, master, request);
    if (!picture && strip.pixels) comm.send(own, master, result);
    comm.recv(strip, master, order);
    if (strip.pixels == 0) return;
    if (!picture) own.resize(static_cast<std::size_t>(strip.pixels));
    compute(task, strip, picture ? picture + strip.first : own.data(), 0, 1);
  }
}

}  // namespace dcgn::mandelbrot
