// What a rank does: a slot's kernel, and a CPU rank's. They are the same steps.
//
// Cannon's algorithm on a grid of q x q ranks, whose rows and columns wrap around: each has a tile of A, B and C. First
// the tiles of row i move i to the left in A, those of column j move j up in B; then q times each rank multiplies what
// it has, and A moves one to the left, B one up.
#pragma once

#include "apps/cannon/matrix.hpp"
#include "apps/cannon/tile.hpp"

#include <dcgn/arch/clock.hpp>
#include <dcgn/cart.hpp>
#include <dcgn/comm.hpp>
#include <dcgn/gpu/comm.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace dcgn::cannon {

struct Task {
  int size;     // of the matrices
  int edge;     // of a tile
  int across;   // the grid's
  int repeats;  // how often all is done

  DCGN_HOST_DEVICE Cart grid() const { return Cart({across, across}, {true, true}); }
  DCGN_HOST_DEVICE std::size_t elements() const {
    return static_cast<std::size_t>(edge) * static_cast<std::size_t>(edge);
  }
};

// lines: begin
// A CPU rank's memory, or that of a GPU's slots: a tile of A, of B and of C for each, one behind the other.
struct Memory {
  float* tiles;
  std::uint64_t* took_ns;  // each repeat, by rank 0's clock
};

// Each slot is some blocks, all of them on each message.
struct SlotMultiplier {
  static constexpr unsigned max_threads = tile_threads, blocks_per_multiprocessor = 2;

  DCGN_HOST_DEVICE void operator()(gpu::Context& ctx, gpu::Comm comm, Task task, Memory memory) const {
    const gpu::BlocksScope blocks = comm.blocks(ctx);
    const Cart grid = task.grid();
    gpu::Slot mesh = comm.slot(ctx).cart(blocks, grid);
    if (mesh.rank() < 0) return;  // not of the grid
    const int me = mesh.rank(), row = grid.coordinate(me, 0), column = grid.coordinate(me, 1), n = task.edge;
    float *const a = memory.tiles + 3 * task.elements() * static_cast<std::size_t>(mesh.slot()),
                 *const b = a + task.elements(), *const c = b + task.elements();
    const auto move = [&](float* tile, Cart::Shift way) {
      return mesh.sendrecv_replace(blocks, Span(tile, task.elements()), way.to, 0, way.from, 0).code == Code::ok;
    };
    for (int k = 0; k < task.repeats; ++k) {
      fill_tile(Which::a, task.size, row * n, column * n, n, a, blocks.rank(), blocks.size());
      fill_tile(Which::b, task.size, row * n, column * n, n, b, blocks.rank(), blocks.size());
      for (std::size_t i = blocks.rank(); i < task.elements(); i += blocks.size()) c[i] = 0;
      if (mesh.barrier(blocks) != Code::ok) return;
      const std::uint64_t begin = now_ns();
      if (row && !move(a, grid.shift(me, 1, -row))) return;
      if (column && !move(b, grid.shift(me, 0, -column))) return;
      for (int step = 0; step < task.across; ++step) {
        if (step && !move(a, grid.shift(me, 1, -1))) return;
        if (step && !move(b, grid.shift(me, 0, -1))) return;
        multiply(ctx, a, b, c, n, static_cast<int>(blocks.block_rank()), static_cast<int>(blocks.blocks()));
      }
      if (mesh.barrier(blocks) != Code::ok) return;
      if (me == 0 && blocks.leader()) memory.took_ns[k] = now_ns() - begin;
    }
    mesh.release(blocks);
  }
};
// lines: end

inline void multiply_on_cpu(Comm& comm, const Task& task, const Memory& memory) {
  const Cart grid = task.grid();
  Comm mesh = comm.cart(grid);
  if (mesh.rank() < 0) return;  // not of the grid
  const int me = mesh.rank(), row = grid.coordinate(me, 0), column = grid.coordinate(me, 1), n = task.edge;
  float *const a = memory.tiles, *const b = a + task.elements(), *const c = b + task.elements();
  const auto move = [&](float* tile, Cart::Shift way) {
    mesh.sendrecv_replace(Span(tile, task.elements()), way.to, 0, way.from, 0);
  };
  for (int k = 0; k < task.repeats; ++k) {
    fill_tile(Which::a, task.size, row * n, column * n, n, a, 0, 1);
    fill_tile(Which::b, task.size, row * n, column * n, n, b, 0, 1);
    std::fill_n(c, task.elements(), 0.0f);
    mesh.barrier();
    const std::uint64_t begin = now_ns();
    if (row) move(a, grid.shift(me, 1, -row));
    if (column) move(b, grid.shift(me, 0, -column));
    for (int step = 0; step < task.across; ++step) {
      if (step) move(a, grid.shift(me, 1, -1));
      if (step) move(b, grid.shift(me, 0, -1));
      multiply(a, b, c, n);
    }
    mesh.barrier();
    if (me == 0) memory.took_ns[k] = now_ns() - begin;
  }
}

}  // namespace dcgn::cannon
