// Arguments for what was compiled from source at run time, and the libraries that it is in.
#pragma once

#include "buffer.hpp"
#include "dcgn_argument.hpp"

#include <dcgn/device.hpp>

#include <memory>
#include <string>
#include <vector>

namespace dcgn::python {

// Memory that was given, to last as long as what was compiled uses it.
using Kept = std::vector<std::unique_ptr<Buffer>>;

// Throws Error(device) for arrays in the host's memory where they are for a real GPU, invalid_type for one with gaps.
std::vector<Argument> arguments_of(const nb::tuple& given, bool for_cuda, Kept& kept);

// A function of a shared library, which stays loaded. Throws Error(io), saying why, where there is none.
void* function_of(const std::string& library, const char* name);

// What source is compiled for: as nvcc has it, "sm_90"; empty for an emulated GPU.
std::string architecture_of(const Device& device);

}  // namespace dcgn::python
