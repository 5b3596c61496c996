// C += A B of square matrices by blocks of 256 threads: what slots compute, and what the GPU-as-slave versions in
// bench/peers/ launch. Matrices are row-major, n x n.
//
// A tile of C is a block's. Strips of A and B come to shared memory, `depth` columns and rows at a time; each thread
// multiplies rows and columns of its own in registers, so that it reads one number from shared memory for several
// multiplications; meanwhile the next strips are on their way.
#pragma once

#include <dcgn/arch/context.hpp>
#include <dcgn/host_device.hpp>

#include <cstddef>

namespace dcgn::cannon {

inline constexpr int side = 16;  // a block's threads are side x side
inline constexpr unsigned tile_threads = side * side;

DCGN_HOST_DEVICE constexpr int least(int a, int b) { return a < b ? a : b; }

// Tiles of C with `Width` x `Width` elements a thread: 2, 4 or 8. The wider, the fewer reads; the narrower, the more
// blocks find work in a small matrix.
template <int Width>
struct Tile {
  static constexpr int edge = side * Width;
  static constexpr int depth = Width == 8 ? 8 : 16;
  static constexpr int word = least(Width, 4);  // elements that are read at once
  static constexpr int stride = edge + 4;       // of a row of a strip; apart from each other in the banks
  static constexpr int strip = depth * stride;
  static constexpr std::size_t shared_bytes = 4 * strip * sizeof(float);  // of A and B, two each
};

inline constexpr std::size_t tile_shared_bytes =
    Tile<8>::shared_bytes > Tile<4>::shared_bytes ? Tile<8>::shared_bytes : Tile<4>::shared_bytes;

template <int Count>
struct alignas(Count * sizeof(float)) Word {
  float value[Count];
};

// A block's tile in row `tile_row` and column `tile_column` of tiles. All threads of the block call it.
template <int Width>
DCGN_HOST_DEVICE inline void multiply_tile(const gpu::Context& ctx, const float* a, const float* b, float* c, int n,
                                           int tile_row, int tile_column) {
  using T = Tile<Width>;
  constexpr int threads = side * side, loads = T::edge * T::depth / threads, words = Width / T::word;
  const int me = static_cast<int>(ctx.thread_rank()), row = me / side, column = me % side;
  const int first_row = tile_row * T::edge, first_column = tile_column * T::edge;
  float* const shared = ctx.shared<float>();

  float next_a[loads], next_b[loads];
  const auto load = [&](int from) {  // columns of A and rows of B from there on
    for (int k = 0; k < loads; ++k) {
      const int i = me + k * threads;
      const int ra = first_row + i / T::depth, ca = from + i % T::depth;
      const int rb = from + i / T::edge, cb = first_column + i % T::edge;
      next_a[k] = ra < n && ca < n ? a[static_cast<std::ptrdiff_t>(ra) * n + ca] : 0;
      next_b[k] = rb < n && cb < n ? b[static_cast<std::ptrdiff_t>(rb) * n + cb] : 0;
    }
  };
  const auto store = [&](float* strip) {  // A transposed, then B
    for (int k = 0; k < loads; ++k) {
      const int i = me + k * threads;
      strip[i % T::depth * T::stride + i / T::depth] = next_a[k];
      strip[T::strip + i / T::edge * T::stride + i % T::edge] = next_b[k];
    }
  };

  float sum[Width][Width] = {};
  load(0);
  store(shared);
  ctx.sync_block();
  float *here = shared, *there = shared + 2 * T::strip;
  for (int from = 0; from < n; from += T::depth) {
    const bool more = from + T::depth < n;
    if (more) load(from + T::depth);
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
    for (int k = 0; k < T::depth; ++k) {
      Word<T::word> left[words], right[words];
      for (int w = 0; w < words; ++w) {
        const float* const line = here + k * T::stride + w * side * T::word;
        left[w] = *reinterpret_cast<const Word<T::word>*>(line + row * T::word);
        right[w] = *reinterpret_cast<const Word<T::word>*>(line + T::strip + column * T::word);
      }
      for (int i = 0; i < Width; ++i)
        for (int j = 0; j < Width; ++j)
          sum[i][j] += left[i / T::word].value[i % T::word] * right[j / T::word].value[j % T::word];
    }
    if (more) store(there);
    ctx.sync_block();
    float* const read = here;
    here = there;
    there = read;
  }
  for (int i = 0; i < Width; ++i)
    for (int j = 0; j < Width; ++j) {
      const int r = first_row + i / T::word * side * T::word + row * T::word + i % T::word;
      const int s = first_column + j / T::word * side * T::word + column * T::word + j % T::word;
      if (r < n && s < n) c[static_cast<std::ptrdiff_t>(r) * n + s] += sum[i][j];
    }
}

// How wide tiles must be for `blocks` blocks to have work.
DCGN_HOST_DEVICE inline int tile_width(int n, int blocks) {
  const auto tiles = [n](int width) {
    const int edge = side * width, across = (n + edge - 1) / edge;
    return across * across;
  };
  // A wider tile that leaves blocks idle is worth it as long as half of them work: it reads half as much.
  return 2 * tiles(8) > blocks ? 8 : 2 * tiles(4) > blocks ? 4 : 2;
}

// All tiles of the product, by `blocks` blocks of which this one is the `block`th. A function of its own, which has all
// registers for its loop; static, so that ptxas knows how many its callers may have.
template <int Width>
[[gnu::noinline]] DCGN_HOST_DEVICE static void multiply_tiles(const gpu::Context& ctx, const float* a, const float* b,
                                                              float* c, int n, int block, int blocks) {
  const int across = (n + Tile<Width>::edge - 1) / Tile<Width>::edge;
  for (int t = block; t < across * across; t += blocks) multiply_tile<Width>(ctx, a, b, c, n, t / across, t % across);
}

DCGN_HOST_DEVICE inline void multiply(const gpu::Context& ctx, const float* a, const float* b, float* c, int n,
                                      int block, int blocks) {
  switch (tile_width(n, blocks)) {
    case 8: return multiply_tiles<8>(ctx, a, b, c, n, block, blocks);
    case 4: return multiply_tiles<4>(ctx, a, b, c, n, block, blocks);
    case 2: return multiply_tiles<2>(ctx, a, b, c, n, block, blocks);
  }
}

// The same by one thread of the host.
inline void multiply(const float* a, const float* b, float* c, int n) {
  for (int i = 0; i < n; ++i)
    for (int k = 0; k < n; ++k) {
      const float x = a[static_cast<std::ptrdiff_t>(i) * n + k];
      const float* const from = b + static_cast<std::ptrdiff_t>(k) * n;
      float* const to = c + static_cast<std::ptrdiff_t>(i) * n;
      for (int j = 0; j < n; ++j) to[j] += x * from[j];
    }
}

}  // namespace dcgn::cannon
