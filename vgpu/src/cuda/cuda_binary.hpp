// PTX on several CUDA devices.
#pragma once

#include "vgpu/src/machine.hpp"

#include <memory>
#include <string>
#include <vector>

namespace dcgn::virtual_gpu {

// Throws Error(configuration) with the assembler's first error;
// Error(unsupported) where the driver does not know the PTX's version.
std::unique_ptr<Binary> make_cuda_binary(const std::vector<Device>& devices, const std::string& name,
                                         const std::string& ptx, const std::vector<std::string>& kernels,
                                         const AssemblerOptions& options);

}  // namespace dcgn::virtual_gpu
