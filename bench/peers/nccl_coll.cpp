// NCCL between GPUs of one process, a rank each: once as it is, once with its buffers in symmetric windows. Calls are
// captured in CUDA graphs, one a GPU, so that a launch from the host is paid once a block of calls.
//   dcgn_peer_nccl_coll --ranks N --seconds S OP:SIZE...
#include "bench/json.hpp"
#include "bench/peers/coll_pattern_kernel.hpp"

#include <cuda_runtime.h>
#include <nccl.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using namespace dcgn;
using bench::Collective, bench::peer::CollRound;

void check(cudaError_t code, const char* call) {
  if (code != cudaSuccess) throw std::runtime_error(std::string(call) + ": " + cudaGetErrorString(code));
}

void check(ncclResult_t code, const char* call) {
  if (code != ncclSuccess)
    throw std::runtime_error(std::string(call) + ": " + ncclGetErrorString(code) + ": " + ncclGetLastError(nullptr));
}

constexpr unsigned pattern_blocks = 256, pattern_threads = 256;

// All GPUs begin their calls at once, when the host says so, and not one launch after the other.
__global__ void wait_for(const volatile unsigned* launches, unsigned number) {
  while (*launches != number) __nanosleep(100);
}

// What a GPU has. It and all below are released by the process's end alone: after an error NCCL may wait for another
// GPU for ever.
struct Gpu {
  int device = 0;
  ncclComm_t comm = nullptr;
  cudaStream_t stream = nullptr;
  cudaEvent_t begin = nullptr, end = nullptr;
  float *in = nullptr, *out = nullptr;
  ncclWindow_t in_window = nullptr, out_window = nullptr;
  unsigned long long* wrong = nullptr;
  cudaGraphExec_t calls = nullptr;
};

class Ranks {
 public:
  Ranks(int count, std::size_t room) : gpus_(static_cast<std::size_t>(count)), bytes_(room * sizeof(float)) {
    int devices = 0;
    check(cudaGetDeviceCount(&devices), "cudaGetDeviceCount");
    if (devices < count)
      throw std::runtime_error(std::to_string(devices) + " GPUs: expected " + std::to_string(count) + " or more");
    std::vector<ncclComm_t> comms(gpus_.size());
    check(ncclCommInitAll(comms.data(), count, nullptr), "ncclCommInitAll");
    check(cudaHostAlloc(&launches_, sizeof *launches_, cudaHostAllocPortable), "cudaHostAlloc");
    *launches_ = 0;
    for (int g = 0; g < count; ++g) {
      Gpu& gpu = gpus_[static_cast<std::size_t>(g)];
      gpu.device = g;
      gpu.comm = comms[static_cast<std::size_t>(g)];
      check(cudaSetDevice(g), "cudaSetDevice");
      check(cudaStreamCreateWithFlags(&gpu.stream, cudaStreamNonBlocking), "cudaStreamCreate");
      check(cudaEventCreate(&gpu.begin), "cudaEventCreate");
      check(cudaEventCreate(&gpu.end), "cudaEventCreate");
      for (float** memory : {&gpu.in, &gpu.out}) {
        check(ncclMemAlloc(reinterpret_cast<void**>(memory), bytes_), "ncclMemAlloc");
        check(cudaMemset(*memory, 0, bytes_), "cudaMemset");
      }
      check(cudaMalloc(&gpu.wrong, sizeof *gpu.wrong), "cudaMalloc");
      wait_for<<<1, 1, 0, gpu.stream>>>(launches_, 0);  // its code is there before anything waits
      check(cudaGetLastError(), "wait_for");
    }
    synchronize();
  }

  void register_windows() {
    for (const bool outs : {false, true}) {
      check(ncclGroupStart(), "ncclGroupStart");
      for (Gpu& gpu : gpus_) {
        check(cudaSetDevice(gpu.device), "cudaSetDevice");
        check(ncclCommWindowRegister(gpu.comm, outs ? gpu.out : gpu.in, bytes_, outs ? &gpu.out_window : &gpu.in_window,
                                     NCCL_WIN_COLL_SYMMETRIC),
              "ncclCommWindowRegister");
      }
      check(ncclGroupEnd(), "ncclGroupEnd");
    }
    calls_ = 0;  // what was captured before does not know of them
  }

