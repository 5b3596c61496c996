// NVSHMEM between two GPUs, one process each, called in a kernel of one block: puts with a signal, or a window of puts
// and then a signal, by the whole block; for 8 bytes by one thread as well.
//   mpirun -n 2 dcgn_peer_nvshmem_p2p --measures latency,bandwidth,bidirectional --seconds S [--window N] SIZE...
#include "bench/json.hpp"
#include "bench/peers/pattern_kernel.hpp"
#include "bench/peers/rounds.hpp"

#include <dcgn/arch/clock.hpp>

#include <cuda_runtime.h>
#include <mpi.h>
#include <nvshmem.h>
#include <nvshmemx.h>

#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

namespace {

using namespace dcgn;
using bench::peer::Measure, bench::peer::Round;

void check(cudaError_t code, const char* call) {
  if (code != cudaSuccess) throw std::runtime_error(std::string(call) + ": " + cudaGetErrorString(code));
}

// MPI's and NVSHMEM's codes: both say 0 where all is well.
void check(int code, const char* call) {
  if (code != 0) throw std::runtime_error(std::string(call) + " failed with code " + std::to_string(code));
}

enum class Scope { thread, block };

// What the other end reads and writes; at the same place of the symmetric heap in both.
struct Control {
  std::uint64_t signal;  // the last round whose message, window or answer has come
  std::uint64_t ns;      // what the rounds took here
  unsigned long long wrong;
};

struct Rounds {
  Measure measure;
  std::int64_t bytes, window;
  unsigned char *out, *in;
  Control* control;
  int me;
  std::uint64_t done, rounds;  // before this launch, and in it
};

template <Scope scope>
__device__ void wait_for(const Rounds& r, std::uint64_t round) {
  if (threadIdx.x == 0) nvshmem_signal_wait_until(&r.control->signal, NVSHMEM_CMP_GE, round);
  if constexpr (scope == Scope::block) __syncthreads();
}

__device__ void signal(const Rounds& r, std::uint64_t round) {
  if (threadIdx.x == 0) nvshmemx_signal_op(&r.control->signal, round, NVSHMEM_SIGNAL_SET, 1 - r.me);
}

template <Scope scope>
__device__ void put_message(const Rounds& r, std::uint64_t round) {
  const auto bytes = static_cast<std::size_t>(r.bytes);
  if constexpr (scope == Scope::block)
    nvshmemx_putmem_signal_block(r.in, r.out, bytes, &r.control->signal, round, NVSHMEM_SIGNAL_SET, 1 - r.me);
  else
    nvshmem_putmem_signal(r.in, r.out, bytes, &r.control->signal, round, NVSHMEM_SIGNAL_SET, 1 - r.me);
}

template <Scope scope>
__device__ void put_window(const Rounds& r, std::uint64_t round) {
  const auto bytes = static_cast<std::size_t>(r.bytes);
  for (std::int64_t i = 0; i < r.window; ++i) {
    if constexpr (scope == Scope::block)
      nvshmemx_putmem_nbi_block(r.in + i * r.bytes, r.out + i * r.bytes, bytes, 1 - r.me);
    else
      nvshmem_putmem_nbi(r.in + i * r.bytes, r.out + i * r.bytes, bytes, 1 - r.me);
  }
  // All threads' puts come before the signal: they before the barrier, the barrier before the fence.
  if constexpr (scope == Scope::block) __syncthreads();
  if (threadIdx.x == 0) nvshmem_fence();
  signal(r, round);
}

template <Scope scope>
__global__ void __launch_bounds__(1024) do_rounds(Rounds r) {
  std::uint64_t begin = 0;
  for (std::uint64_t i = 0; i <= r.rounds; ++i) {
    if (i == 1) begin = now_ns();  // the round before waits for the other end's launch
    const std::uint64_t round = r.done + i + 1;
    switch (r.measure) {
      case Measure::latency:
        if (r.me == 0) put_message<scope>(r, round);
        wait_for<scope>(r, round);
        if (r.me == 1) put_message<scope>(r, round);
        break;
      case Measure::bandwidth:
        if (r.me == 0) put_window<scope>(r, round);
        wait_for<scope>(r, round);
        if (r.me == 1) signal(r, round);
        break;
      case Measure::bidirectional:
        put_window<scope>(r, round);
        wait_for<scope>(r, round);
        break;
    }
  }
  if (threadIdx.x == 0) r.control->ns = now_ns() - begin;
}

double of_rank_0(double value) {
  check(MPI_Bcast(&value, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD), "MPI_Bcast");
  return value;
}

// One of the two processes and its GPU. Nothing is released: an error ends both processes at once.
class End {
 public:
  End(int me, std::size_t room) : me_(me) {
    out_ = allocate(room);
    in_ = allocate(room);
    control_ = reinterpret_cast<Control*>(allocate(sizeof(Control)));
    check(cudaMemset(control_, 0, sizeof(Control)), "cudaMemset");
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    nvshmem_barrier_all();
  }

  // Does these rounds; gives the microseconds that they took.
  double run(const Round& round, Scope scope, unsigned threads, std::uint64_t rounds) {
    const Rounds r{.measure = round.measure,
                   .bytes = round.bytes,
                   .window = round.messages,
                   .out = out_,
                   .in = in_,
                   .control = control_,
                   .me = me_,
                   .done = done_,
                   .rounds = rounds};
    switch (scope) {
      case Scope::thread: do_rounds<Scope::thread><<<1, 1>>>(r); break;
      case Scope::block: do_rounds<Scope::block><<<1, threads>>>(r); break;
    }
    check(cudaGetLastError(), "do_rounds");
    done_ += rounds + 1;
    return static_cast<double>(control().ns) * 1e-3;
  }

