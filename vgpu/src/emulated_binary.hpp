// PTX on emulated GPUs, by the interpreter.
#pragma once

#include "vgpu/src/machine.hpp"

#include <memory>
#include <string>
#include <vector>

namespace dcgn::virtual_gpu {

// Throws what interpreter::Code does.
std::unique_ptr<Binary> make_emulated_binary(const std::vector<Device>& devices, const std::string& name,
                                             const std::string& ptx, const std::vector<std::string>& kernels);

}  // namespace dcgn::virtual_gpu
