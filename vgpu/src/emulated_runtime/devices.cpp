// The runtime's calls about devices: what they are, and what is set for them.
#include "vgpu/src/emulated_runtime/runtime.hpp"

#include <cstring>

using namespace dcgn::virtual_gpu::emulated_runtime;

namespace {

int value_of(CUdevice_attribute attribute, int device) {
  int value = 0;
  static_cast<void>(DCGN_DRIVER(cuDeviceGetAttribute)(&value, attribute, device));
  return value;
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): CUDA's names
extern "C" {

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  return DCGN_CALL(cuDeviceGetAttribute, value, static_cast<CUdevice_attribute>(attribute), device);
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int device) {
  if (!p) return keep(cudaErrorInvalidValue);
  std::memset(p, 0, sizeof *p);
  if (const cudaError_t wrong = DCGN_CALL(cuDeviceGetName, p->name, static_cast<int>(sizeof p->name), device);
      wrong != cudaSuccess)
    return wrong;
  CUuuid uuid{};
  if (DCGN_DRIVER(cuDeviceGetUuid)(&uuid, device) == CUDA_SUCCESS) std::memcpy(&p->uuid, &uuid, sizeof uuid);
  const CUresult result = DCGN_DRIVER(cuDeviceTotalMem)(&p->totalGlobalMem, device);
  if (result != CUDA_SUCCESS) return keep(result);
  const auto get = [&](CUdevice_attribute attribute) { return value_of(attribute, device); };
  const auto bytes = [&](CUdevice_attribute attribute) { return static_cast<std::size_t>(get(attribute)); };
  p->sharedMemPerBlock = bytes(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
  p->regsPerBlock = get(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK);
  p->warpSize = get(CU_DEVICE_ATTRIBUTE_WARP_SIZE);
  p->memPitch = bytes(CU_DEVICE_ATTRIBUTE_MAX_PITCH);
  p->maxThreadsPerBlock = get(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  p->maxThreadsDim[0] = get(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X);
  p->maxThreadsDim[1] = get(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y);
  p->maxThreadsDim[2] = get(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z);
  p->maxGridSize[0] = get(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X);
  p->maxGridSize[1] = get(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y);
  p->maxGridSize[2] = get(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z);
  p->totalConstMem = bytes(CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY);
  p->major = get(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  p->minor = get(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  p->textureAlignment = bytes(CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT);
  p->texturePitchAlignment = bytes(CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT);
  p->surfaceAlignment = bytes(CU_DEVICE_ATTRIBUTE_SURFACE_ALIGNMENT);
  p->multiProcessorCount = get(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  p->canMapHostMemory = get(CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY);
  p->concurrentKernels = get(CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS);
  p->pciBusID = get(CU_DEVICE_ATTRIBUTE_PCI_BUS_ID);
  p->asyncEngineCount = get(CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT);
  p->unifiedAddressing = get(CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING);
  p->memoryBusWidth = get(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
  p->l2CacheSize = get(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  p->maxThreadsPerMultiProcessor = get(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
  p->streamPrioritiesSupported = get(CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED);
  p->globalL1CacheSupported = get(CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED);
  p->localL1CacheSupported = get(CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED);
  p->sharedMemPerMultiprocessor = bytes(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
  p->regsPerMultiprocessor = get(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
  p->managedMemory = get(CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY);
  p->hostNativeAtomicSupported = get(CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED);
  p->pageableMemoryAccess = get(CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS);
  p->concurrentManagedAccess = get(CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS);
  p->computePreemptionSupported = get(CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED);
  p->canUseHostPointerForRegisteredMem = get(CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM);
  p->cooperativeLaunch = get(CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH);
  p->sharedMemPerBlockOptin = bytes(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  p->maxBlocksPerMultiProcessor = get(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);
  p->reservedSharedMemPerBlock = bytes(CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK);
  p->hostRegisterSupported = get(CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED);
  p->memoryPoolsSupported = get(CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED);
  p->deviceNumaId = p->hostNumaId = -1;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char* id, int bytes, int device) {
  return DCGN_CALL(cuDeviceGetPCIBusId, id, bytes, device);
}
cudaError_t cudaDeviceGetByPCIBusId(int* device, const char* id) {
  return DCGN_CALL(cuDeviceGetByPCIBusId, device, id);
}
cudaError_t cudaDeviceGetP2PAttribute(int* value, cudaDeviceP2PAttr attribute, int from, int to) {
  return DCGN_CALL(cuDeviceGetP2PAttribute, value, static_cast<CUdevice_P2PAttribute>(attribute), from, to);
}
cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  return DCGN_CALL(cuDeviceCanAccessPeer, can, device, peer);
}
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags) {
  CUcontext context = nullptr;
  const cudaError_t wrong = DCGN_CALL(cuDevicePrimaryCtxRetain, &context, peer);
  return wrong == cudaSuccess ? DCGN_CALL(cuCtxEnablePeerAccess, context, flags) : wrong;
}
cudaError_t cudaDeviceDisablePeerAccess(int peer) {
  CUcontext context = nullptr;
  const cudaError_t wrong = DCGN_CALL(cuDevicePrimaryCtxRetain, &context, peer);
  return wrong == cudaSuccess ? DCGN_CALL(cuCtxDisablePeerAccess, context) : wrong;
}

cudaError_t cudaDeviceSetLimit(cudaLimit limit, size_t value) {
  return DCGN_CALL(cuCtxSetLimit, static_cast<CUlimit>(limit), value);
}
cudaError_t cudaDeviceGetLimit(size_t* value, cudaLimit limit) {
  return DCGN_CALL(cuCtxGetLimit, value, static_cast<CUlimit>(limit));
}
cudaError_t cudaDeviceGetCacheConfig(cudaFuncCache* config) { return *config = cudaFuncCachePreferNone, cudaSuccess; }
cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache) { return cudaSuccess; }
cudaError_t cudaDeviceGetSharedMemConfig(cudaSharedMemConfig* config) {
  return *config = cudaSharedMemBankSizeFourByte, cudaSuccess;
}
cudaError_t cudaDeviceSetSharedMemConfig(cudaSharedMemConfig) { return cudaSuccess; }
cudaError_t cudaCtxResetPersistingL2Cache() { return cudaSuccess; }
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return DCGN_CALL(cuCtxGetStreamPriorityRange, least, greatest);
}
cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
  return DCGN_CALL(cuDeviceGetDefaultMemPool, pool, device);
}
cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int device) {
  return DCGN_CALL(cuDeviceGetMemPool, pool, device);
}
cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool) { return DCGN_CALL(cuDeviceSetMemPool, device, pool); }
cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, cudaChannelFormatKind kind) {
  return {x, y, z, w, kind};
}
cudaError_t cudaDeviceGraphMemTrim(int device) { return DCGN_CALL(cuDeviceGraphMemTrim, device); }

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
