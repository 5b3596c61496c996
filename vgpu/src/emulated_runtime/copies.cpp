// The runtime's calls that copy.
#include "vgpu/src/emulated_runtime/runtime.hpp"

#include <algorithm>

namespace dcgn::virtual_gpu::emulated_runtime {

namespace {

CUmemorytype type_of(cudaMemcpyKind kind, bool to) {
  switch (kind) {
    case cudaMemcpyHostToHost: return CU_MEMORYTYPE_HOST;
    case cudaMemcpyHostToDevice: return to ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
    case cudaMemcpyDeviceToHost: return to ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
    case cudaMemcpyDeviceToDevice: return CU_MEMORYTYPE_DEVICE;
    default: return CU_MEMORYTYPE_UNIFIED;
  }
}

}  // namespace

CUDA_MEMCPY3D copy_of(const cudaMemcpy3DParms& p) {
  CUDA_MEMCPY3D c{};
  c.srcMemoryType = p.srcArray ? CU_MEMORYTYPE_ARRAY : type_of(p.kind, false);
  c.srcHost = p.srcPtr.ptr;
  c.srcDevice = address_of(p.srcPtr.ptr);
  c.srcPitch = p.srcPtr.pitch;
  c.srcHeight = p.srcPtr.ysize;
  c.srcXInBytes = p.srcPos.x, c.srcY = p.srcPos.y, c.srcZ = p.srcPos.z;
  c.dstMemoryType = p.dstArray ? CU_MEMORYTYPE_ARRAY : type_of(p.kind, true);
  c.dstHost = p.dstPtr.ptr;
  c.dstDevice = address_of(p.dstPtr.ptr);
  c.dstPitch = p.dstPtr.pitch;
  c.dstHeight = p.dstPtr.ysize;
  c.dstXInBytes = p.dstPos.x, c.dstY = p.dstPos.y, c.dstZ = p.dstPos.z;
  c.WidthInBytes = p.extent.width, c.Height = p.extent.height, c.Depth = p.extent.depth;
  return c;
}

cudaMemcpy3DParms copy_of(const CUDA_MEMCPY3D& c) {
  cudaMemcpy3DParms p{};
  const auto host = [](CUmemorytype type) { return type == CU_MEMORYTYPE_HOST; };
  p.srcPtr.ptr = host(c.srcMemoryType) ? const_cast<void*>(c.srcHost) : reinterpret_cast<void*>(c.srcDevice);
  p.srcPtr.pitch = p.srcPtr.xsize = c.srcPitch;
  p.srcPtr.ysize = c.srcHeight;
  p.srcPos.x = c.srcXInBytes, p.srcPos.y = c.srcY, p.srcPos.z = c.srcZ;
  p.dstPtr.ptr = host(c.dstMemoryType) ? c.dstHost : reinterpret_cast<void*>(c.dstDevice);
  p.dstPtr.pitch = p.dstPtr.xsize = c.dstPitch;
  p.dstPtr.ysize = c.dstHeight;
  p.dstPos.x = c.dstXInBytes, p.dstPos.y = c.dstY, p.dstPos.z = c.dstZ;
  p.extent.width = c.WidthInBytes, p.extent.height = c.Height, p.extent.depth = c.Depth;
  p.kind = host(c.srcMemoryType)   ? (host(c.dstMemoryType) ? cudaMemcpyHostToHost : cudaMemcpyHostToDevice)
           : host(c.dstMemoryType) ? cudaMemcpyDeviceToHost
                                   : cudaMemcpyDefault;
  return p;
}

}  // namespace dcgn::virtual_gpu::emulated_runtime

using namespace dcgn::virtual_gpu::emulated_runtime;

namespace {

// Two addresses of the host's are nothing to the driver, but a copy in the order of the stream.
cudaError_t copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, CUstream stream) {
  if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault) return keep(cudaErrorInvalidMemcpyDirection);
  if (bytes == 0) return keep(prepare());
  switch (kind) {
    case cudaMemcpyHostToDevice: return DCGN_CALL(cuMemcpyHtoDAsync, address_of(to), from, bytes, stream);
    case cudaMemcpyDeviceToHost: return DCGN_CALL(cuMemcpyDtoHAsync, to, address_of(from), bytes, stream);
    case cudaMemcpyDeviceToDevice: return DCGN_CALL(cuMemcpyDtoDAsync, address_of(to), address_of(from), bytes, stream);
    case cudaMemcpyHostToHost:
    case cudaMemcpyDefault: break;
  }
  return DCGN_CALL(cuMemcpyAsync, address_of(to), address_of(from), bytes, stream);
}

