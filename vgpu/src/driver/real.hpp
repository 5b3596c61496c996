// The driver's own functions, behind those of this library that stand in front of them.
#pragma once

#include <cuda.h>

#include <type_traits>

namespace dcgn::virtual_gpu::driver {

// The driver's library itself; null where the machine has none.
void* real_library();
// Null where the driver has no function of that name.
void* real_function(const char* name);
// The same, but an error of the driver's, CUDA_ERROR_NOT_FOUND, for those who call it unseen.
void* real_or_missing(const char* name);

}  // namespace dcgn::virtual_gpu::driver

// The driver's function of that type and name: DCGN_REAL_AS(decltype(cuMemcpyAsync), "cuMemcpyAsync_ptsz")(...).
// NOLINTBEGIN(bugprone-macro-parentheses): a type
#define DCGN_REAL_AS(type, name)                                                     \
  ([] {                                                                              \
    static const auto behind = reinterpret_cast<std::add_pointer_t<type>>(           \
        dcgn::virtual_gpu::driver::real_or_missing(name)); /* one look-up a place */ \
    return behind;                                                                   \
  }())
// NOLINTEND(bugprone-macro-parentheses)

// By the name that the driver's library has, cuMemAlloc_v2, not by that of which cuda.h makes it.
#define DCGN_REAL(function) DCGN_REAL_AS(decltype(::function), #function)
