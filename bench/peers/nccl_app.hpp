// NCCL for applications: one process, all GPUs, a stream for each; steps are captured in CUDA graphs, so that launches
// from the host are paid once for many of them.
#pragma once

#include "bench/app_row.hpp"
#include "bench/peers/app_program.hpp"

#include <dcgn/arch/context.hpp>

#include <cuda_runtime.h>
#include <nccl.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

namespace dcgn::bench::peer {

inline void check(cudaError_t code, const char* call) {
  if (code != cudaSuccess) throw std::runtime_error(std::string(call) + ": " + cudaGetErrorString(code));
}
inline void check(ncclResult_t code, const char* call) {
  if (code != ncclSuccess)
    throw std::runtime_error(std::string(call) + ": " + ncclGetErrorString(code) + ": " + ncclGetLastError(nullptr));
}

inline std::string nccl_library() {
  int version = 0;
  check(ncclGetVersion(&version), "ncclGetVersion");
  return "NCCL " + std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

// A GPU, with a stream for kernels and one for communication beside it. Released by the process's end alone: after an
// error NCCL may wait for another GPU for ever.
struct NcclGpu {
  int device = 0, multiprocessors = 0;
  ncclComm_t comm = nullptr;
  cudaStream_t stream = nullptr, beside = nullptr;
  cudaEvent_t begin = nullptr, end = nullptr, ready = nullptr, moved = nullptr;
  cudaGraphExec_t graph = nullptr;

  void use() const { check(cudaSetDevice(device), "cudaSetDevice"); }
};

inline std::vector<NcclGpu> open_gpus(int count) {
  std::vector<ncclComm_t> comms(static_cast<std::size_t>(count));
  check(ncclCommInitAll(comms.data(), count, nullptr), "ncclCommInitAll");
  std::vector<NcclGpu> gpus(static_cast<std::size_t>(count));
  for (int g = 0; g < count; ++g) {
    NcclGpu& gpu = gpus[static_cast<std::size_t>(g)];
    gpu.device = g;
    gpu.comm = comms[static_cast<std::size_t>(g)];
    gpu.use();
    check(cudaDeviceGetAttribute(&gpu.multiprocessors, cudaDevAttrMultiProcessorCount, g), "cudaDeviceGetAttribute");
    for (cudaStream_t* stream : {&gpu.stream, &gpu.beside})
      check(cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking), "cudaStreamCreate");
    for (cudaEvent_t* event : {&gpu.begin, &gpu.end}) check(cudaEventCreate(event), "cudaEventCreate");
    for (cudaEvent_t* event : {&gpu.ready, &gpu.moved})
      check(cudaEventCreateWithFlags(event, cudaEventDisableTiming), "cudaEventCreate");
  }
  return gpus;
}

template <class T>
T* allocate(const NcclGpu& gpu, std::size_t count) {
  void* memory = nullptr;
  gpu.use();
  check(ncclMemAlloc(&memory, count * sizeof(T)), "ncclMemAlloc");
  return static_cast<T*>(memory);
}

template <class Kernel, class... Args>
__global__ void __launch_bounds__(Kernel::max_threads, Kernel::blocks_per_multiprocessor)
    run_kernel(const Kernel kernel, Args... args) {
  gpu::Context context;
  kernel(context, args...);
}

template <class Kernel, class... Args>
void launch(const NcclGpu& gpu, unsigned blocks, unsigned threads, std::size_t shared_bytes, const Kernel& kernel,
            const Args&... args) {
  gpu.use();
  if (shared_bytes > 48 * 1024)
    check(cudaFuncSetAttribute(run_kernel<Kernel, Args...>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               static_cast<int>(shared_bytes)),
          "cudaFuncSetAttribute");
  run_kernel<<<blocks, threads, shared_bytes, gpu.stream>>>(kernel, args...);
  check(cudaGetLastError(), "a launch");
}

inline void synchronize(const std::vector<NcclGpu>& gpus) {
  for (const NcclGpu& gpu : gpus) check(cudaStreamSynchronize(gpu.stream), "cudaStreamSynchronize");
}

// Makes a graph for each GPU of what enqueue() gives to the GPUs' streams.
template <class Enqueue>
void capture(std::vector<NcclGpu>& gpus, const Enqueue& enqueue) {
  for (NcclGpu& gpu : gpus) {
    gpu.use();
    if (gpu.graph) check(cudaGraphExecDestroy(gpu.graph), "cudaGraphExecDestroy");
    gpu.graph = nullptr;
    check(cudaStreamBeginCapture(gpu.stream, cudaStreamCaptureModeRelaxed), "cudaStreamBeginCapture");
  }
  enqueue();
  for (NcclGpu& gpu : gpus) {
    gpu.use();
    cudaGraph_t graph = nullptr;
    check(cudaStreamEndCapture(gpu.stream, &graph), "cudaStreamEndCapture");
    check(cudaGraphInstantiate(&gpu.graph, graph, 0), "cudaGraphInstantiate");
    check(cudaGraphDestroy(graph), "cudaGraphDestroy");
    check(cudaGraphUpload(gpu.graph, gpu.stream), "cudaGraphUpload");
  }
  synchronize(gpus);
}

// Runs the graphs once; the microseconds that they took on the first GPU.
inline double replay(const std::vector<NcclGpu>& gpus) {
  for (std::size_t g = gpus.size(); g-- > 0;) {  // the first one, which is timed, last: the others are there
    const NcclGpu& gpu = gpus[g];
    gpu.use();
    if (g == 0) check(cudaEventRecord(gpu.begin, gpu.stream), "cudaEventRecord");
    check(cudaGraphLaunch(gpu.graph, gpu.stream), "cudaGraphLaunch");
    if (g == 0) check(cudaEventRecord(gpu.end, gpu.stream), "cudaEventRecord");
  }
  synchronize(gpus);
  float ms = 0;
  check(cudaEventElapsedTime(&ms, gpus[0].begin, gpus[0].end), "cudaEventElapsedTime");
  return static_cast<double>(ms) * 1e3;
}

// Runs work(arguments) and prints the row that it gives.
template <class Work>
int run_nccl_app(int argc, char** argv, const char* program, const Work& work) {
  // NVLink multicast can put the GPUs of a shared machine out of service.
  if (::setenv("NCCL_NVLS_ENABLE", "0", 1) != 0) return 1;
  int code = 0;
  try {
    const auto row = work(AppArguments(argc, argv));
    if (std::puts(("[" + to_json(row).dump() + "]").c_str()) < 0) throw std::runtime_error("the row was not printed");
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s: %s\n", program, e.what());
    code = 1;
  }
  std::fflush(stdout);
  std::_Exit(code);  // see NcclGpu
}

}  // namespace dcgn::bench::peer
