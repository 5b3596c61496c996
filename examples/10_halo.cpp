// Step 10: a halo exchange in one kernel. Jacobi's method on a torus, a tile for each slot: edges go to the neighbours
// every step, all slots agree when to stop, and nothing returns to the host before.
#include <dcgn/dcgn.hpp>

#include <cmath>
#include <cstdio>
#include <utility>
#include <vector>

constexpr int grid_rows = 2, grid_columns = 2;  // of slots
constexpr int height = 12, width = 16;          // of a tile
constexpr int stride = width + 2;               // which has one more cell on each side: the neighbours' edges
constexpr int cells = (height + 2) * stride, most_steps = 2000;
constexpr float enough = 0.05f;  // of a degree: when no cell changes more in a step, it is done

// What a cell becomes.
DCGN_HOST_DEVICE inline float average(float above, float below, float left, float right) {
  return 0.25f * ((above + below) + (left + right));
}

struct Jacobi {
  // `tiles`: two for each slot. `column`: of a tile, without its corners.
  DCGN_HOST_DEVICE void operator()(dcgn::gpu::Context& ctx, dcgn::gpu::Comm comm, dcgn::gpu::Datatype column,
                                   float* tiles, int* steps) const {
    const dcgn::gpu::Slot world = comm.slot(ctx.block_rank());
    const dcgn::gpu::BlockScope block = dcgn::gpu::this_block(ctx);
    const dcgn::Cart grid({grid_rows, grid_columns}, {true, true});
    dcgn::gpu::Slot me = world.cart(block, grid);
    float* u = tiles + 2 * world.slot() * cells;
    float* next = u + cells;
    float* change = ctx.shared<float>();  // of each thread, the largest

    int step = 0;
    for (; step < most_steps; ++step) {
      for (const int way : {-1, 1}) {
        // To the one above, from the one below; then the other way. A row is a run of floats.
        const dcgn::Cart::Shift rows = grid.shift(me.rank(), 0, way);
        me.sendrecv(block, dcgn::Span<float>(u + (way < 0 ? 1 : height) * stride + 1, width), rows.to, 0,
                    dcgn::Span<float>(u + (way < 0 ? height + 1 : 0) * stride + 1, width), rows.from, 0);
        // To the one on the left, from the one on the right; then the other way. A column is a datatype.
        const dcgn::Cart::Shift columns = grid.shift(me.rank(), 1, way);
        me.sendrecv(block, column, u + stride + (way < 0 ? 1 : width), columns.to, 0,  //
                    column, u + stride + (way < 0 ? width + 1 : 0), columns.from, 0);
      }
      float mine = 0;
      for (unsigned i = block.rank(); i < height * width; i += block.size()) {
        const unsigned at = (i / width + 1) * stride + i % width + 1;
        next[at] = average(u[at - stride], u[at + stride], u[at - 1], u[at + 1]);
        mine = dcgn::Max{}(mine, std::abs(next[at] - u[at]));
      }
      change[block.rank()] = mine;
      block.sync();
      if (block.leader())
        for (unsigned i = 1; i < block.size(); ++i) change[0] = dcgn::Max{}(change[0], change[i]);
      me.all_reduce(block, change[0], dcgn::Max{});  // of all slots; each thread of the block sees it
      const bool done = change[0] < enough;
      block.sync();  // before anybody writes there again
      float* const old = u;
      u = next;
      next = old;
      if (done) break;
    }
    if (block.leader() && me.rank() == 0) *steps = step + 1;
    me.release(block);
  }
};

// A plate of 0 degrees with a square of 100.
float begin_of(int row, int column) { return row >= 4 && row < 16 && column >= 6 && column < 20 ? 100.0f : 0.0f; }

// The same by a plain loop, as many steps.
std::vector<float> plain(int steps) {
  constexpr int rows = grid_rows * height, columns = grid_columns * width;
  std::vector<float> u(rows * columns), next(u.size());
  const auto at = [](int row, int column) {
    return static_cast<std::size_t>((row + rows) % rows) * columns +
           static_cast<std::size_t>((column + columns) % columns);
  };
  for (int r = 0; r < rows; ++r)
    for (int c = 0; c < columns; ++c) u[at(r, c)] = begin_of(r, c);
  for (int s = 0; s < steps; ++s, u.swap(next))
    for (int r = 0; r < rows; ++r)
      for (int c = 0; c < columns; ++c)
        next[at(r, c)] = average(u[at(r - 1, c)], u[at(r + 1, c)], u[at(r, c - 1)], u[at(r, c + 1)]);
  return u;
}

int main() {
  constexpr int slots = grid_rows * grid_columns;
  dcgn::Job job({.nodes = {{.gpus = 1, .slots = slots}}});
  const dcgn::Device device = job.world().device(0);
  const dcgn::DeviceBuffer<float> tiles(device, 2 * slots * cells);
  const dcgn::DeviceBuffer<int> steps(device, 1);
  const dcgn::DeviceDatatype column(device, dcgn::Datatype::vector(height, 1, stride, dcgn::Datatype::of<float>()));

  // Where cell (row, column) of slot s is, in buffer 0 or 1 of it.
  const auto at = [](int s, int buffer, int row, int col) {
    return static_cast<std::size_t>(2 * s + buffer) * cells + static_cast<std::size_t>((row + 1) * stride + col + 1);
  };
  std::vector<float> host(tiles.size());
  for (int s = 0; s < slots; ++s)
    for (int r = 0; r < height; ++r)
      for (int c = 0; c < width; ++c)
        host[at(s, 0, r, c)] = begin_of(s / grid_columns * height + r, s % grid_columns * width + c);
  tiles.upload(host.data());

  job.gpu({.grid = dcgn::one_block_per_slot, .block = 32, .shared_bytes = 32 * sizeof(float)}, Jacobi{},
          column.handle(), tiles.data(), steps.data());
  job.run();

  int taken = 0, wrong = 0;
  steps.download(&taken);
  tiles.download(host.data());
  const std::vector<float> expected = plain(taken);
  for (int s = 0; s < slots; ++s)
    for (int r = 0; r < height; ++r)
      for (int c = 0; c < width; ++c) {
        const int row = s / grid_columns * height + r, col = s % grid_columns * width + c;
        wrong += host[at(s, taken % 2, r, c)] !=
                 expected[static_cast<std::size_t>(row) * (grid_columns * width) + static_cast<std::size_t>(col)];
      }
  std::printf("%d steps of %d slots in one kernel: %d of %d cells differ from a plain loop's\n", taken, slots, wrong,
              slots * height * width);
  return wrong == 0 && taken > 1 && taken < most_steps ? 0 : 1;
}
