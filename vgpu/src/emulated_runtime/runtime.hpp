// CUDA's runtime over any driver, for programs on emulated GPUs: NVIDIA's works with NVIDIA's driver alone. Preloaded
// by `dcgn vgpu run --emulate`; it finds the driver as the real one does, so what stands in front of that sees its
// calls.
//
// Handles are the driver's. Kernels are of libraries, which are loaded when a kernel or a variable is first asked for.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstddef>

namespace dcgn::virtual_gpu::emulated_runtime {

// Null where the driver has none of that name.
void* driver_function(const char* name);

// Numbers are the same in both.
inline cudaError_t error_of(CUresult result) { return static_cast<cudaError_t>(result); }
// Keeps it for cudaGetLastError(), and returns it.
cudaError_t keep(cudaError_t result);
inline cudaError_t keep(CUresult result) { return keep(error_of(result)); }

// Makes the calling thread's device ready, where nothing is current yet.
cudaError_t prepare();

template <class Function, class... Arguments>
cudaError_t call_driver(Function* function, Arguments... arguments) {
  if (const cudaError_t wrong = prepare(); wrong != cudaSuccess) return keep(wrong);
  return function ? keep(function(arguments...)) : keep(cudaErrorNotSupported);
}

// The kernel behind a function of the host's; null with the error.
cudaError_t find_kernel(CUkernel& kernel, const void* function);
// Variables of modules.
cudaError_t find_variable(void*& address, std::size_t& bytes, const void* symbol);
// As a CUfunction, which the driver takes too. `function` is one of the host's, or a kernel already.
cudaError_t find_function(CUfunction& found, const void* function);

inline CUdeviceptr address_of(const void* memory) { return reinterpret_cast<CUdeviceptr>(memory); }
// The stream that null means.
inline CUstream meant(bool own_thread, cudaStream_t stream) {
  return stream ? stream : own_thread ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
}

// As the driver knows it, and back.
CUDA_MEMCPY3D copy_of(const cudaMemcpy3DParms& p);
cudaMemcpy3DParms copy_of(const CUDA_MEMCPY3D& c);

}  // namespace dcgn::virtual_gpu::emulated_runtime

// The driver's function of that name, as cuda.h declares it.
#define DCGN_DRIVER(name)                                                                                 \
  ([] {                                                                                                   \
    static const auto of_driver =                                                                         \
        reinterpret_cast<decltype(&::name)>(dcgn::virtual_gpu::emulated_runtime::driver_function(#name)); \
    return of_driver;                                                                                     \
  }())

// Calls it once the device is ready, and keeps the error.
#define DCGN_CALL(name, ...) \
  dcgn::virtual_gpu::emulated_runtime::call_driver(DCGN_DRIVER(name) __VA_OPT__(, ) __VA_ARGS__)

// Both forms of a call: for a null stream that means the legacy default stream, and the thread's own. In the body,
// `own` says which.
#define DCGN_BOTH(name, suffix, parameters, ...) \
  cudaError_t name parameters {                  \
    [[maybe_unused]] constexpr bool own = false; \
    __VA_ARGS__                                  \
  }                                              \
  cudaError_t name##suffix parameters {          \
    [[maybe_unused]] constexpr bool own = true;  \
    __VA_ARGS__                                  \
  }
