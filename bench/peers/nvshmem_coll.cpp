// NVSHMEM between GPUs, a process each: collectives called in a kernel of one block, by all of its threads.
//   mpirun -n N dcgn_peer_nvshmem_coll --ranks N --seconds S OP:SIZE...
#include "bench/json.hpp"
#include "bench/peers/coll_pattern_kernel.hpp"
#include "bench/peers/nvshmem_start.hpp"

#include <dcgn/arch/clock.hpp>

#include <cstdio>
#include <stdexcept>
#include <string>

namespace {

using namespace dcgn;
using bench::Collective, bench::peer::CollRound, bench::peer::check, bench::peer::nvshmem_library,
    bench::peer::start_nvshmem, bench::peer::without_multicast;

constexpr unsigned pattern_blocks = 256, pattern_threads = 256;
// Its reductions do not find the registers for more.
constexpr unsigned most_threads = 512;

// NVSHMEM's barrier waits for puts, too; its sync is what ours is.
enum class Form { usual, sync };

struct Calls {
  Collective op;
  Form form;
  std::size_t count;
  float *in, *out;
  std::uint64_t calls;
  std::uint64_t* ns;  // what they took here
};

__device__ void call(const Calls& c) {
  const nvshmem_team_t world = NVSHMEM_TEAM_WORLD;
  switch (c.op) {
    case Collective::barrier:
      if (c.form == Form::sync)
        nvshmemx_sync_all_block();
      else
        nvshmemx_barrier_all_block();
      break;
    case Collective::broadcast: nvshmemx_float_broadcast_block(world, c.out, c.in, c.count, 0); break;
    case Collective::all_reduce: nvshmemx_float_sum_reduce_block(world, c.out, c.in, c.count); break;
    case Collective::reduce_scatter: nvshmemx_float_sum_reducescatter_block(world, c.out, c.in, c.count); break;
    case Collective::all_gather: nvshmemx_float_fcollect_block(world, c.out, c.in, c.count); break;
    case Collective::all_to_all: nvshmemx_float_alltoall_block(world, c.out, c.in, c.count); break;
    case Collective::reduce:
    case Collective::gather:
    case Collective::scatter:
    case Collective::scan: break;  // refused before
  }
}

__global__ void __launch_bounds__(most_threads) make_calls(Calls c) {
  nvshmemx_sync_all_block();  // waits for the others' launches
  const std::uint64_t begin = now_ns();
  for (std::uint64_t i = 0; i < c.calls; ++i) call(c);
  __syncthreads();
  if (threadIdx.x == 0) *c.ns = now_ns() - begin;
}

double of_rank_0(double value) {
  check(MPI_Bcast(&value, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD), "MPI_Bcast");
  return value;
}

// A process and its GPU. Nothing is released: an error ends all processes at once.
class Rank {
 public:
  Rank(int me, std::size_t room) : me_(me) {
    in_ = static_cast<float*>(allocate(room * sizeof(float)));
    out_ = static_cast<float*>(allocate(room * sizeof(float)));
    check(cudaMalloc(&ns_, sizeof *ns_), "cudaMalloc");
    check(cudaMalloc(&wrong_, sizeof *wrong_), "cudaMalloc");
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    nvshmem_barrier_all();
  }

  // Does so many calls; gives the microseconds that they took the rank that took longest.
  double run(const CollRound& round, Form form, unsigned threads, std::uint64_t calls) const {
    Calls c{.op = round.op,
            .form = form,
            .count = static_cast<std::size_t>(round.count()),
            .in = in_,
            .out = out_,
            .calls = calls,
            .ns = ns_};
    void* arguments[] = {&c};
    check(nvshmemx_collective_launch(reinterpret_cast<const void*>(make_calls), dim3(1), dim3(threads), arguments, 0,
                                     nullptr),
          "nvshmemx_collective_launch");
    std::uint64_t ns = 0;
    check(cudaMemcpy(&ns, ns_, sizeof ns, cudaMemcpyDeviceToHost), "cudaMemcpy");
    const double mine = static_cast<double>(ns) * 1e-3;
    double most = 0;
    check(MPI_Allreduce(&mine, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD), "MPI_Allreduce");
    return most;
  }

