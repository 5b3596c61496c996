// Jacobi's iteration with NVSHMEM, a process for each GPU: a kernel computes the border rows and puts them into the
// neighbours' halos, with a signal that their next border waits for; another stream computes the other rows meanwhile.
//   mpirun -n GPUS dcgn_peer_nvshmem_jacobi --size N --steps N
#include "bench/peers/jacobi_kernel.hpp"
#include "bench/peers/mpi_app.hpp"
#include "bench/peers/nvshmem_start.hpp"
#include "stencil/bench/stencil_row.hpp"

#include <algorithm>
#include <vector>

namespace {

using namespace dcgn;
using namespace dcgn::bench::peer;

// lines: begin
struct Border {
  const float* in;
  float* out;
  std::int64_t n, rows, rows_of_up;
  int up, down;
  std::uint64_t* signals;  // steps after which the halo above, and the one below, is there
  std::uint64_t step;
};

// Block 0 has the first row, block 1 the last.
__global__ void __launch_bounds__(1024) compute_border(Border b) {
  const bool first = blockIdx.x == 0;
  const std::int64_t y = first ? 1 : b.rows;
  if (threadIdx.x == 0) nvshmem_signal_wait_until(b.signals + (first ? 0 : 1), NVSHMEM_CMP_GE, b.step);
  // A part of one row reads both halos.
  if (threadIdx.x == 0 && b.rows == 1) nvshmem_signal_wait_until(b.signals + (first ? 1 : 0), NVSHMEM_CMP_GE, b.step);
  __syncthreads();
  for (std::int64_t x = threadIdx.x; x < b.n; x += blockDim.x) {
    const std::int64_t left = x == 0 ? b.n - 1 : x - 1, right = x == b.n - 1 ? 0 : x + 1;
    const float* row = b.in + y * b.n;
    b.out[y * b.n + x] = ((row[left] + row[right]) + (row[x - b.n] + row[x + b.n])) * 0.25f;
  }
  __syncthreads();
  float* const halo = b.out + (first ? (b.rows_of_up + 1) * b.n : 0);
  nvshmemx_float_put_signal_nbi_block(halo, b.out + y * b.n, static_cast<std::size_t>(b.n), b.signals + (first ? 1 : 0),
                                      b.step + 1, NVSHMEM_SIGNAL_SET, first ? b.up : b.down);
}

__global__ void __launch_bounds__(jacobi_threads)
    compute_bulk(const float* in, float* out, std::int64_t n, std::int64_t begin, std::int64_t end) {
  gpu::Context ctx;
  JacobiRows{}(ctx, in, out, n, begin, end);
}

// A process and its GPU. Nothing is released: an error ends all processes at once.
class Simulation {
 public:
  explicit Simulation(std::int64_t n)
      : rank_(mpi_rank()), ranks_(mpi_size()), part_(n, rank_, ranks_), up_(n, (rank_ + ranks_ - 1) % ranks_, ranks_) {
    const std::size_t most = static_cast<std::size_t>((n / ranks_ + 3) * n);  // the same in all processes
    for (float*& field : field_) field = static_cast<float*>(allocate(most * sizeof(float)));
    signals_ = static_cast<std::uint64_t*>(allocate(2 * sizeof(std::uint64_t)));
    int device = 0;
    check(cudaGetDevice(&device), "cudaGetDevice");
    check(cudaDeviceGetAttribute(&multiprocessors_, cudaDevAttrMultiProcessorCount, device), "cudaDeviceGetAttribute");
    int least = 0, greatest = 0;
    check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "cudaDeviceGetStreamPriorityRange");
    check(cudaStreamCreateWithPriority(&border_, cudaStreamNonBlocking, greatest), "cudaStreamCreate");
    check(cudaStreamCreateWithPriority(&bulk_, cudaStreamNonBlocking, least), "cudaStreamCreate");
    for (cudaEvent_t* event : {&border_done_, &bulk_done_})
      check(cudaEventCreateWithFlags(event, cudaEventDisableTiming), "cudaEventCreate");
    // With the halos, which the start has everywhere.
    std::vector<float> start(part_.cells());
    fill_jacobi(part_, start.data() + n);
    for (std::int64_t x = 0; x < n; ++x) {
      start[static_cast<std::size_t>(x)] = bench::jacobi_start(x, (part_.first + n - 1) % n);
      start[static_cast<std::size_t>((part_.rows + 1) * n + x)] =
          bench::jacobi_start(x, (part_.first + part_.rows) % n);
    }
    check(cudaMemcpy(field_[0], start.data(), start.size() * sizeof(float), cudaMemcpyDefault), "cudaMemcpy");
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    nvshmem_barrier_all();
  }