  // Does so many calls; gives the microseconds that they took the GPU that took longest.
  double run(const CollRound& round, std::uint64_t calls) {
    if (round != round_ || calls != calls_) capture(round, calls);
    return launch();
  }

  // One more call, whose result is looked at. How many elements were wrong on all GPUs.
  std::uint64_t count_wrong(const CollRound& round) {
    for (const Gpu& gpu : gpus_) {
      check(cudaSetDevice(gpu.device), "cudaSetDevice");
      bench::peer::fill_collective<<<pattern_blocks, pattern_threads, 0, gpu.stream>>>(round, gpu.device, gpu.in,
                                                                                       gpu.out);
      check(cudaGetLastError(), "fill_collective");
      check(cudaMemsetAsync(gpu.wrong, 0, sizeof *gpu.wrong, gpu.stream), "cudaMemsetAsync");
    }
    synchronize();
    enqueue(round);
    synchronize();
    std::uint64_t sum = 0;
    for (const Gpu& gpu : gpus_) {
      check(cudaSetDevice(gpu.device), "cudaSetDevice");
      bench::peer::count_wrong_collective<<<pattern_blocks, pattern_threads, 0, gpu.stream>>>(round, gpu.device,
                                                                                              gpu.out, gpu.wrong);
      check(cudaGetLastError(), "count_wrong_collective");
      unsigned long long wrong = 0;
      check(cudaMemcpyAsync(&wrong, gpu.wrong, sizeof wrong, cudaMemcpyDeviceToHost, gpu.stream), "cudaMemcpyAsync");
      check(cudaStreamSynchronize(gpu.stream), "cudaStreamSynchronize");
      sum += wrong;
    }
    return sum;
  }