  // One more call, whose result is looked at. How many elements were wrong at all ranks; all call it.
  std::uint64_t count_wrong(const CollRound& round, Form form, unsigned threads) const {
    bench::peer::fill_collective<<<pattern_blocks, pattern_threads>>>(round, me_, in_, out_);
    check(cudaGetLastError(), "fill_collective");
    check(cudaMemset(wrong_, 0, sizeof *wrong_), "cudaMemset");
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    check(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier");
    run(round, form, threads, 1);
    bench::peer::count_wrong_collective<<<pattern_blocks, pattern_threads>>>(round, me_, out_, wrong_);
    check(cudaGetLastError(), "count_wrong_collective");
    unsigned long long wrong = 0, sum = 0;
    check(cudaMemcpy(&wrong, wrong_, sizeof wrong, cudaMemcpyDeviceToHost), "cudaMemcpy");
    check(MPI_Allreduce(&wrong, &sum, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, MPI_COMM_WORLD), "MPI_Allreduce");
    return sum;
  }

 private:
  static void* allocate(std::size_t bytes) {
    void* memory = nvshmem_malloc(bytes);
    if (!memory) throw std::runtime_error("nvshmem_malloc found no " + std::to_string(bytes) + " bytes");
    check(cudaMemset(memory, 0, bytes), "cudaMemset");
    return memory;
  }

  int me_;
  float *in_ = nullptr, *out_ = nullptr;
  std::uint64_t* ns_ = nullptr;
  unsigned long long* wrong_ = nullptr;
};

bench::Row measure_row(const Rank& rank, const CollRound& round, double seconds, Form form) {
  unsigned threads = 0;  // the fastest of the sizes that are usual
  double best = 0;
  for (const unsigned candidate : {128u, 256u, most_threads}) {
    constexpr std::uint64_t tries = 10;
    rank.run(round, form, candidate, 2);
    const double us = of_rank_0(rank.run(round, form, candidate, tries));
    if (threads && us >= best) continue;
    best = us;
    threads = candidate;
  }
  bench::Row row = bench::peer::time_collective(
      round, seconds, [&](std::uint64_t calls) { return rank.run(round, form, threads, calls); }, of_rank_0);
  row.whose = nvshmem_library();
  if (round.op == Collective::barrier) row.whose += form == Form::sync ? ", sync_all" : ", barrier_all";
  row.path = bench::peer::path_of(round.ranks, "GPU");
  row.scope = "block";
  row.blocks = 1;
  row.threads = threads;
  row.wrong = rank.count_wrong(round, form, threads);
  return row;
}

void measure_all(const bench::peer::CollArguments& a, int me) {
  for (const CollRound& round : a.rounds)
    if (round.op == Collective::reduce || round.op == Collective::gather || round.op == Collective::scatter ||
        round.op == Collective::scan)
      throw std::runtime_error(std::string(bench::name_of(round.op)) + ": expected a collective that NVSHMEM has");
  const Rank rank(me, a.room());
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const CollRound& round : a.rounds) {
    rows.push_back(bench::to_json(measure_row(rank, round, a.seconds, Form::usual)));
    if (round.op == Collective::barrier)
      rows.push_back(bench::to_json(measure_row(rank, round, a.seconds, Form::sync)));
  }
  if (me == 0 && std::puts(rows.dump().c_str()) < 0) throw std::runtime_error("the rows could not be printed");
}

}  // namespace

int main(int argc, char** argv) {
  if (!without_multicast()) return 1;
  if (MPI_Init(&argc, &argv) != MPI_SUCCESS) return 1;
  try {
    int rank = 0, size = 0;
    check(MPI_Comm_rank(MPI_COMM_WORLD, &rank), "MPI_Comm_rank");
    check(MPI_Comm_size(MPI_COMM_WORLD, &size), "MPI_Comm_size");
    const bench::peer::CollArguments arguments = bench::peer::parse_coll(argc, argv);
    if (size != arguments.ranks)
      throw std::runtime_error(std::to_string(size) + " processes: expected " + std::to_string(arguments.ranks) +
                               ", as --ranks says");
    start_nvshmem(rank, size);
    measure_all(arguments, rank);
    nvshmem_finalize();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "dcgn_peer_nvshmem_coll: %s\n", e.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  return MPI_Finalize() == MPI_SUCCESS ? 0 : 1;
}
