// Cannon's algorithm, GPU as slave: each process launches a kernel for each product of tiles and moves tiles between
// its GPU and the host, where MPI_Sendrecv_replace exchanges them.
//   mpirun -n GPUS dcgn_peer_mpi_cannon --size N --steps PRODUCTS
#include "apps/cannon/cannon.hpp"
#include "bench/peers/cannon_kernel.hpp"
#include "bench/peers/mpi_app.hpp"

#include <dcgn/gpu/launch.hpp>

#include <algorithm>
#include <vector>

namespace {

using namespace dcgn;
using namespace dcgn::bench::peer;

// Multiplies so often; gives the microseconds of each by the first process's clock, and there C.
std::vector<double> multiply(int size, int across, int repeats, std::vector<float>& c) {
  // lines: begin
  const int dims[] = {across, across}, periodic[] = {1, 1};
  MPI_Comm grid = MPI_COMM_NULL;
  check(MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periodic, 0, &grid), "MPI_Cart_create");
  const int rank = mpi_rank(), n = size / across, row = rank / across, column = rank % across;
  const Device device(rank % Device::count());
  Stream stream(device);
  const std::size_t elements = static_cast<std::size_t>(n) * static_cast<std::size_t>(n);
  const DeviceBuffer<float> a(device, elements), b(device, elements), product(device, elements);
  const Pinned<float> on_host(device, 2 * elements);
  const int width = cannon_width(n, device.properties().multiprocessors);
  const auto exchange = [&](float* tile, int dim, int steps) {
    int from = 0, to = 0;
    check(MPI_Cart_shift(grid, dim, steps, &from, &to), "MPI_Cart_shift");
    check(MPI_Sendrecv_replace(tile, static_cast<int>(elements), MPI_FLOAT, to, 0, from, 0, grid, MPI_STATUS_IGNORE),
          "MPI_Sendrecv_replace");
  };
  const auto shift = [&](int a_steps, int b_steps) {
    device.copy(stream, on_host.data(), a.data(), a.size_bytes());
    device.copy(stream, on_host.data() + elements, b.data(), b.size_bytes());
    stream.synchronize();
    exchange(on_host.data(), 1, -a_steps);
    exchange(on_host.data() + elements, 0, -b_steps);
    device.copy(stream, a.data(), on_host.data(), a.size_bytes());
    device.copy(stream, b.data(), on_host.data() + elements, b.size_bytes());
  };
  std::vector<double> us;
  for (int k = 0; k < repeats; ++k) {
    device.launch(stream, fill_launch(), FillTiles{}, size, row * n, column * n, n, a.data(), b.data(), product.data());
    stream.synchronize();
    check(MPI_Barrier(grid), "MPI_Barrier");
    const double begin = MPI_Wtime();
    if (across > 1) shift(row, column);
    for (int step = 0; step < across; ++step) {
      device.launch(stream, cannon_launch(n, width), MultiplyTiles{}, static_cast<const float*>(a.data()),
                    static_cast<const float*>(b.data()), product.data(), n, width);
      if (step + 1 < across) shift(1, 1);
    }
    stream.synchronize();
    check(MPI_Barrier(grid), "MPI_Barrier");
    us.push_back((MPI_Wtime() - begin) * 1e6);
  }
  product.download(on_host.data());
  check(MPI_Comm_free(&grid), "MPI_Comm_free");
  // lines: end
  std::vector<float> tiles(rank == 0 ? elements * static_cast<std::size_t>(across * across) : 0);
  check(MPI_Gather(on_host.data(), static_cast<int>(elements), MPI_FLOAT, tiles.data(), static_cast<int>(elements),
                   MPI_FLOAT, 0, MPI_COMM_WORLD),
        "MPI_Gather");
  c.resize(tiles.size());
  for (std::size_t i = 0; i < tiles.size(); ++i) {  // tile by tile, row by row
    const auto edge = static_cast<std::size_t>(n), grid_edge = static_cast<std::size_t>(across);
    const std::size_t tile = i / elements, r = tile / grid_edge * edge + i % elements / edge;
    c[r * edge * grid_edge + tile % grid_edge * edge + i % edge] = tiles[i];
  }
  return us;
}

bench::AppRow measure(const AppArguments& arguments) {
  const int size = arguments["size"], ranks = mpi_size();
  int across = 1;
  while (across * across < ranks) ++across;
  if (across * across != ranks || size % across)
    throw std::runtime_error("expected a square number of processes, and a --size that it divides");
  std::vector<float> c;
  std::vector<double> us = multiply(size, across, 1 + arguments["steps"], c);
  us.erase(us.begin());
  bench::AppRow row{.whose = mpi_library(), .app = "cannon", .size = size, .gpus = ranks};
  if (mpi_rank() == 0) row.wrong = static_cast<std::uint64_t>(cannon::count_wrong(size, c));
  set_figures(row, us, bench::flop(size), bench::flop_unit);
  return row;
}

}  // namespace

int main(int argc, char** argv) { return run_mpi_app(argc, argv, "dcgn_peer_mpi_cannon", measure); }
