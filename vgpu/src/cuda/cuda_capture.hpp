// Work of streams of several CUDA devices as one CUDA graph.
#pragma once

#include "vgpu/src/machine.hpp"

#include <functional>
#include <memory>
#include <vector>

namespace dcgn::virtual_gpu {

// Machine::capture(). Throws Error(device) where the driver cannot capture it, and what `work` throws.
std::unique_ptr<Captured> capture_cuda(const std::vector<Device>& devices, Parts& streams,
                                       const std::function<void()>& work);

}  // namespace dcgn::virtual_gpu
