// Step 9: datatypes. A column of a matrix is no run of bytes, but one message: it leaves a matrix in a GPU's memory and
// becomes a row of another one, on the CPU and in a running kernel.
#include <dcgn/dcgn.hpp>

#include <cstdio>
#include <vector>

constexpr int rows = 300, columns = 200;  // of the matrix, row by row

// Gets a row into its column `at`, and sends the next column back.
struct Columns {
  DCGN_HOST_DEVICE void operator()(dcgn::gpu::Context& ctx, dcgn::gpu::Comm comm, dcgn::gpu::Datatype column,
                                   double* matrix, int at) const {
    const dcgn::gpu::Slot me = comm.slot(ctx.block_rank());
    const dcgn::gpu::BlockScope block = dcgn::gpu::this_block(ctx);
    me.recv(block, column, matrix + at, 0);  // displacements count from the address
    me.send(block, column, matrix + at + 1, 0);
  }
};

int main() {
  using dcgn::Datatype;
  // `rows` blocks of one double, each `columns` of them after the one before.
  const Datatype column = Datatype::vector(rows, 1, columns, Datatype::of<double>());
  std::printf("a column is %lld bytes: %s\n", (long long)column.size(), describe(column).c_str());

  dcgn::Job job({.nodes = {{.cpus = 2, .gpus = 1, .slots = 1}}});  // ranks 0 and 1: CPU threads; rank 2: the slot
  const dcgn::Device device = job.world().device(0);
  const dcgn::DeviceBuffer<double> matrix(device, rows * columns);
  std::vector<double> host(rows * columns);
  for (std::size_t i = 0; i < host.size(); ++i) host[i] = static_cast<double>(i);
  matrix.upload(host.data());

  job.cpu([&](dcgn::Comm& comm) {
    std::vector<double> row(rows);
    int wrong = 0;
    if (comm.rank() == 0) {
      // From the GPU's memory, column 7. Kernels of the GPU gather it, or who receives does, as it lies there.
      comm.send(dcgn::ConstTypedBuffer(matrix, column, 1, 7), 1);
      comm.recv(row, 1);
      // To and from the kernel: what is a row here is a column there.
      comm.send(row, 2);
      comm.recv(row, 2);
      for (int i = 0; i < rows; ++i) wrong += row[static_cast<std::size_t>(i)] != i * columns + 12;
      std::printf("the kernel's column 12: %d of %d wrong\n", wrong, rows);
    } else {
      comm.recv(row, 0);  // without a datatype: a message is its packed bytes
      for (int i = 0; i < rows; ++i) wrong += row[static_cast<std::size_t>(i)] != i * columns + 7;
      std::printf("column 7, received as a row: %d of %d wrong\n", wrong, rows);
      comm.send(row, 0);
    }
    if (wrong) throw dcgn::Error(dcgn::Code::kernel_failed, "columns", "a wrong number");
  });
  // A kernel takes a handle of the type, whose tables are in the device's memory.
  const dcgn::DeviceDatatype on_device(device, column);
  job.gpu({.grid = dcgn::one_block_per_slot, .block = 32}, Columns{}, on_device.handle(), matrix.data(), 11);
  job.run();

  matrix.download(host.data());
  int wrong = 0;
  for (int i = 0; i < rows; ++i) wrong += host[static_cast<std::size_t>(i) * columns + 11] != i * columns + 7;
  std::printf("column 7, received as column 11: %d of %d wrong\n", wrong, rows);
  return wrong ? 1 : 0;
}
