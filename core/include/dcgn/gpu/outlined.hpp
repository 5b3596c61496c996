// A way for kernels that both compute and talk to have their computations compiled as if they were alone.
#pragma once

#include <dcgn/host_device.hpp>

#include <utility>

namespace dcgn::gpu {

// function(args...), by a call of which the compiler knows nothing but the function's type. What a kernel keeps in
// registers for its messages is put aside meanwhile, some hundred cycles, and the function has all of a thread's
// registers for its loops. For work of microseconds and more: without it a compiler that sees both may run out of
// registers in the midst of the innermost loop (`-Xptxas -v` tells of spills). The function should be
// `[[gnu::noinline]]`, and is one of the kernel's own translation unit.
template <class Result, class... Parameters, class... Args>
DCGN_HOST_DEVICE Result outlined(Result (*function)(Parameters...), Args&&... args) {
#if defined(__CUDA_ARCH__)
  asm("" : "+l"(function));
#endif
  return function(std::forward<Args>(args)...);
}

}  // namespace dcgn::gpu
