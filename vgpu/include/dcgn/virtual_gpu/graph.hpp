// Work of a stream of a virtual GPU that is given again and again, by one call.
#pragma once

#include <memory>
#include <utility>

namespace dcgn::virtual_gpu {

class Gpu;           // vgpu/src/gpu.hpp
class RecordedWork;  // vgpu/src/recorded_work.hpp

// Launches, copies and fills, in their order, as VirtualGpu::record() has taken them; cheap to copy. A launch over
// several GPUs takes the thread that makes it three times as long as one on one GPU, so many short ones in a row gain
// when they are recorded: on CUDA devices the second VirtualGpu::launch() and later ones give all of them as one CUDA
// graph.
class Graph {
 private:
  friend class Gpu;
  explicit Graph(std::shared_ptr<RecordedWork> work) : work_(std::move(work)) {}

  std::shared_ptr<RecordedWork> work_;
};

}  // namespace dcgn::virtual_gpu
