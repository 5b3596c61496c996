// The GPU-as-slave versions' kernels: the tile product of apps/cannon, a tile of C a block, and what fills a tile.
#pragma once

#include "apps/cannon/matrix.hpp"
#include "apps/cannon/tile.hpp"

#include <dcgn/gpu/kernel.hpp>

namespace dcgn::bench::peer {

// lines: begin
struct MultiplyTiles {
  static constexpr unsigned max_threads = cannon::tile_threads, blocks_per_multiprocessor = 2;

  DCGN_HOST_DEVICE void operator()(gpu::Context& ctx, const float* a, const float* b, float* c, int n,
                                   int width) const {
    const int block = static_cast<int>(ctx.block_rank()), blocks = static_cast<int>(ctx.num_blocks());
    switch (width) {
      case 8: return cannon::multiply_tiles<8>(ctx, a, b, c, n, block, blocks);
      case 4: return cannon::multiply_tiles<4>(ctx, a, b, c, n, block, blocks);
      case 2: return cannon::multiply_tiles<2>(ctx, a, b, c, n, block, blocks);
    }
  }
};

struct FillTiles {
  static constexpr unsigned max_threads = 128, blocks_per_multiprocessor = 2;

  DCGN_HOST_DEVICE void operator()(gpu::Context& ctx, int size, int row, int column, int n, float* a, float* b,
                                   float* c) const {
    const unsigned thread = ctx.block_rank() * ctx.num_threads() + ctx.thread_rank();
    const unsigned threads = ctx.num_blocks() * ctx.num_threads();
    fill_tile(cannon::Which::a, size, row, column, n, a, thread, threads);
    fill_tile(cannon::Which::b, size, row, column, n, b, thread, threads);
    for (std::size_t i = thread; i < static_cast<std::size_t>(n) * static_cast<std::size_t>(n); i += threads) c[i] = 0;
  }
};

// The width of tiles on a GPU that holds two blocks on each multiprocessor, and a block for each of them.
inline int cannon_width(int n, int multiprocessors) { return cannon::tile_width(n, 2 * multiprocessors); }
inline Launch cannon_launch(int n, int width) {
  const int edge = cannon::side * width, across = (n + edge - 1) / edge;
  return {.grid = static_cast<unsigned>(across * across),
          .block = cannon::tile_threads,
          .shared_bytes = cannon::tile_shared_bytes,
          .resident = false};
}
inline Launch fill_launch() { return {.grid = 64, .block = 128, .resident = false}; }
// lines: end

}  // namespace dcgn::bench::peer
