// How a kernel that dcgn.Kernel compiles from source is launched on a virtual GPU: included before that source.
#pragma once

#include <dcgn_argument.hpp>

#include <dcgn/arch/context.hpp>
#include <dcgn/span.hpp>
#include <dcgn/virtual_gpu.hpp>

#include <cstddef>
#include <type_traits>
#include <utility>

namespace dcgn::python {

// What the shared library of a kernel has, under this name.
using LaunchKernel = void(VirtualGpu& gpu, const Launch& launch, Span<const Argument> arguments);
inline constexpr const char* launch_entry = "dcgn_python_launch_kernel";

// What `void operator()(gpu::Context&, Args...) const` takes.
template <class Kernel, class... Args>
void launch_kernel(void (Kernel::*)(gpu::Context&, Args...) const, VirtualGpu& gpu, const Launch& launch,
                   Span<const Argument> arguments) {
  check_count(arguments.size(), sizeof...(Args));
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    gpu.launch_object(gpu.own_stream(), launch, Kernel{}, value_of<std::remove_cvref_t<Args>>(arguments[I], I)...);
  }
  (std::index_sequence_for<Args...>());
}

}  // namespace dcgn::python
