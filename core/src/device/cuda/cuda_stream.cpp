#include "cuda_stream.hpp"

namespace dcgn::device {

CudaStream::~CudaStream() {
  // As the contract says, it waits for its work; what fails here is seen by the next call on this device.
  static_cast<void>(cudaStreamSynchronize(stream_.get()));
}

void CudaStream::synchronize() {
  const CurrentDevice current(stream_.device(), "synchronize");
  const std::string call =
      last_kernel_ ? detail::type_name(*last_kernel_) + " or work beside it" : "cudaStreamSynchronize";
  check_cuda(cudaStreamSynchronize(stream_.get()), "synchronize", call.c_str(), stream_.device(), Code::kernel_failed);
  last_kernel_ = nullptr;
}

bool CudaStream::idle() {
  const cudaError_t state = cudaStreamQuery(stream_.get());
  if (state == cudaErrorNotReady) return false;
  check_cuda(state, "idle", "cudaStreamQuery", stream_.device(), Code::kernel_failed);
  return true;
}

void CudaStream::copy(void* to, const void* from, std::size_t bytes) {
  const CurrentDevice current(stream_.device(), "copy");
  check_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_.get()), "copy", "cudaMemcpyAsync",
             stream_.device());
}

void CudaStream::fill(void* memory, unsigned char value, std::size_t bytes) {
  const CurrentDevice current(stream_.device(), "fill");
  check_cuda(cudaMemsetAsync(memory, value, bytes, stream_.get()), "fill", "cudaMemsetAsync", stream_.device());
}

std::function<void()> CudaStream::record(const std::function<void()>& work) {
  const int device = stream_.device();
  const CurrentDevice current(device, "record");
  // Other threads go on with what a capture in global mode would forbid them.
  check_cuda(cudaStreamBeginCapture(stream_.get(), cudaStreamCaptureModeRelaxed), "record", "cudaStreamBeginCapture",
             device);
  cudaGraph_t graph = nullptr;
  try {
    work();
  } catch (...) {
    static_cast<void>(cudaStreamEndCapture(stream_.get(), &graph));
    if (graph) static_cast<void>(cudaGraphDestroy(graph));
    throw;
  }
  check_cuda(cudaStreamEndCapture(stream_.get(), &graph), "record", "cudaStreamEndCapture", device);
  cudaGraphExec_t made = nullptr;
  const cudaError_t result = cudaGraphInstantiate(&made, graph, 0);
  static_cast<void>(cudaGraphDestroy(graph));  // what was made of it is a copy
  check_cuda(result, "record", "cudaGraphInstantiate", device);
  const std::shared_ptr<CUgraphExec_st> kept(
      made, [](cudaGraphExec_t exec) { static_cast<void>(cudaGraphExecDestroy(exec)); });
  return [this, device, kept] {
    const CurrentDevice here(device, "launch");
    check_cuda(cudaGraphLaunch(kept.get(), stream_.get()), "launch", "cudaGraphLaunch", device);
  };
}

void CudaStream::launch(const Launch& launch, const dcgn::detail::KernelImage& image) {
  if (!image.cuda_launch)
    throw Error(Code::unsupported, "launch",
                image.name() +
                    ": the file that launches it was not compiled by nvcc, so it cannot run on CUDA device " +
                    std::to_string(stream_.device()));
  const CurrentDevice current(stream_.device(), "launch");
  const auto result = static_cast<cudaError_t>(image.cuda_launch(launch, stream_.get()));
  if (result != cudaSuccess) check_cuda(result, "launch", image.name().c_str(), stream_.device());
  last_kernel_ = image.type;
}

}  // namespace dcgn::device
