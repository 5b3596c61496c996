// Jacobi's iteration with NCCL, one process for all GPUs: the border rows first, which ncclSend and ncclRecv carry in a
// stream of their own while the other rows are computed; 20 steps are a CUDA graph.
//   dcgn_peer_nccl_jacobi --gpus G --size N --steps N
#include "bench/peers/jacobi_kernel.hpp"
#include "bench/peers/nccl_app.hpp"
#include "stencil/bench/stencil_row.hpp"

#include <algorithm>

namespace {

using namespace dcgn;
using namespace dcgn::bench::peer;

// As apps/ has it: what a launch needs to know.
struct Jacobi : JacobiRows {
  static constexpr int max_threads = jacobi_threads, blocks_per_multiprocessor = 4;
};

class Simulation {
 public:
  // lines: begin
  Simulation(std::vector<NcclGpu>& gpus, std::int64_t n) : gpus_(gpus) {
    const auto count = static_cast<int>(gpus_.size());
    for (int g = 0; g < count; ++g) {
      Memory& m = memory_.emplace_back(Memory{JacobiPart(n, g, count), {}});
      for (float*& field : m.field) field = allocate<float>(gpus_[static_cast<std::size_t>(g)], m.part.cells());
      std::vector<float> start(m.part.cells());
      fill_jacobi(m.part, start.data() + n);
      check(cudaMemcpy(m.field[0], start.data(), start.size() * sizeof(float), cudaMemcpyDefault), "cudaMemcpy");
    }
    enqueue_exchange(0);
    join();
    synchronize(gpus_);
  }

  void enqueue(int step) {
    const int next = ~step & 1;
    for (std::size_t g = 0; g < gpus_.size(); ++g) {
      const std::int64_t rows = memory_[g].part.rows;
      compute(g, step, 1, 2);
      if (rows > 1) compute(g, step, rows, rows + 1);
    }
    enqueue_exchange(next);
    for (std::size_t g = 0; g < gpus_.size(); ++g)
      if (memory_[g].part.rows > 2) compute(g, step, 2, memory_[g].part.rows);
    join();
  }
  // lines: end

  std::uint64_t count_wrong(int steps) const {
    std::uint64_t wrong = 0;
    for (std::size_t g = 0; g < gpus_.size(); ++g) {
      const Memory& m = memory_[g];
      std::vector<float> all(m.part.cells());
      gpus_[g].use();
      check(cudaMemcpy(all.data(), m.field[steps & 1], all.size() * sizeof(float), cudaMemcpyDefault), "cudaMemcpy");
      wrong += count_wrong_ends(m.part, steps, all.data() + m.part.n);
    }
    return wrong;
  }

 private:
  struct Memory {
    JacobiPart part;
    float* field[2];
  };

  // lines: begin
  void compute(std::size_t g, int step, std::int64_t begin, std::int64_t end) {
    const Memory& m = memory_[g];
    const unsigned blocks = jacobi_blocks(m.part.n, end - begin, gpus_[g].multiprocessors * 8);
    launch(gpus_[g], blocks, jacobi_threads, 0, Jacobi{}, static_cast<const float*>(m.field[step & 1]),
           m.field[~step & 1], m.part.n, begin, end);
  }

  // In the streams beside, once the border is there.
  void enqueue_exchange(int field) {
    const auto count = static_cast<int>(gpus_.size());
    for (const NcclGpu& gpu : gpus_) {
      gpu.use();
      check(cudaEventRecord(gpu.ready, gpu.stream), "cudaEventRecord");
      check(cudaStreamWaitEvent(gpu.beside, gpu.ready, 0), "cudaStreamWaitEvent");
    }
    check(ncclGroupStart(), "ncclGroupStart");
    for (int g = 0; g < count; ++g) {
      const NcclGpu& gpu = gpus_[static_cast<std::size_t>(g)];
      const Memory& m = memory_[static_cast<std::size_t>(g)];
      const auto n = static_cast<std::size_t>(m.part.n);
      float* const rows = m.field[field];
      float* const last = rows + static_cast<std::size_t>(m.part.rows) * n;
      const int up = (g + count - 1) % count, down = (g + 1) % count;
      check(ncclSend(last, n, ncclFloat, down, gpu.comm, gpu.beside), "ncclSend");
      check(ncclSend(rows + n, n, ncclFloat, up, gpu.comm, gpu.beside), "ncclSend");
      check(ncclRecv(rows, n, ncclFloat, up, gpu.comm, gpu.beside), "ncclRecv");
      check(ncclRecv(last + n, n, ncclFloat, down, gpu.comm, gpu.beside), "ncclRecv");
    }
    check(ncclGroupEnd(), "ncclGroupEnd");
  }

  void join() {
    for (const NcclGpu& gpu : gpus_) {
      gpu.use();
      check(cudaEventRecord(gpu.moved, gpu.beside), "cudaEventRecord");
      check(cudaStreamWaitEvent(gpu.stream, gpu.moved, 0), "cudaStreamWaitEvent");
    }
  }
  // lines: end

  std::vector<NcclGpu>& gpus_;
  std::vector<Memory> memory_;
};

bench::StencilRow measure(const AppArguments& a) {
  constexpr int of_a_graph = 20;
  const std::int64_t n = a["size"];
  if (n < a["gpus"]) throw std::runtime_error("--size: expected a row or more for each GPU");
  std::vector<NcclGpu> gpus = open_gpus(a["gpus"]);
  Simulation simulation(gpus, n);
  for (int step = 0; step < jacobi_checked; ++step) simulation.enqueue(step);
  synchronize(gpus);
  bench::StencilRow row{
      .whose = nccl_library(), .equation = "jacobi", .size = {n, n}, .devices = a["gpus"], .mode = "-"};
  row.wrong = simulation.count_wrong(jacobi_checked);
  capture(gpus, [&] {
    for (int step = 0; step < of_a_graph; ++step) simulation.enqueue(step);
  });
  const int replays = std::max(1, a["steps"] / of_a_graph / (jacobi_runs - 1));
  std::vector<double> us;
  for (int run = 0; run < jacobi_runs; ++run) {
    double sum = 0;
    for (int r = 0; r < replays; ++r) sum += replay(gpus);
    if (run > 0) us.push_back(sum / (replays * of_a_graph));
  }
  set_figures(row, us, static_cast<std::uint64_t>(replays) * of_a_graph * us.size());
  return row;
}

}  // namespace

int main(int argc, char** argv) { return run_nccl_app(argc, argv, "dcgn_peer_nccl_jacobi", measure); }
