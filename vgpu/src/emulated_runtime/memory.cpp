// The runtime's calls that allocate, fill and tell of memory.
#include "vgpu/src/emulated_runtime/runtime.hpp"

using namespace dcgn::virtual_gpu::emulated_runtime;

namespace {

CUdeviceptr* as_address(void** memory) { return reinterpret_cast<CUdeviceptr*>(memory); }
const CUmemLocation& as_location(const cudaMemLocation& location) {
  return reinterpret_cast<const CUmemLocation&>(location);
}

cudaError_t fill(void* to, std::size_t pitch, int value, std::size_t width, std::size_t height, CUstream stream) {
  const auto byte = static_cast<unsigned char>(value);
  if (width == 0 || height == 0) return cudaSuccess;
  if (height == 1 || pitch == width) return DCGN_CALL(cuMemsetD8Async, address_of(to), byte, width * height, stream);
  return DCGN_CALL(cuMemsetD2D8Async, address_of(to), pitch, byte, width, height, stream);
}

cudaError_t fill(const cudaPitchedPtr& to, int value, const cudaExtent& extent, CUstream stream) {
  for (std::size_t z = 0; z < extent.depth; ++z) {
    void* const plane = static_cast<char*>(to.ptr) + z * to.pitch * to.ysize;
    if (const cudaError_t wrong = fill(plane, to.pitch, value, extent.width, extent.height, stream);
        wrong != cudaSuccess)
      return wrong;
  }
  return cudaSuccess;
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): CUDA's names
extern "C" {

cudaError_t cudaMalloc(void** memory, size_t bytes) {
  if (!memory) return keep(cudaErrorInvalidValue);
  *memory = nullptr;
  return bytes == 0 ? keep(prepare()) : DCGN_CALL(cuMemAlloc, as_address(memory), bytes);
}
cudaError_t cudaFree(void* memory) { return memory ? DCGN_CALL(cuMemFree, address_of(memory)) : keep(prepare()); }
cudaError_t cudaMallocPitch(void** memory, size_t* pitch, size_t width, size_t height) {
  if (width == 0 || height == 0) return *memory = nullptr, *pitch = 0, cudaSuccess;
  return DCGN_CALL(cuMemAllocPitch, as_address(memory), pitch, width, height, 4u);
}
cudaError_t cudaMalloc3D(cudaPitchedPtr* memory, cudaExtent extent) {
  memory->xsize = extent.width;
  memory->ysize = extent.height;
  return cudaMallocPitch(&memory->ptr, &memory->pitch, extent.width, extent.height * extent.depth);
}
cudaError_t cudaMallocManaged(void** memory, size_t bytes, unsigned flags) {
  return DCGN_CALL(cuMemAllocManaged, as_address(memory), bytes, flags);
}
cudaError_t cudaHostAlloc(void** memory, size_t bytes, unsigned flags) {
  if (bytes == 0) return *memory = nullptr, cudaSuccess;
  return DCGN_CALL(cuMemHostAlloc, memory, bytes, flags);
}
cudaError_t cudaMallocHost(void** memory, size_t bytes) { return cudaHostAlloc(memory, bytes, 0); }
cudaError_t cudaFreeHost(void* memory) { return memory ? DCGN_CALL(cuMemFreeHost, memory) : cudaSuccess; }
cudaError_t cudaHostRegister(void* memory, size_t bytes, unsigned flags) {
  return DCGN_CALL(cuMemHostRegister, memory, bytes, flags);
}
cudaError_t cudaHostUnregister(void* memory) { return DCGN_CALL(cuMemHostUnregister, memory); }
cudaError_t cudaHostGetDevicePointer(void** device, void* memory, unsigned flags) {
  return DCGN_CALL(cuMemHostGetDevicePointer, as_address(device), memory, flags);
}
cudaError_t cudaHostGetFlags(unsigned* flags, void* memory) { return DCGN_CALL(cuMemHostGetFlags, flags, memory); }
cudaError_t cudaMemGetInfo(size_t* free, size_t* total) { return DCGN_CALL(cuMemGetInfo, free, total); }

DCGN_BOTH(cudaMallocAsync, _ptsz, (void** memory, size_t bytes, cudaStream_t stream),
          { return DCGN_CALL(cuMemAllocAsync, as_address(memory), bytes, meant(own, stream)); })
DCGN_BOTH(cudaMallocFromPoolAsync, _ptsz, (void** memory, size_t bytes, cudaMemPool_t pool, cudaStream_t stream),
          { return DCGN_CALL(cuMemAllocFromPoolAsync, as_address(memory), bytes, pool, meant(own, stream)); })
DCGN_BOTH(cudaFreeAsync, _ptsz, (void* memory, cudaStream_t stream),
          { return DCGN_CALL(cuMemFreeAsync, address_of(memory), meant(own, stream)); })

cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* properties) {
  return DCGN_CALL(cuMemPoolCreate, pool, reinterpret_cast<const CUmemPoolProps*>(properties));
}
cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) { return DCGN_CALL(cuMemPoolDestroy, pool); }
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t bytes) { return DCGN_CALL(cuMemPoolTrimTo, pool, bytes); }
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  return DCGN_CALL(cuMemPoolSetAttribute, pool, static_cast<CUmemPool_attribute>(attribute), value);
}
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  return DCGN_CALL(cuMemPoolGetAttribute, pool, static_cast<CUmemPool_attribute>(attribute), value);
}
cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const cudaMemAccessDesc* access, size_t count) {
  return DCGN_CALL(cuMemPoolSetAccess, pool, reinterpret_cast<const CUmemAccessDesc*>(access), count);
}
cudaError_t cudaMemPoolGetAccess(cudaMemAccessFlags* flags, cudaMemPool_t pool, cudaMemLocation* location) {
  return DCGN_CALL(cuMemPoolGetAccess, reinterpret_cast<CUmemAccess_flags*>(flags), pool,
                   reinterpret_cast<CUmemLocation*>(location));
}

