// How a kernel that dcgn.Kernel compiles from source is given to a job: included before that source.
#pragma once

#include <dcgn_argument.hpp>

#include <dcgn/gpu/launch.hpp>
#include <dcgn/job.hpp>

#include <cstddef>
#include <type_traits>
#include <utility>

namespace dcgn::python {

// What the shared library of a kernel has, under this name.
using AddKernel = void(Job& job, int gpu, const Launch& launch, Span<const Argument> arguments);
inline constexpr const char* kernel_entry = "dcgn_python_add_kernel";

// What `void operator()(gpu::Context&, gpu::Comm, Args...) const` takes.
template <class Kernel, class... Args>
void add_kernel(void (Kernel::*)(gpu::Context&, gpu::Comm, Args...) const, Job& job, int gpu, const Launch& launch,
                Span<const Argument> arguments) {
  check_count(arguments.size(), sizeof...(Args));
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    job.gpu_on(gpu, launch, Kernel{}, value_of<std::remove_cvref_t<Args>>(arguments[I], I)...);
  }
  (std::index_sequence_for<Args...>());
}

}  // namespace dcgn::python
