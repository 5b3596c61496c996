// Step 8: communicators. Slots leave the CPU rank to itself and lie on a grid; each row of it is a communicator, too.
#include <dcgn/dcgn.hpp>

#include <cstdio>

constexpr int rows = 2, columns = 3;

struct Cell {
  DCGN_HOST_DEVICE void operator()(dcgn::gpu::Context& ctx, dcgn::gpu::Comm comm) const {
    const dcgn::gpu::Slot world = comm.slot(ctx.block_rank());
    const dcgn::gpu::WarpScope warp = dcgn::gpu::this_warp(ctx);

    // Communicators are made by all ranks of the one that they are made of. Here the slots are ranks 1 to 6 of the
    // world, and ranks 0 to 5 of `slots`.
    dcgn::gpu::Slot slots = world.split(warp, 1, world.rank());
    const dcgn::Cart grid({rows, columns}, {false, true});  // arithmetic only; along a row it wraps around
    dcgn::gpu::Slot mesh = slots.cart(warp, grid);
    const int row = grid.coordinate(mesh.rank(), 0), column = grid.coordinate(mesh.rank(), 1);

    // What each one has goes to its neighbour on the right; the last one's to the first one of the row. It is in memory
    // that all threads of the scope reach.
    int* numbers = ctx.shared<int>();
    int &x = numbers[0], &sum = numbers[1];
    if (warp.leader()) x = 10 * row + column;
    const dcgn::Cart::Shift along = grid.shift(mesh.rank(), 1, 1);
    mesh.sendrecv_replace(warp, x, along.to, 0, along.from, 0);

    // Ranks of one color become one communicator, in order of the key. A message or a collective of it meets no other.
    dcgn::gpu::Slot in_row = mesh.split(warp, row, column);
    in_row.all_reduce(warp, x, sum, dcgn::Sum{});

    const int above = grid.neighbour(mesh.rank(), 0, -1);  // no_rank in row 0: no call takes that
    const int found[] = {row, column, x, sum, above == dcgn::no_rank};
    world.send(warp, found, 0);
    in_row.release(warp);  // they give back what they use
    mesh.release(warp);
    slots.release(warp);
  }
};

int main() {
  const int gpus = dcgn::Device::count() > 1 ? 2 : 1;
  dcgn::Job job({.nodes = {{.cpus = 1, .gpus = gpus, .slots = rows * columns / gpus}}});
  job.cpu([](dcgn::Comm& world) {
    const dcgn::Comm none = world.split(-1, 0);  // all ranks make the call; a negative color is of no communicator
    std::printf("rank 0 is number %d of %d without the slots\n", none.rank(), none.size());
    for (int r = 1; r < world.size(); ++r) {
      int found[5] = {};
      world.recv(found, r);
      const int row = found[0], column = found[1], left = (column + columns - 1) % columns;
      std::printf("row %d, column %d: %2d came from the left, the row's sum is %d%s\n", row, column, found[2], found[3],
                  found[4] ? ", nobody above" : "");
      if (row * columns + column != r - 1 || found[2] != 10 * row + left || found[4] != (row == 0) ||
          found[3] != columns * 10 * row + columns * (columns - 1) / 2)
        throw dcgn::Error(dcgn::Code::kernel_failed, "grid", "a wrong number");
    }
  });
  job.gpu({.grid = dcgn::one_block_per_slot, .block = 32, .shared_bytes = 2 * sizeof(int)}, Cell{});
  job.run();
}
