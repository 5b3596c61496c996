// A kernel object made ready for either kind of device.
#pragma once

#include <dcgn/arch/context.hpp>
#include <dcgn/launch.hpp>

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <typeinfo>

namespace dcgn {

namespace detail {

std::string type_name(const std::type_info& type);

// A kernel object with its arguments, type-erased. The CUDA members are empty where the caller's file was not
// compiled by nvcc; they return a cudaError_t as int, 0 for success, and use the caller's own CUDA runtime.
struct KernelImage {
  const std::type_info* type = nullptr;         // the kernel object's
  unsigned max_threads = 0;                     // of a block, as the kernel says; 0: it says nothing
  std::function<void(gpu::Context&)> emulated;  // the work of one thread; called by all of them at once
  std::function<int(const Launch&, void* stream)> cuda_launch;
  std::function<int(const Launch&, int& blocks_per_multiprocessor)> cuda_occupancy;
  // On an emulated GPU, of a launch that runs a part of a larger one: its blocks are those from `first` on, x fastest,
  // of `grid`, and that is what they see (virtual_gpu.hpp).
  struct PartOf {
    Dim3 grid;
    unsigned first;
  };
  std::optional<PartOf> part_of;

  // For reports: it takes longer to spell than a kernel to launch.
  std::string name() const { return type ? type_name(*type) : "kernel"; }
};

template <class Kernel>
concept BoundedKernel = requires {
  {Kernel::max_threads};
};

// 0: the compiler's choice.
template <class Kernel>
constexpr unsigned blocks_per_multiprocessor() {
  if constexpr (requires { {Kernel::blocks_per_multiprocessor}; })
    return Kernel::blocks_per_multiprocessor;
  else
    return 0;
}

#if defined(__CUDACC__)
template <class Kernel, class... Args>
__global__ void kernel_entry(const Kernel kernel, Args... args) {
  gpu::Context context;
  kernel(context, args...);
}

template <class Kernel, class... Args>
__global__ void __launch_bounds__(Kernel::max_threads, blocks_per_multiprocessor<Kernel>())
    bounded_kernel_entry(const Kernel kernel, Args... args) {
  gpu::Context context;
  kernel(context, args...);
}

template <class Kernel, class... Args>
auto entry_of() {
  if constexpr (BoundedKernel<Kernel>)
    return bounded_kernel_entry<Kernel, Args...>;
  else
    return kernel_entry<Kernel, Args...>;
}

inline dim3 to_cuda(Dim3 d) { return dim3(d.x, d.y, d.z); }

// More than 48 KiB of shared memory, static and dynamic, must be asked for: here all that the current device has, so
// that threads which launch at once ask for the same.
inline cudaError_t allow_all_shared(const void* entry) {
  int device = 0, most = 0;
  cudaFuncAttributes has{};
  cudaError_t result = cudaGetDevice(&device);
  if (result == cudaSuccess) result = cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  if (result == cudaSuccess) result = cudaFuncGetAttributes(&has, entry);
  const int free = most - static_cast<int>(has.sharedSizeBytes);
  if (result != cudaSuccess || has.maxDynamicSharedSizeBytes >= free) return result;
  return cudaFuncSetAttribute(entry, cudaFuncAttributeMaxDynamicSharedMemorySize, free);
}
#endif

// `kernel(context, args...)` must be callable on the host and, under nvcc, on the device; kernel and arguments are
// copied. `static constexpr unsigned max_threads = N;` in a kernel says that its blocks have at most N threads: the
// compiler limits registers accordingly, and larger blocks are refused. Without it, a kernel may need more registers
// than a block of 1024 threads can have. With it, the compiler leaves half of the registers to a second block; `static
// constexpr unsigned blocks_per_multiprocessor = 1;` gives the kernel all.
template <class Kernel, class... Args>
KernelImage make_image(const Kernel& kernel, const Args&... args) {
  KernelImage image;
  image.type = &typeid(Kernel);
  if constexpr (BoundedKernel<Kernel>) image.max_threads = Kernel::max_threads;
  image.emulated = [kernel, args...](gpu::Context& context) {
    // Every thread has its own copy of the arguments, as on a GPU.
    [&](auto... own) { kernel(context, own...); }(args...);
  };
#if defined(__CUDACC__)
  const auto entry = entry_of<Kernel, Args...>();
  const auto allow_shared = [entry](const Launch& launch) {
    return launch.shared_bytes ? allow_all_shared(reinterpret_cast<const void*>(entry)) : cudaSuccess;
  };
  image.cuda_launch = [entry, allow_shared, kernel, args...](const Launch& launch, void* stream) {
    const cudaError_t allowed = allow_shared(launch);
    if (allowed != cudaSuccess) return static_cast<int>(allowed);
    // Not <<<>>> and cudaGetLastError(), which also returns, and clears, the error of an earlier call.
    cudaLaunchConfig_t config{};
    config.gridDim = to_cuda(launch.grid);
    config.blockDim = to_cuda(launch.block);
    config.dynamicSmemBytes = launch.shared_bytes;
    config.stream = static_cast<cudaStream_t>(stream);
    return static_cast<int>(cudaLaunchKernelEx(&config, entry, kernel, args...));
  };
  image.cuda_occupancy = [entry, allow_shared](const Launch& launch, int& blocks) {
    const cudaError_t allowed = allow_shared(launch);
    if (allowed != cudaSuccess) return static_cast<int>(allowed);
    return static_cast<int>(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
        &blocks, entry, static_cast<int>(launch.block.volume()), launch.shared_bytes));
  };
#endif
  return image;
}

}  // namespace detail
}  // namespace dcgn
