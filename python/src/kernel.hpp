// Kernels of GPUs that were compiled from source at run time.
#pragma once

#include "buffer.hpp"

#include <dcgn/job.hpp>

#include <memory>
#include <string>
#include <vector>

namespace dcgn::python {

// Gives a GPU of the job the kernel of a shared library, with these arguments; `kept` gets the memory among them, which
// must last until the job has ended. Throws Error(io) where the library cannot be loaded, and invalid_type, naming
// both, where an argument is not what the kernel takes.
void add_kernel(dcgn::Job& job, int gpu, const std::string& library, const Launch& launch, const nb::tuple& arguments,
                std::vector<std::unique_ptr<Buffer>>& kept);

}  // namespace dcgn::python
