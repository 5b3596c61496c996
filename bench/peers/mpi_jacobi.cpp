// Jacobi's iteration with MPI and CUDA, a process for each GPU: the two border rows first, which then go to the host
// and to the neighbours while a second stream computes all other rows.
//   mpirun -n GPUS dcgn_peer_mpi_jacobi --size N --steps N
#include "bench/peers/jacobi_kernel.hpp"
#include "bench/peers/mpi_app.hpp"
#include "stencil/bench/stencil_row.hpp"

#include <dcgn/gpu/launch.hpp>

#include <algorithm>
#include <vector>

namespace {

using namespace dcgn;
using namespace dcgn::bench::peer;

// lines: begin
class Simulation {
 public:
  explicit Simulation(std::int64_t n)
      : rank_(mpi_rank()),
        ranks_(mpi_size()),
        part_(n, rank_, ranks_),
        device_(rank_ % Device::count()),
        border_(device_),
        bulk_(device_),
        field_{{device_, part_.cells()}, {device_, part_.cells()}},
        halos_(device_, static_cast<std::size_t>(4 * n)) {
    std::vector<float> start(part_.cells());
    fill_jacobi(part_, start.data() + n);
    field_[0].upload(start.data());
    const Launch launch{.grid = 1, .block = jacobi_threads};
    resident_ = device_.max_resident_blocks(launch, JacobiRows{}, static_cast<const float*>(nullptr),
                                            static_cast<float*>(nullptr), n, n, n);
    exchange(field_[0].data());
  }

  void step() {
    float* const next = field_[~steps_ & 1].data();
    compute(border_, 1, 2);
    if (part_.rows > 1) compute(border_, part_.rows, part_.rows + 1);
    if (part_.rows > 2) compute(bulk_, 2, part_.rows);
    exchange(next);
    bulk_.synchronize();
    ++steps_;
  }

  std::vector<float> rows() const {
    std::vector<float> all(part_.cells());
    field_[steps_ & 1].download(all.data());
    return {all.begin() + part_.n, all.end() - part_.n};
  }
  const JacobiPart& part() const { return part_; }

 private:
  void compute(Stream& stream, std::int64_t begin, std::int64_t end) {
    const Launch launch{.grid = jacobi_blocks(part_.n, end - begin, resident_), .block = jacobi_threads};
    device_.launch(stream, launch, JacobiRows{}, static_cast<const float*>(field_[steps_ & 1].data()),
                   field_[~steps_ & 1].data(), part_.n, begin, end);
  }

  // The first and the last row to the neighbours, theirs to the halos.
  void exchange(float* field) {
    const auto n = static_cast<std::size_t>(part_.n), bytes = n * sizeof(float);
    float *first = halos_.data(), *last = first + n, *above = last + n, *below = above + n;
    device_.copy(border_, first, field + n, bytes);
    device_.copy(border_, last, field + static_cast<std::size_t>(part_.rows) * n, bytes);
    border_.synchronize();
    const int up = (rank_ + ranks_ - 1) % ranks_, down = (rank_ + 1) % ranks_, count = static_cast<int>(n);
    MPI_Request requests[4];
    check(MPI_Irecv(above, count, MPI_FLOAT, up, 0, MPI_COMM_WORLD, &requests[0]), "MPI_Irecv");
    check(MPI_Irecv(below, count, MPI_FLOAT, down, 1, MPI_COMM_WORLD, &requests[1]), "MPI_Irecv");
    check(MPI_Isend(last, count, MPI_FLOAT, down, 0, MPI_COMM_WORLD, &requests[2]), "MPI_Isend");
    check(MPI_Isend(first, count, MPI_FLOAT, up, 1, MPI_COMM_WORLD, &requests[3]), "MPI_Isend");
    check(MPI_Waitall(4, requests, MPI_STATUSES_IGNORE), "MPI_Waitall");
    device_.copy(border_, field, above, bytes);
    device_.copy(border_, field + static_cast<std::size_t>(part_.rows + 1) * n, below, bytes);
    border_.synchronize();
  }

  int rank_, ranks_;
  JacobiPart part_;
  Device device_;
  Stream border_, bulk_;
  DeviceBuffer<float> field_[2];
  Pinned<float> halos_;
  int resident_ = 0;
  unsigned steps_ = 0;
};
// lines: end

bench::StencilRow measure(const AppArguments& a) {
  const std::int64_t n = a["size"];
  if (n < mpi_size()) throw std::runtime_error("--size: expected a row or more for each process");
  Simulation simulation(n);
  for (int s = 0; s < jacobi_checked; ++s) simulation.step();
  const std::uint64_t mine = count_wrong_ends(simulation.part(), jacobi_checked, simulation.rows().data());
  bench::StencilRow row{
      .whose = mpi_library(), .equation = "jacobi", .size = {n, n}, .devices = mpi_size(), .mode = "-"};
  check(MPI_Allreduce(&mine, &row.wrong, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD), "MPI_Allreduce");
  const int each = std::max(1, a["steps"] / (jacobi_runs - 1));
  std::vector<double> us;
  for (int run = 0; run < jacobi_runs; ++run) {
    check(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier");
    const double begin = MPI_Wtime();
    for (int s = 0; s < each; ++s) simulation.step();
    if (run > 0) us.push_back((MPI_Wtime() - begin) * 1e6 / each);
  }
  set_figures(row, us, static_cast<std::uint64_t>(each) * us.size());
  return row;
}

}  // namespace

int main(int argc, char** argv) { return run_mpi_app(argc, argv, "dcgn_peer_mpi_jacobi", measure); }