cudaError_t copy_all(void* const* to, const void* const* from, const std::size_t* bytes, std::size_t n,
                     CUstream stream) {
  for (std::size_t i = 0; i < n; ++i)
    if (const cudaError_t wrong = copy(to[i], from[i], bytes[i], cudaMemcpyDefault, stream); wrong != cudaSuccess)
      return wrong;
  return cudaSuccess;
}

// As CUDA's, a call that does not name a stream waits, but for copies within devices.
cudaError_t wait(cudaError_t result, CUstream stream) {
  return result == cudaSuccess ? DCGN_CALL(cuStreamSynchronize, stream) : result;
}

cudaError_t copy_and_wait(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, bool own) {
  const CUstream stream = meant(own, nullptr);
  if (bytes == 0 || own || kind == cudaMemcpyDeviceToDevice || kind == cudaMemcpyHostToHost ||
      kind == cudaMemcpyDefault) {
    const cudaError_t result = copy(to, from, bytes, kind, stream);
    return kind == cudaMemcpyDeviceToDevice ? result : wait(result, stream);
  }
  if (kind == cudaMemcpyHostToDevice) return DCGN_CALL(cuMemcpyHtoD, address_of(to), from, bytes);
  if (kind == cudaMemcpyDeviceToHost) return DCGN_CALL(cuMemcpyDtoH, to, address_of(from), bytes);
  return keep(cudaErrorInvalidMemcpyDirection);
}

cudaError_t copy_planes(const CUDA_MEMCPY3D& c, CUstream stream) { return DCGN_CALL(cuMemcpy3DAsync, &c, stream); }

cudaError_t copy_rows(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
                      std::size_t height, cudaMemcpyKind kind, CUstream stream) {
  if (width > to_pitch || width > from_pitch) return keep(cudaErrorInvalidPitchValue);
  CUDA_MEMCPY2D c{};
  c.srcMemoryType = type_of(kind, false), c.srcHost = from, c.srcDevice = address_of(from), c.srcPitch = from_pitch;
  c.dstMemoryType = type_of(kind, true), c.dstHost = to, c.dstDevice = address_of(to), c.dstPitch = to_pitch;
  c.WidthInBytes = width, c.Height = height;
  return DCGN_CALL(cuMemcpy2DAsync, &c, stream);
}

CUDA_MEMCPY3D copy_of(const cudaMemcpy3DPeerParms& p) {
  cudaMemcpy3DParms same{};
  same.srcArray = p.srcArray, same.srcPos = p.srcPos, same.srcPtr = p.srcPtr;
  same.dstArray = p.dstArray, same.dstPos = p.dstPos, same.dstPtr = p.dstPtr;
  same.extent = p.extent;
  same.kind = cudaMemcpyDefault;
  return dcgn::virtual_gpu::emulated_runtime::copy_of(same);
}

