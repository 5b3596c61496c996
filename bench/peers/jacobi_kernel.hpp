// Jacobi's iteration of the peers: a part of a periodic plane, rows of n cells with a halo row before and after them,
// and its kernel, in which a thread goes down a few rows of a column with the cells above and below in registers.
#pragma once

#include "stencil/bench/jacobi.hpp"

#include <dcgn/gpu/kernel.hpp>

#include <cstdint>

namespace dcgn::bench::peer {

inline constexpr int jacobi_threads = 256, jacobi_rows = 16;  // of a block; rows that a thread goes down

// The rows of part `rank` of `ranks`, as even as may be.
struct JacobiPart {
  std::int64_t n, first, rows;

  JacobiPart(std::int64_t n_, int rank, int ranks) : n(n_), first(n_ * rank / ranks) {
    rows = n * (rank + 1) / ranks - first;
  }
  std::size_t cells() const { return static_cast<std::size_t>((rows + 2) * n); }
};

// lines: begin
// Rows begin .. end - 1 of those between the halos, which are rows 0 and rows + 1.
struct JacobiRows {
  DCGN_HOST_DEVICE void operator()(gpu::Context& ctx, const float* in, float* out, std::int64_t n, std::int64_t begin,
                                   std::int64_t end) const {
    const std::int64_t columns = (n + ctx.num_threads() - 1) / ctx.num_threads();
    const std::int64_t strips = (end - begin + jacobi_rows - 1) / jacobi_rows;
    for (std::int64_t tile = ctx.block_rank(); tile < columns * strips; tile += ctx.num_blocks()) {
      const std::int64_t x = tile % columns * ctx.num_threads() + ctx.thread_rank();
      if (x >= n) continue;
      const std::int64_t left = x == 0 ? n - 1 : x - 1, right = x == n - 1 ? 0 : x + 1;
      const std::int64_t top = begin + tile / columns * jacobi_rows;
      const std::int64_t bottom = top + jacobi_rows < end ? top + jacobi_rows : end;
      float above = in[(top - 1) * n + x], here = in[top * n + x];
      for (std::int64_t y = top; y < bottom; ++y) {
        const float below = in[(y + 1) * n + x];
        out[y * n + x] = ((in[y * n + left] + in[y * n + right]) + (above + below)) * 0.25f;
        above = here;
        here = below;
      }
    }
  }
};
// lines: end

// Blocks for so many rows: all that there is work for, or as many as are resident.
inline unsigned jacobi_blocks(std::int64_t n, std::int64_t rows, int resident) {
  const std::int64_t tiles = (n + jacobi_threads - 1) / jacobi_threads * ((rows + jacobi_rows - 1) / jacobi_rows);
  return static_cast<unsigned>(tiles < resident ? (tiles > 0 ? tiles : 1) : resident);
}

// The start of a part, without its halos.
inline void fill_jacobi(const JacobiPart& part, float* rows) {
  for (std::int64_t y = 0; y < part.rows; ++y)
    for (std::int64_t x = 0; x < part.n; ++x) rows[y * part.n + x] = jacobi_start(x, part.first + y);
}

// How many cells near a part's ends are wrong after so many steps; `rows` are all of it, without its halos.
inline std::uint64_t count_wrong_ends(const JacobiPart& part, int steps, const float* rows) {
  const std::int64_t count = part.rows < 4 ? part.rows : 4, last = part.rows - count;
  return count_wrong_jacobi(part.n, steps, part.first, count, rows) +
         count_wrong_jacobi(part.n, steps, part.first + last, count, rows + last * part.n);
}

inline constexpr int jacobi_checked = 4;  // steps, after which ends are looked at
inline constexpr int jacobi_runs = 11;    // of so many steps, the first of which does not count

}  // namespace dcgn::bench::peer