  // Rounds whose messages are compared. How many bytes were wrong at both ends; both call it.
  std::uint64_t count_wrong(const Round& round, Scope scope, unsigned threads) {
    using bench::peer::pattern_blocks, bench::peer::pattern_threads;
    const std::int64_t all = round.extent();
    const auto salt = static_cast<unsigned>(me_);
    bench::peer::write_patterns<<<pattern_blocks, pattern_threads>>>(out_, in_, all, salt);
    check(cudaGetLastError(), "write_patterns");
    check(cudaMemset(&control_->wrong, 0, sizeof control_->wrong), "cudaMemset");
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    check(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier");
    run(round, scope, threads, 1);
    std::uint64_t wrong = 0, sum = 0;
    if (me_ == 1 || round.measure != Measure::bandwidth) {
      bench::peer::count_wrong<<<pattern_blocks, pattern_threads>>>(in_, all, salt, &control_->wrong);
      check(cudaGetLastError(), "count_wrong");
      wrong = control().wrong;
    }
    check(MPI_Allreduce(&wrong, &sum, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD), "MPI_Allreduce");
    return sum;
  }

 private:
  static unsigned char* allocate(std::size_t bytes) {
    void* memory = nvshmem_malloc(bytes);
    if (!memory) throw std::runtime_error("nvshmem_malloc found no " + std::to_string(bytes) + " bytes");
    return static_cast<unsigned char*>(memory);
  }
  // As it is once all launches have ended.
  Control control() const {
    Control copy{};
    check(cudaMemcpy(&copy, control_, sizeof copy, cudaMemcpyDeviceToHost), "cudaMemcpy");
    return copy;
  }

  int me_;
  unsigned char *out_ = nullptr, *in_ = nullptr;
  Control* control_ = nullptr;
  std::uint64_t done_ = 0;
};

std::string library() {
  int major = 0, minor = 0, patch = 0;
  nvshmemx_vendor_get_version_info(&major, &minor, &patch);
  return "NVSHMEM " + std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
}

bench::Row measure_row(End& end, const Round& round, double seconds, Scope scope) {
  unsigned threads = 1;
  if (scope == Scope::block) {  // the faster of the two sizes that are usual
    double best = 0;
    for (const unsigned candidate : {512u, 1024u}) {
      constexpr std::uint64_t tries = 20;
      end.run(round, scope, candidate, 2);
      const double us = of_rank_0(end.run(round, scope, candidate, tries));
      if (best > 0 && us >= best) continue;
      best = us;
      threads = candidate;
    }
  }
  bench::Row row = bench::peer::time_rounds(
      round, seconds, [&](std::uint64_t rounds) { return end.run(round, scope, threads, rounds); }, of_rank_0);
  row.whose = library();
  row.path = "slot-slot";
  row.scope = scope == Scope::block ? "block" : "thread";
  row.wrong = end.count_wrong(round, scope, threads);
  return row;
}

void measure_all(const bench::peer::Arguments& a, int rank) {
  End end(rank, bench::peer::room(a));
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const Measure measure : a.measures)
    for (const std::int64_t bytes : a.sizes)
      for (const Scope scope : {Scope::thread, Scope::block})
        if (scope == Scope::block || bytes == 8)
          rows.push_back(bench::to_json(measure_row(end, a.round(measure, bytes), a.seconds, scope)));
  if (rank == 0 && std::puts(rows.dump().c_str()) < 0) throw std::runtime_error("the rows could not be printed");
}

void start_nvshmem(int rank) {
  int devices = 0;
  check(cudaGetDeviceCount(&devices), "cudaGetDeviceCount");
  if (devices < 2) throw std::runtime_error(std::to_string(devices) + " GPUs: expected 2 or more");
  check(cudaSetDevice(rank), "cudaSetDevice");
  nvshmemx_uniqueid_t id = NVSHMEMX_UNIQUEID_INITIALIZER;
  if (rank == 0) check(nvshmemx_get_uniqueid(&id), "nvshmemx_get_uniqueid");
  check(MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD), "MPI_Bcast");
  nvshmemx_init_attr_t attributes = NVSHMEMX_INIT_ATTR_INITIALIZER;
  check(nvshmemx_set_attr_uniqueid_args(rank, 2, &id, &attributes), "nvshmemx_set_attr_uniqueid_args");
  check(nvshmemx_init_attr(NVSHMEMX_INIT_WITH_UNIQUEID, &attributes), "nvshmemx_init_attr");
}

}  // namespace

int main(int argc, char** argv) {
  // NVLink multicast can put the GPUs of a shared machine out of service; and there is but this machine.
  if (::setenv("NVSHMEM_DISABLE_NVLS", "1", 1) != 0 || ::setenv("NVSHMEM_REMOTE_TRANSPORT", "none", 1) != 0) return 1;
  if (MPI_Init(&argc, &argv) != MPI_SUCCESS) return 1;
  try {
    int rank = 0, size = 0;
    check(MPI_Comm_rank(MPI_COMM_WORLD, &rank), "MPI_Comm_rank");
    check(MPI_Comm_size(MPI_COMM_WORLD, &size), "MPI_Comm_size");
    if (size != 2) throw std::runtime_error(std::to_string(size) + " processes: expected 2, as by mpirun -n 2");
    const bench::peer::Arguments arguments = bench::peer::parse(argc, argv);
    start_nvshmem(rank);
    measure_all(arguments, rank);
    nvshmem_finalize();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "dcgn_peer_nvshmem_p2p: %s\n", e.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  return MPI_Finalize() == MPI_SUCCESS ? 0 : 1;
}