 private:
  static void call(const CollRound& round, const Gpu& g) {
    const auto count = static_cast<std::size_t>(round.count());
    switch (round.op) {
      case Collective::broadcast:
        return check(ncclBroadcast(g.out, g.out, count, ncclFloat, 0, g.comm, g.stream), "ncclBroadcast");
      case Collective::reduce:
        return check(ncclReduce(g.in, g.out, count, ncclFloat, ncclSum, 0, g.comm, g.stream), "ncclReduce");
      case Collective::all_reduce:
        return check(ncclAllReduce(g.in, g.out, count, ncclFloat, ncclSum, g.comm, g.stream), "ncclAllReduce");
      case Collective::reduce_scatter:
        return check(ncclReduceScatter(g.in, g.out, count, ncclFloat, ncclSum, g.comm, g.stream), "ncclReduceScatter");
      case Collective::all_gather:
        return check(ncclAllGather(g.in, g.out, count, ncclFloat, g.comm, g.stream), "ncclAllGather");
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 28, 0)
      case Collective::gather:
        return check(ncclGather(g.in, g.out, count, ncclFloat, 0, g.comm, g.stream), "ncclGather");
      case Collective::scatter:
        return check(ncclScatter(g.in, g.out, count, ncclFloat, 0, g.comm, g.stream), "ncclScatter");
      case Collective::all_to_all:
        return check(ncclAlltoAll(g.in, g.out, count, ncclFloat, g.comm, g.stream), "ncclAlltoAll");
#else
      case Collective::gather:
      case Collective::scatter:
      case Collective::all_to_all: {
        // Each part is a message.
        const bool scatters = round.op == Collective::scatter, gathers = round.op == Collective::gather;
        for (int r = 0; r < round.ranks; ++r) {
          const std::size_t there = count * static_cast<std::size_t>(r);
          if (g.device == 0 || !scatters) {
            if (r == 0 || !gathers)
              check(ncclSend(g.in + (gathers ? 0 : there), count, ncclFloat, r, g.comm, g.stream), "ncclSend");
          }
          if (g.device == 0 || !gathers) {
            if (r == 0 || !scatters)
              check(ncclRecv(g.out + (scatters ? 0 : there), count, ncclFloat, r, g.comm, g.stream), "ncclRecv");
          }
        }
        return;
      }
#endif
      case Collective::barrier:
      case Collective::scan: break;
    }
    throw std::runtime_error(std::string(bench::name_of(round.op)) + ": expected a collective that NCCL has");
  }

  void enqueue(const CollRound& round) {
    check(ncclGroupStart(), "ncclGroupStart");
    for (const Gpu& gpu : gpus_) call(round, gpu);
    check(ncclGroupEnd(), "ncclGroupEnd");
  }

  void synchronize() {
    for (const Gpu& gpu : gpus_) check(cudaStreamSynchronize(gpu.stream), "cudaStreamSynchronize");
  }

  void capture(const CollRound& round, std::uint64_t calls) {
    enqueue(round);  // what NCCL does once, it does now
    synchronize();
    for (Gpu& gpu : gpus_) {
      if (gpu.calls) check(cudaGraphExecDestroy(gpu.calls), "cudaGraphExecDestroy");
      gpu.calls = nullptr;
      check(cudaSetDevice(gpu.device), "cudaSetDevice");
      check(cudaStreamBeginCapture(gpu.stream, cudaStreamCaptureModeRelaxed), "cudaStreamBeginCapture");
    }
    for (std::uint64_t i = 0; i < calls; ++i) enqueue(round);
    for (Gpu& gpu : gpus_) {
      check(cudaSetDevice(gpu.device), "cudaSetDevice");
      cudaGraph_t graph = nullptr;
      check(cudaStreamEndCapture(gpu.stream, &graph), "cudaStreamEndCapture");
      check(cudaGraphInstantiate(&gpu.calls, graph, 0), "cudaGraphInstantiate");
      check(cudaGraphDestroy(graph), "cudaGraphDestroy");
    }
    // A graph's first launch costs more, and may wait for the whole GPU: so nothing is held up yet.
    for (const Gpu& gpu : gpus_) {
      check(cudaSetDevice(gpu.device), "cudaSetDevice");
      check(cudaGraphLaunch(gpu.calls, gpu.stream), "cudaGraphLaunch");
    }
    synchronize();
    round_ = round;
    calls_ = calls;
  }

  double launch() {
    const unsigned number = *launches_ + 1;
    for (const Gpu& gpu : gpus_) {
      check(cudaSetDevice(gpu.device), "cudaSetDevice");
      wait_for<<<1, 1, 0, gpu.stream>>>(launches_, number);
      check(cudaGetLastError(), "wait_for");
      check(cudaEventRecord(gpu.begin, gpu.stream), "cudaEventRecord");
      check(cudaGraphLaunch(gpu.calls, gpu.stream), "cudaGraphLaunch");
      check(cudaEventRecord(gpu.end, gpu.stream), "cudaEventRecord");
    }
    std::atomic_ref<unsigned>(*launches_).store(number, std::memory_order_release);
    synchronize();
    float most = 0;
    for (const Gpu& gpu : gpus_) {
      float ms = 0;
      check(cudaEventElapsedTime(&ms, gpu.begin, gpu.end), "cudaEventElapsedTime");
      most = std::max(most, ms);
    }
    return static_cast<double>(most) * 1e3;
  }

  std::vector<Gpu> gpus_;
  std::size_t bytes_;  // of a buffer
  unsigned* launches_ = nullptr;
  CollRound round_;  // what the graphs hold
  std::uint64_t calls_ = 0;
};

std::string library() {
  int version = 0;
  check(ncclGetVersion(&version), "ncclGetVersion");
  return "NCCL " + std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

void measure_all(const bench::peer::CollArguments& a) {
  Ranks ranks(a.ranks, a.room());
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const char* form : {"", ", symmetric windows"}) {
    if (*form) ranks.register_windows();
    for (const CollRound& round : a.rounds) {
      bench::Row row = bench::peer::time_collective(
          round, a.seconds, [&](std::uint64_t calls) { return ranks.run(round, calls); },
          [](double value) { return value; });
      row.whose = library() + form;
      row.path = bench::peer::path_of(a.ranks, "GPU");
      row.wrong = ranks.count_wrong(round);
      rows.push_back(bench::to_json(row));
    }
  }
  if (std::puts(rows.dump().c_str()) < 0) throw std::runtime_error("the rows could not be printed");
}

}  // namespace

int main(int argc, char** argv) {
  // NVLink multicast can put the GPUs of a shared machine out of service.
  if (::setenv("NCCL_NVLS_ENABLE", "0", 1) != 0) return 1;
  int code = 0;
  try {
    measure_all(bench::peer::parse_coll(argc, argv));
  } catch (const std::exception& e) {
    std::fprintf(stderr, "dcgn_peer_nccl_coll: %s\n", e.what());
    code = 1;
  }
  std::fflush(stdout);
  std::_Exit(code);  // see Gpu
}