// The address of `bytes` from `offset` on in a variable.
cudaError_t part_of(void*& part, const void* symbol, std::size_t bytes, std::size_t offset) {
  std::size_t its = 0;
  if (const cudaError_t wrong = find_variable(part, its, symbol); wrong != cudaSuccess) return keep(wrong);
  if (offset > its || bytes > its - offset) return keep(cudaErrorInvalidValue);
  part = static_cast<char*>(part) + offset;
  return cudaSuccess;
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): CUDA's names
extern "C" {

DCGN_BOTH(cudaMemcpy, _ptds, (void* to, const void* from, size_t bytes, cudaMemcpyKind kind),
          { return copy_and_wait(to, from, bytes, kind, own); })
DCGN_BOTH(cudaMemcpyAsync, _ptsz, (void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream),
          { return copy(to, from, bytes, kind, meant(own, stream)); })
cudaError_t cudaMemcpyPeer(void* to, int to_device, const void* from, int from_device, size_t bytes) {
  CUcontext to_context = nullptr, from_context = nullptr;
  cudaError_t wrong = DCGN_CALL(cuDevicePrimaryCtxRetain, &to_context, to_device);
  if (wrong == cudaSuccess) wrong = DCGN_CALL(cuDevicePrimaryCtxRetain, &from_context, from_device);
  if (wrong != cudaSuccess || bytes == 0) return wrong;
  return DCGN_CALL(cuMemcpyPeer, address_of(to), to_context, address_of(from), from_context, bytes);
}
cudaError_t cudaMemcpyPeerAsync(void* to, int, const void* from, int, size_t bytes, cudaStream_t stream) {
  return copy(to, from, bytes, cudaMemcpyDefault, meant(false, stream));
}
DCGN_BOTH(cudaMemcpyBatchAsync, _ptsz,
          (void* const* to, const void* const* from, const size_t* bytes, size_t n, cudaMemcpyAttributes*, size_t*,
           size_t, cudaStream_t stream),
          { return copy_all(to, from, bytes, n, meant(own, stream)); })

DCGN_BOTH(cudaMemcpy2D, _ptds,
          (void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
           cudaMemcpyKind kind),
          {
            const CUstream stream = meant(own, nullptr);
            const cudaError_t result = copy_rows(to, to_pitch, from, from_pitch, width, height, kind, stream);
            return kind == cudaMemcpyDeviceToDevice ? result : wait(result, stream);
          })
DCGN_BOTH(cudaMemcpy2DAsync, _ptsz,
          (void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
           cudaMemcpyKind kind, cudaStream_t stream),
          { return copy_rows(to, to_pitch, from, from_pitch, width, height, kind, meant(own, stream)); })
DCGN_BOTH(cudaMemcpy3D, _ptds, (const cudaMemcpy3DParms* p),
          { return wait(copy_planes(copy_of(*p), meant(own, nullptr)), meant(own, nullptr)); })
DCGN_BOTH(cudaMemcpy3DAsync, _ptsz, (const cudaMemcpy3DParms* p, cudaStream_t stream),
          { return copy_planes(copy_of(*p), meant(own, stream)); })
DCGN_BOTH(cudaMemcpy3DPeer, _ptds, (const cudaMemcpy3DPeerParms* p),
          { return wait(copy_planes(copy_of(*p), meant(own, nullptr)), meant(own, nullptr)); })
DCGN_BOTH(cudaMemcpy3DPeerAsync, _ptsz, (const cudaMemcpy3DPeerParms* p, cudaStream_t stream),
          { return copy_planes(copy_of(*p), meant(own, stream)); })

DCGN_BOTH(cudaMemcpyToSymbol, _ptds,
          (const void* symbol, const void* from, size_t bytes, size_t offset, cudaMemcpyKind kind), {
            void* to = nullptr;
            const cudaError_t wrong = part_of(to, symbol, bytes, offset);
            return wrong == cudaSuccess ? copy_and_wait(to, from, bytes, kind, own) : wrong;
          })
DCGN_BOTH(cudaMemcpyFromSymbol, _ptds, (void* to, const void* symbol, size_t bytes, size_t offset, cudaMemcpyKind kind),
          {
            void* from = nullptr;
            const cudaError_t wrong = part_of(from, symbol, bytes, offset);
            return wrong == cudaSuccess ? copy_and_wait(to, from, bytes, kind, own) : wrong;
          })
DCGN_BOTH(cudaMemcpyToSymbolAsync, _ptsz,
          (const void* symbol, const void* from, size_t bytes, size_t offset, cudaMemcpyKind kind, cudaStream_t stream),
          {
            void* to = nullptr;
            const cudaError_t wrong = part_of(to, symbol, bytes, offset);
            return wrong == cudaSuccess ? copy(to, from, bytes, kind, meant(own, stream)) : wrong;
          })
DCGN_BOTH(cudaMemcpyFromSymbolAsync, _ptsz,
          (void* to, const void* symbol, size_t bytes, size_t offset, cudaMemcpyKind kind, cudaStream_t stream), {
            void* from = nullptr;
            const cudaError_t wrong = part_of(from, symbol, bytes, offset);
            return wrong == cudaSuccess ? copy(to, from, bytes, kind, meant(own, stream)) : wrong;
          })

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