  void step() {
    const Border b{.in = field_[steps_ & 1],
                   .out = field_[~steps_ & 1],
                   .n = part_.n,
                   .rows = part_.rows,
                   .rows_of_up = up_.rows,
                   .up = (rank_ + ranks_ - 1) % ranks_,
                   .down = (rank_ + 1) % ranks_,
                   .signals = signals_,
                   .step = steps_};
    // Each stream reads what both wrote in the step before.
    check(cudaStreamWaitEvent(border_, bulk_done_, 0), "cudaStreamWaitEvent");
    check(cudaStreamWaitEvent(bulk_, border_done_, 0), "cudaStreamWaitEvent");
    compute_border<<<2, 1024, 0, border_>>>(b);
    check(cudaGetLastError(), "compute_border");
    if (part_.rows > 2) {
      const unsigned blocks = jacobi_blocks(part_.n, part_.rows - 2, multiprocessors_ * 8);
      compute_bulk<<<blocks, jacobi_threads, 0, bulk_>>>(b.in, b.out, part_.n, 2, part_.rows);
      check(cudaGetLastError(), "compute_bulk");
    }
    check(cudaEventRecord(border_done_, border_), "cudaEventRecord");
    check(cudaEventRecord(bulk_done_, bulk_), "cudaEventRecord");
    ++steps_;
  }
  void finish() const {
    check(cudaStreamSynchronize(border_), "cudaStreamSynchronize");
    check(cudaStreamSynchronize(bulk_), "cudaStreamSynchronize");
  }
  // lines: end

  std::uint64_t count_wrong() const {
    std::vector<float> all(part_.cells());
    check(cudaMemcpy(all.data(), field_[steps_ & 1], all.size() * sizeof(float), cudaMemcpyDefault), "cudaMemcpy");
    return count_wrong_ends(part_, static_cast<int>(steps_), all.data() + part_.n);
  }

 private:
  static void* allocate(std::size_t bytes) {
    void* memory = nvshmem_malloc(bytes);
    if (!memory) throw std::runtime_error("nvshmem_malloc found no " + std::to_string(bytes) + " bytes");
    check(cudaMemset(memory, 0, bytes), "cudaMemset");
    return memory;
  }

  int rank_, ranks_;
  JacobiPart part_, up_;
  int multiprocessors_ = 0;
  float* field_[2]{};
  std::uint64_t* signals_ = nullptr;
  cudaStream_t border_ = nullptr, bulk_ = nullptr;
  cudaEvent_t border_done_ = nullptr, bulk_done_ = nullptr;
  std::uint64_t steps_ = 0;
};

bench::StencilRow measure(const AppArguments& a) {
  const std::int64_t n = a["size"];
  if (n < mpi_size()) throw std::runtime_error("--size: expected a row or more for each process");
  start_nvshmem(mpi_rank(), mpi_size());
  Simulation simulation(n);
  for (int s = 0; s < jacobi_checked; ++s) simulation.step();
  simulation.finish();
  bench::StencilRow row{
      .whose = nvshmem_library(), .equation = "jacobi", .size = {n, n}, .devices = mpi_size(), .mode = "-"};
  const std::uint64_t mine = simulation.count_wrong();
  check(MPI_Allreduce(&mine, &row.wrong, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD), "MPI_Allreduce");
  const int each = std::max(1, a["steps"] / (jacobi_runs - 1));
  std::vector<double> us;
  for (int run = 0; run < jacobi_runs; ++run) {
    check(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier");
    const double begin = MPI_Wtime();
    for (int s = 0; s < each; ++s) simulation.step();
    simulation.finish();
    if (run > 0) us.push_back((MPI_Wtime() - begin) * 1e6 / each);
  }
  set_figures(row, us, static_cast<std::uint64_t>(each) * us.size());
  check(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier");
  nvshmem_finalize();
  return row;
}

}  // namespace

int main(int argc, char** argv) {
  if (!without_multicast()) return 1;
  return run_mpi_app(argc, argv, "dcgn_peer_nvshmem_jacobi", measure);
}
