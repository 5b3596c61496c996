#include "vgpu/src/cuda/cuda_capture.hpp"

#include "device/cuda/cuda_driver.hpp"

namespace dcgn::virtual_gpu {

namespace {

using device::check_driver, device::CurrentContext, device::driver;

class CudaCaptured final : public Captured {
 public:
  CudaCaptured(int device, CUgraph graph) : device_(device) {
    const CurrentContext current(device::context_of(device));
    const CUresult result = driver().graph_instantiate(&exec_, graph, 0);
    static_cast<void>(driver().graph_destroy(graph));
    check_driver(result, "launch", "cuGraphInstantiateWithFlags", device);
  }
  ~CudaCaptured() override {
    static_cast<void>(driver().graph_exec_destroy(exec_));  // at process end the driver may be gone already
  }
  void launch(dcgn::Stream& first) override {
    check_driver(driver().graph_launch(exec_, static_cast<CUstream>(first.native())), "launch", "cuGraphLaunch",
                 device_);
  }

 private:
  const int device_;
  CUgraphExec exec_ = nullptr;
};

}  // namespace

// All parts are in it from its begin, and wait for nothing outside of it; part 0 ends it when all others have joined.
std::unique_ptr<Captured> capture_cuda(const std::vector<Device>& devices, Parts& streams,
                                       const std::function<void()>& work) {
  const int device = devices.front().index();
  streams.gather();
  const auto first = static_cast<CUstream>(streams.use(0).native());
  check_driver(driver().stream_begin_capture(first, CU_STREAM_CAPTURE_MODE_RELAXED), "launch", "cuStreamBeginCapture",
               device);
  CUgraph graph = nullptr;
  try {
    streams.order();
    work();
    for (int part = 0; part < static_cast<int>(devices.size()); ++part) streams.use(part);
    streams.gather();
  } catch (...) {
    if (driver().stream_end_capture(first, &graph) == CUDA_SUCCESS) static_cast<void>(driver().graph_destroy(graph));
    for (int part = 0; part < static_cast<int>(devices.size()); ++part) streams.use(part);  // events are of no use now
    throw;
  }
  check_driver(driver().stream_end_capture(first, &graph), "launch", "cuStreamEndCapture", device);
  return std::make_unique<CudaCaptured>(device, graph);
}

}  // namespace dcgn::virtual_gpu
