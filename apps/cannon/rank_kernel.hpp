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

// lines: begin
// How tiles move: by sendrecv_replace between two products, as in the paper, or by isend and irecv into another tile
// while the product before is computed.
enum class Shift { replace, overlap };

struct Task {
  int size;     // of the matrices
  int edge;     // of a tile
  int across;   // the grid's
  int repeats;  // how often all is done
  Shift shift;

  DCGN_HOST_DEVICE Cart grid() const { return Cart({across, across}, {true, true}); }
  DCGN_HOST_DEVICE std::size_t elements() const {
    return static_cast<std::size_t>(edge) * static_cast<std::size_t>(edge);
  }
};

// Of a rank: tiles of A and B, each with one to move into where that is asked for, a tile of C, and how long each
// repeat took, which rank 0 alone writes.
struct Memory {
  float *a, *b, *c;
  float *next_a, *next_b;
  std::uint64_t* took_ns;
};

// Each slot is some blocks, all of them on each message. The slots' memories lie one behind the other.
struct SlotMultiplier {
  static constexpr unsigned max_threads = tile_threads, blocks_per_multiprocessor = 2;

  DCGN_HOST_DEVICE void operator()(gpu::Context& ctx, gpu::Comm comm, Task task, Memory m) const {
    const unsigned blocks = ctx.num_blocks() / static_cast<unsigned>(comm.slots());
    const unsigned index = ctx.block_rank() / blocks, block = ctx.block_rank() % blocks;
    const gpu::Slot me = comm.slot(index);
    const gpu::BlocksScope scope = gpu::these_blocks(ctx, me, index * blocks, blocks);
    gpu::Slot mesh = me.cart(scope, task.grid());
    if (mesh.rank() < 0) return;  // not of the grid
    const std::size_t offset = index * task.elements();
    float *a = m.a + offset, *b = m.b + offset, *const c = m.c + offset;
    float *next_a = m.next_a + offset, *next_b = m.next_b + offset;
    for (int k = 0; k < task.repeats; ++k)
      if (product(ctx, mesh, scope, task, static_cast<int>(block), static_cast<int>(blocks), a, b, c, next_a, next_b,
                  mesh.rank() == 0 ? m.took_ns + k : nullptr) != Code::ok)
        return;
    mesh.release(scope);
  }

 private:
  using Tile = Span<float>;

  // Where A's and B's tiles are in the end, a and b point.
  DCGN_HOST_DEVICE static Code product(const gpu::Context& ctx, const gpu::Slot& mesh, const gpu::BlocksScope& scope,
                                       const Task& task, int block, int blocks, float*& a, float*& b, float* c,
                                       float*& next_a, float*& next_b, std::uint64_t* took_ns) {
    const Cart grid = task.grid();
    const int me = mesh.rank(), row = grid.coordinate(me, 0), column = grid.coordinate(me, 1), n = task.edge;
    fill_tile(Which::a, task.size, row * n, column * n, n, a, scope.rank(), scope.size());
    fill_tile(Which::b, task.size, row * n, column * n, n, b, scope.rank(), scope.size());
    for (std::size_t i = scope.rank(); i < task.elements(); i += scope.size()) c[i] = 0;
    Code code = mesh.barrier(scope);
    const std::uint64_t begin = now_ns();
    if (row && code == Code::ok) code = move(mesh, scope, Tile(a, task.elements()), grid.shift(me, 1, -row));
    if (column && code == Code::ok) code = move(mesh, scope, Tile(b, task.elements()), grid.shift(me, 0, -column));
    const Cart::Shift left = grid.shift(me, 1, -1), up = grid.shift(me, 0, -1);
    for (int step = 0; step < task.across && code == Code::ok; ++step) {
      const bool last = step + 1 == task.across, ahead = task.shift == Shift::overlap && !last;
      Request requests[4];
      if (ahead) {
        requests[0] = mesh.irecv(scope, Tile(next_a, task.elements()), left.from, 0);
        requests[1] = mesh.irecv(scope, Tile(next_b, task.elements()), up.from, 1);
        requests[2] = mesh.isend(scope, Tile(a, task.elements()), left.to, 0);
        requests[3] = mesh.isend(scope, Tile(b, task.elements()), up.to, 1);
      }
      multiply(ctx, a, b, c, n, block, blocks);
      if (last) break;
      if (ahead) {
        code = mesh.wait_all(scope, Span<const Request>(requests));
        swap(a, next_a);
        swap(b, next_b);
      } else {
        code = move(mesh, scope, Tile(a, task.elements()), left);
        if (code == Code::ok) code = move(mesh, scope, Tile(b, task.elements()), up);
      }
    }
    if (code == Code::ok) code = mesh.barrier(scope);
    if (took_ns && scope.leader()) *took_ns = now_ns() - begin;
    return code;
  }

  DCGN_HOST_DEVICE static Code move(const gpu::Slot& mesh, const gpu::BlocksScope& scope, Tile tile, Cart::Shift way) {
    return mesh.sendrecv_replace(scope, tile, way.to, 0, way.from, 0).code;
  }
  DCGN_HOST_DEVICE static void swap(float*& one, float*& other) {
    float* const kept = one;
    one = other;
    other = kept;
  }
};

// lines: end

inline void multiply_on_cpu(Comm& comm, const Task& task, const Memory& m) {
  const Cart grid = task.grid();
  Comm mesh = comm.cart(grid);
  if (mesh.rank() < 0) return;  // not of the grid
  using Tile = Span<float>;
  const int me = mesh.rank(), row = grid.coordinate(me, 0), column = grid.coordinate(me, 1), n = task.edge;
  const auto move = [&](float* tile, Cart::Shift way) {
    mesh.sendrecv_replace(Tile(tile, task.elements()), way.to, 0, way.from, 0);
  };
  float *a = m.a, *b = m.b, *next_a = m.next_a, *next_b = m.next_b;
  for (int k = 0; k < task.repeats; ++k) {
    fill_tile(Which::a, task.size, row * n, column * n, n, a, 0, 1);
    fill_tile(Which::b, task.size, row * n, column * n, n, b, 0, 1);
    std::fill_n(m.c, task.elements(), 0.0f);
    mesh.barrier();
    const std::uint64_t begin = now_ns();
    if (row) move(a, grid.shift(me, 1, -row));
    if (column) move(b, grid.shift(me, 0, -column));
    const Cart::Shift left = grid.shift(me, 1, -1), up = grid.shift(me, 0, -1);
    for (int step = 0; step < task.across; ++step) {
      const bool last = step + 1 == task.across, ahead = task.shift == Shift::overlap && !last;
      Request requests[4];
      if (ahead) {
        requests[0] = mesh.irecv(Tile(next_a, task.elements()), left.from, 0);
        requests[1] = mesh.irecv(Tile(next_b, task.elements()), up.from, 1);
        requests[2] = mesh.isend(Tile(a, task.elements()), left.to, 0);
        requests[3] = mesh.isend(Tile(b, task.elements()), up.to, 1);
      }
      multiply(a, b, m.c, n);
      if (last) break;
      if (ahead) {
        mesh.wait_all(Span<const Request>(requests));
        std::swap(a, next_a);
        std::swap(b, next_b);
      } else {
        move(a, left);
        move(b, up);
      }
    }
    mesh.barrier();
    if (me == 0) m.took_ns[k] = now_ns() - begin;
  }
}

}  // namespace dcgn::cannon
