// The runtime's calls about kernels.
#include "vgpu/src/emulated_runtime/runtime.hpp"

#include <climits>
#include <vector>

using namespace dcgn::virtual_gpu::emulated_runtime;

namespace {

bool is_shape(const dim3& grid, const dim3& block) {
  const auto threads = static_cast<unsigned long long>(block.x) * block.y * block.z;
  return grid.x != 0 && grid.y != 0 && grid.z != 0 && threads != 0 && threads <= 1024 && block.z <= 64 &&
         grid.x <= INT_MAX && grid.y <= 65535 && grid.z <= 65535;
}

template <class Launch>
cudaError_t launch(const void* function, const dim3& grid, const dim3& block, const Launch& its_launch) {
  CUfunction found = nullptr;
  if (const cudaError_t wrong = find_function(found, function); wrong != cudaSuccess) return keep(wrong);
  if (!is_shape(grid, block)) return keep(cudaErrorInvalidConfiguration);
  return its_launch(found);
}

cudaError_t launch(const void* function, const dim3& grid, const dim3& block, void** parameters, std::size_t shared,
                   CUstream stream) {
  return launch(function, grid, block, [&](CUfunction found) {
    return DCGN_CALL(cuLaunchKernel, found, grid.x, grid.y, grid.z, block.x, block.y, block.z,
                     static_cast<unsigned>(shared), stream, parameters, nullptr);
  });
}

template <class Call>
cudaError_t with_function(const void* function, const Call& call) {
  CUfunction found = nullptr;
  const cudaError_t wrong = find_function(found, function);
  return wrong == cudaSuccess ? call(found) : keep(wrong);
}

int attribute_of(CUfunction function, CUfunction_attribute attribute) {
  int value = 0;
  static_cast<void>(DCGN_DRIVER(cuFuncGetAttribute)(&value, attribute, function));
  return value;
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming, bugprone-reserved-identifier): CUDA's names
extern "C" {

DCGN_BOTH(cudaLaunchKernel, _ptsz,
          (const void* function, dim3 grid, dim3 block, void** parameters, size_t shared, cudaStream_t stream),
          { return launch(function, grid, block, parameters, shared, meant(own, stream)); })
DCGN_BOTH(__cudaLaunchKernel, _ptsz,
          (cudaKernel_t kernel, dim3 grid, dim3 block, void** parameters, size_t shared, cudaStream_t stream),
          { return launch(kernel, grid, block, parameters, shared, meant(own, stream)); })
DCGN_BOTH(cudaLaunchCooperativeKernel, _ptsz,
          (const void* function, dim3 grid, dim3 block, void** parameters, size_t shared, cudaStream_t stream), {
            return launch(function, grid, block, [&](CUfunction found) {
              return DCGN_CALL(cuLaunchCooperativeKernel, found, grid.x, grid.y, grid.z, block.x, block.y, block.z,
                               static_cast<unsigned>(shared), meant(own, stream), parameters);
            });
          })
DCGN_BOTH(cudaLaunchKernelExC, _ptsz, (const cudaLaunchConfig_t* config, const void* function, void** parameters), {
  const dim3 grid = config->gridDim, block = config->blockDim;
  return launch(function, grid, block, [&](CUfunction found) {
    CUlaunchConfig its{};
    its.gridDimX = grid.x, its.gridDimY = grid.y, its.gridDimZ = grid.z;
    its.blockDimX = block.x, its.blockDimY = block.y, its.blockDimZ = block.z;
    its.sharedMemBytes = static_cast<unsigned>(config->dynamicSmemBytes);
    its.hStream = meant(own, config->stream);
    its.attrs = reinterpret_cast<CUlaunchAttribute*>(config->attrs);
    its.numAttrs = config->numAttrs;
    return DCGN_CALL(cuLaunchKernelEx, &its, found, parameters, nullptr);
  });
})

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* all, const void* function) {
  return with_function(function, [&](CUfunction found) {
    *all = {};
    const auto get = [&](CUfunction_attribute attribute) { return attribute_of(found, attribute); };
    const cudaError_t wrong = DCGN_CALL(cuFuncGetAttribute, &all->numRegs, CU_FUNC_ATTRIBUTE_NUM_REGS, found);
    if (wrong != cudaSuccess) return wrong;
    all->sharedSizeBytes = static_cast<std::size_t>(get(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES));
    all->constSizeBytes = static_cast<std::size_t>(get(CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES));
    all->localSizeBytes = static_cast<std::size_t>(get(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES));
    all->maxThreadsPerBlock = get(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    all->ptxVersion = get(CU_FUNC_ATTRIBUTE_PTX_VERSION);
    all->binaryVersion = get(CU_FUNC_ATTRIBUTE_BINARY_VERSION);
    all->maxDynamicSharedSizeBytes = get(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
    all->preferredShmemCarveout = get(CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT);
    return cudaSuccess;
  });
}
cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute attribute, int value) {
  return with_function(function, [&](CUfunction found) {
    return DCGN_CALL(cuFuncSetAttribute, found, static_cast<CUfunction_attribute>(attribute), value);
  });
}
cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t kernel, cudaFuncAttribute attribute, int value, int device) {
  return DCGN_CALL(cuKernelSetAttribute, static_cast<CUfunction_attribute>(attribute), value, kernel, device);
}
cudaError_t cudaFuncSetCacheConfig(const void*, cudaFuncCache) { return cudaSuccess; }
cudaError_t cudaFuncSetSharedMemConfig(const void*, cudaSharedMemConfig) { return cudaSuccess; }
cudaError_t cudaFuncGetName(const char** name, const void* function) {
  return with_function(function, [&](CUfunction found) { return DCGN_CALL(cuFuncGetName, name, found); });
}
cudaError_t cudaFuncGetParamInfo(const void* function, size_t index, size_t* offset, size_t* bytes) {
  return with_function(function,
                       [&](CUfunction found) { return DCGN_CALL(cuFuncGetParamInfo, found, index, offset, bytes); });
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* function, int threads,
                                                                   size_t shared, unsigned flags) {
  return with_function(function, [&](CUfunction found) {
    return DCGN_CALL(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, blocks, found, threads, shared, flags);
  });
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function, int threads,
                                                          size_t shared) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads, shared, 0);
}
cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, const void* function, int blocks, int threads) {
  return with_function(function, [&](CUfunction found) {
    return DCGN_CALL(cuOccupancyAvailableDynamicSMemPerBlock, bytes, found, blocks, threads);
  });
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming, bugprone-reserved-identifier)
