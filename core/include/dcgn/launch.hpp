// The shape of a launch. What makes kernels ready for it is in gpu/kernel.hpp, which launch.hpp of that folder has,
// too: a file that launches kernels includes <dcgn/gpu/launch.hpp>.
#pragma once

#include <dcgn/dim3.hpp>

#include <cstddef>

namespace dcgn {

// Members are set by name: {.grid = 4, .block = 128}.
struct Launch {
  Dim3 grid;                     // blocks
  Dim3 block;                    // threads in each
  std::size_t shared_bytes = 0;  // dynamic shared memory of each block
  // true: blocks wait for each other, so all must be resident at once; a launch of more blocks than the device can hold
  // is refused. false: they do not wait for each other and may run one after the other.
  bool resident = true;
};

namespace detail {
struct KernelImage;  // a kernel with its arguments: complete where <dcgn/gpu/launch.hpp> is included
template <class Kernel, class... Args>
KernelImage make_image(const Kernel& kernel, const Args&... args);
}  // namespace detail

}  // namespace dcgn
