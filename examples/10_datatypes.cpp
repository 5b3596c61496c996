// Step 10: datatypes. A block of a matrix in a GPU's memory goes to another place there, where it lies transposed, and
// to a running kernel.
#include <dcgn/dcgn.hpp>

#include <cstdio>
#include <vector>

constexpr int rows = 300, columns = 200;            // of the matrix, row by row
constexpr int height = 40, width = 30;              // of the block,
constexpr int first_row = 100, first_column = 150;  // which begins there

// A slot has a layout of its own for what comes, too.
struct Add {
  DCGN_HOST_DEVICE void operator()(dcgn::gpu::Context& ctx, dcgn::gpu::Comm comm, dcgn::gpu::Datatype type,
                                   double* room) const {
    const dcgn::gpu::Slot me = comm.slot(ctx.block_rank());
    const dcgn::gpu::BlockScope block = dcgn::gpu::this_block(ctx);
    me.recv(block, type, room, 0);
    if (ctx.thread_rank() == 0)
      for (int i = 1; i < height * width; ++i) room[0] += room[i];
    ctx.sync_block();
    me.send(block, room[0], 0);
  }
};

int main() {
  using dcgn::Datatype;
  const Datatype element = Datatype::of<double>();
  // The block, in the matrix: what cudaMemcpy2D takes five numbers for.
  const Datatype block =
      Datatype::subarray({rows, columns}, {height, width}, {first_row, first_column}, Datatype::Order::c, element);
  // Elements `height` apart, and the next such column beside them.
  const Datatype column = Datatype::resized(Datatype::vector(width, 1, height, element), 0, sizeof(double));

  dcgn::Job job({.nodes = {{.cpus = 2, .gpus = 1, .slots = 1}}});  // ranks 0 and 1: CPU threads; rank 2: the slot
  const dcgn::Device device(0);
  const dcgn::DeviceBuffer<double> matrix(device, rows * columns), transposed(device, height * width),
      room(device, height * width);

  job.cpu([&](dcgn::Comm& comm) {
    if (comm.rank() == 0) {
      std::vector<double> host(rows * columns);
      for (int i = 0; i < rows * columns; ++i) host[i] = i;
      matrix.upload(host.data());
      comm.send(dcgn::ConstTypedBuffer(matrix, block), 1);
      comm.send(dcgn::ConstTypedBuffer(matrix, block), 2);
      double sum = 0;
      comm.recv(sum, 2);
      std::printf("the kernel's sum: %.0f\n", sum);
      std::printf("the block is %s\n", dcgn::describe(block).c_str());
      return;
    }
    // Each row that comes becomes a column: one kernel moves the elements from the matrix to here.
    comm.recv(dcgn::TypedBuffer(transposed, column, height), 0);
    std::vector<double> host(height * width);
    transposed.download(host.data());
    int wrong = 0;
    for (int i = 0; i < height; ++i)
      for (int j = 0; j < width; ++j) wrong += host[j * height + i] != (first_row + i) * columns + first_column + j;
    std::printf("%d x %d doubles, transposed on their way: %d wrong\n", height, width, wrong);
  });
  const dcgn::DeviceDatatype columns_of_height(device, column, height);
  job.gpu({.grid = dcgn::one_block_per_slot, .block = 32}, Add{}, columns_of_height.handle(), room.data());
  job.run();
}
