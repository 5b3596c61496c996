// CUDA devices as Backends. Plain C++ over the CUDA runtime: the library itself has no kernels to compile.
#pragma once

#include "../backend.hpp"

#include <memory>

namespace dcgn::device {

// 0 where there is no driver, or no device that it can drive.
int cuda_device_count();
std::unique_ptr<Backend> make_cuda_device(int index);

}  // namespace dcgn::device