// As the runtime has it, these do not wait for the device.
DCGN_BOTH(cudaMemset, _ptds, (void* to, int value, size_t bytes),
          { return fill(to, bytes, value, bytes, 1, meant(own, nullptr)); })
DCGN_BOTH(cudaMemset2D, _ptds, (void* to, size_t pitch, int value, size_t width, size_t height),
          { return fill(to, pitch, value, width, height, meant(own, nullptr)); })
DCGN_BOTH(cudaMemset3D, _ptds, (cudaPitchedPtr to, int value, cudaExtent extent),
          { return fill(to, value, extent, meant(own, nullptr)); })
DCGN_BOTH(cudaMemsetAsync, _ptsz, (void* to, int value, size_t bytes, cudaStream_t stream),
          { return fill(to, bytes, value, bytes, 1, meant(own, stream)); })
DCGN_BOTH(cudaMemset2DAsync, _ptsz,
          (void* to, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream),
          { return fill(to, pitch, value, width, height, meant(own, stream)); })
DCGN_BOTH(cudaMemset3DAsync, _ptsz, (cudaPitchedPtr to, int value, cudaExtent extent, cudaStream_t stream),
          { return fill(to, value, extent, meant(own, stream)); })

DCGN_BOTH(cudaMemPrefetchAsync, _ptsz,
          (const void* memory, size_t bytes, cudaMemLocation where, unsigned flags, cudaStream_t stream), {
            return DCGN_CALL(cuMemPrefetchAsync, address_of(memory), bytes, as_location(where), flags,
                             meant(own, stream));
          })
cudaError_t cudaMemAdvise(const void* memory, size_t bytes, cudaMemoryAdvise advice, cudaMemLocation where) {
  return DCGN_CALL(cuMemAdvise, address_of(memory), bytes, static_cast<CUmem_advise>(advice), as_location(where));
}
DCGN_BOTH(cudaStreamAttachMemAsync, _ptsz, (cudaStream_t stream, void* memory, size_t bytes, unsigned flags),
          { return DCGN_CALL(cuStreamAttachMemAsync, meant(own, stream), address_of(memory), bytes, flags); })

// Of memory that the driver does not know, that is said, and is no error.
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* all, const void* memory) {
  if (!all) return keep(cudaErrorInvalidValue);
  unsigned type = 0, managed = 0;
  int device = 0;
  void *device_address = nullptr, *host_address = nullptr;
  CUpointer_attribute attributes[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                      CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
                                      CU_POINTER_ATTRIBUTE_HOST_POINTER};
  void* values[] = {&type, &managed, &device, &device_address, &host_address};
  const cudaError_t wrong = DCGN_CALL(cuPointerGetAttributes, 5u, attributes, values, address_of(memory));
  if (wrong != cudaSuccess) return wrong;
  *all = {};
  if (type == 0) {
    all->type = cudaMemoryTypeUnregistered;
    all->device = -2;
    all->hostPointer = const_cast<void*>(memory);
    return cudaSuccess;
  }
  all->type = managed ? cudaMemoryTypeManaged : type == CU_MEMORYTYPE_HOST ? cudaMemoryTypeHost : cudaMemoryTypeDevice;
  all->device = device;
  all->devicePointer = device_address;
  all->hostPointer = host_address;
  return cudaSuccess;
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
