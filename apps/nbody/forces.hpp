// The forces on some of the bodies, by the threads of a block: what slots compute, and what the GPU-as-slave versions
// in bench/peers/ launch.
#pragma once

#include "apps/nbody/body.hpp"

#include <dcgn/arch/context.hpp>

#include <algorithm>
#include <cstddef>

namespace dcgn::nbody {

// Bodies that a thread has in registers, so that each that it reads from shared memory serves as many times.
inline constexpr int bodies_per_thread = 4;
// Bodies of a tile that a thread brings to shared memory.
inline constexpr int loads_per_thread = 2;

// Of a block of so many threads, a power of two from 32 on: two tiles.
constexpr std::size_t force_shared_bytes(unsigned threads) { return 2 * sizeof(Body) * loads_per_thread * threads; }

// How the threads of a block are arranged for `count` bodies: in rows and columns. A column has four bodies of its own;
// its rows share all others, every so-manyth of a tile each, and add up in the end.
struct Arrangement {
  int columns = 1, rows, shift = 0;

  DCGN_HOST_DEVICE Arrangement(int threads, int count) : rows(threads) {
    for (; columns < threads && columns * bodies_per_thread < count; ++shift) {
      columns *= 2;
      rows /= 2;
    }
  }
  DCGN_HOST_DEVICE int stretch() const { return columns * bodies_per_thread; }
  DCGN_HOST_DEVICE int lanes() const { return columns < 32 ? columns : 32; }  // columns of a warp
  // Sums of each body that come to shared memory.
  DCGN_HOST_DEVICE int parts(int threads) const { return lanes() < 32 ? threads >> 5 : rows; }
};

// The forces of all bodies on those from `begin` on that the threads have at once: `parts` sums of each, a stretch
// after the other in shared memory. While the threads work on one tile, the next one is on its way.
template <bool WithPotential>
DCGN_HOST_DEVICE inline void add_up_forces(const gpu::Context& ctx, const Arrangement& threads_are, const Body* all,
                                           int bodies, int first, int count, int begin, float softening2) {
  const int threads = static_cast<int>(ctx.num_threads()), me = static_cast<int>(ctx.thread_rank());
  const int tile = loads_per_thread * threads;
  const int columns = threads_are.columns, rows = threads_are.rows, lanes = threads_are.lanes();
  const int row = me >> threads_are.shift, column = me & (columns - 1);
  Body* const shared = ctx.shared<Body>();
  Body mine[bodies_per_thread];
  Force force[bodies_per_thread];
  for (int k = 0; k < bodies_per_thread; ++k) {
    const int b = begin + column + k * columns;
    mine[k] = all[first + (b < count ? b : 0)];
  }
  Body next[loads_per_thread];
  const auto load = [&](int from) {
    for (int k = 0; k < loads_per_thread; ++k) {
      const int i = from + me + k * threads;
      next[k] = i < bodies ? all[i] : Body{};  // without mass
    }
  };
  const auto store = [&](Body* to) {
    for (int k = 0; k < loads_per_thread; ++k) to[me + k * threads] = next[k];
  };
  load(0);
  store(shared);
  ctx.sync_block();
  Body *here = shared, *there = shared + tile;
  for (int from = 0; from < bodies; from += tile) {
    const bool more = from + tile < bodies;
    if (more) load(from + tile);
#if defined(__CUDA_ARCH__)
#pragma unroll 4
#endif
    for (int i = row; i < tile; i += rows) {
      const Body other = here[i];
      for (int k = 0; k < bodies_per_thread; ++k) attract<WithPotential>(mine[k], other, softening2, force[k]);
    }
    if (more) store(there);
    ctx.sync_block();
    Body* const read = here;
    here = there;
    there = read;
  }

  // The rows' sums: those of a warp by exchange, then those of the warps through shared memory.
  for (unsigned step = static_cast<unsigned>(lanes); step < gpu::warp_size; step *= 2)
    for (Force& f : force) {
      f.x += ctx.shuffle_xor(f.x, step);
      f.y += ctx.shuffle_xor(f.y, step);
      f.z += ctx.shuffle_xor(f.z, step);
      if constexpr (WithPotential) f.potential += ctx.shuffle_xor(f.potential, step);
    }
  Force* const sums = ctx.shared<Force>();
  const int part = lanes < 32 ? me >> 5 : row;
  if (static_cast<int>(ctx.lane()) < lanes)
    for (int k = 0; k < bodies_per_thread; ++k) sums[part * threads_are.stretch() + column + k * columns] = force[k];
  ctx.sync_block();
}

// Calls use(b, force) for the bodies `first` to `first + count` - 1 of all `bodies`, b = 0 to count - 1, each by one
// thread: for a body the same one at each call. Bodies that others have written must be visible to the block.
template <bool WithPotential, class Use>
DCGN_HOST_DEVICE void compute_forces(const gpu::Context& ctx, const Body* all, int bodies, int first, int count,
                                     float softening2, const Use& use) {
  const int threads = static_cast<int>(ctx.num_threads()), me = static_cast<int>(ctx.thread_rank());
  const Arrangement threads_are(threads, count);
  const int stretch = threads_are.stretch(), parts = threads_are.parts(threads);
  for (int begin = 0; begin < count; begin += stretch) {
    add_up_forces<WithPotential>(ctx, threads_are, all, bodies, first, count, begin, softening2);
    const Force* const sums = ctx.shared<Force>();
    const int left = count - begin < stretch ? count - begin : stretch;
    for (int b = me; b < left; b += threads) {
      Force sum = sums[b];
      for (int p = 1; p < parts; ++p) {
        const Force& more = sums[p * stretch + b];
        sum.x += more.x;
        sum.y += more.y;
        sum.z += more.z;
        sum.potential += more.potential;
      }
      use(begin + b, sum);
    }
    ctx.sync_block();
  }
}

// The same by one thread of the host.
template <bool WithPotential, class Use>
void compute_forces(const Body* all, int bodies, int first, int count, float softening2, const Use& use) {
  for (int begin = 0; begin < count; begin += bodies_per_thread) {
    const int here = std::min(bodies_per_thread, count - begin);
    Body mine[bodies_per_thread];
    Force force[bodies_per_thread];
    for (int k = 0; k < bodies_per_thread; ++k) mine[k] = all[first + begin + std::min(k, here - 1)];
    for (int i = 0; i < bodies; ++i)
      for (int k = 0; k < bodies_per_thread; ++k) attract<WithPotential>(mine[k], all[i], softening2, force[k]);
    for (int k = 0; k < here; ++k) use(begin + k, force[k]);
  }
}

}  // namespace dcgn::nbody
