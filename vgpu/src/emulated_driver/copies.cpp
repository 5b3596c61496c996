// The driver's calls that copy and fill.
#include "vgpu/src/emulated_driver/driver.hpp"
#include "vgpu/src/emulated_driver/graph.hpp"

#include <algorithm>
#include <cstring>

using namespace dcgn::virtual_gpu::emulated;

namespace dcgn::virtual_gpu::emulated {

namespace {

// Whether these bytes are of memory that is known, which may be of several pieces side by side.
bool is_known(std::uintptr_t address, std::size_t bytes) {
  const std::uintptr_t end = address + bytes;
  while (address < end) {
    CUdeviceptr begin = 0;
    Piece piece;
    if (!find_piece(address, begin, piece)) return false;
    address = begin + piece.bytes;
  }
  return true;
}

// What is not known is the host's, unless the call says otherwise; what is known is not left at its end.
bool may_touch(CUmemorytype type, const void* memory, std::size_t bytes) {
  if (bytes == 0) return true;
  if (!memory) return false;
  return (type != CU_MEMORYTYPE_DEVICE && is_pageable(memory)) ||
         is_known(reinterpret_cast<std::uintptr_t>(memory), bytes);
}

struct Side {
  char* begin = nullptr;
  std::size_t pitch = 0, plane = 0;
};

std::size_t extent_of(const Side& side, const CUDA_MEMCPY3D& c) {
  return side.plane * (c.Depth - 1) + side.pitch * (c.Height - 1) + c.WidthInBytes;
}

template <class T>
void fill_rows(CUdeviceptr to, std::size_t pitch, T value, std::size_t width, std::size_t height) {
  for (std::size_t row = 0; row < height; ++row) std::fill_n(reinterpret_cast<T*>(to + row * pitch), width, value);
}

}  // namespace

CUresult make_copy(Work& work, const CUDA_MEMCPY3D& c) {
  const auto side = [](CUmemorytype type, const void* host, CUdeviceptr device, std::size_t pitch, std::size_t height,
                       std::size_t x, std::size_t y, std::size_t z) {
    Side its;
    its.pitch = pitch;
    its.plane = pitch * height;
    its.begin =
        static_cast<char*>(type == CU_MEMORYTYPE_HOST ? const_cast<void*>(host) : reinterpret_cast<void*>(device));
    its.begin += z * its.plane + y * pitch + x;
    return its;
  };
  if (c.srcMemoryType == CU_MEMORYTYPE_ARRAY || c.dstMemoryType == CU_MEMORYTYPE_ARRAY) return CUDA_ERROR_NOT_SUPPORTED;
  const Side to = side(c.dstMemoryType, c.dstHost, c.dstDevice, c.dstPitch, c.dstHeight, c.dstXInBytes, c.dstY, c.dstZ);
  const Side from =
      side(c.srcMemoryType, c.srcHost, c.srcDevice, c.srcPitch, c.srcHeight, c.srcXInBytes, c.srcY, c.srcZ);
  if (c.WidthInBytes == 0 || c.Height == 0 || c.Depth == 0) return work = [] {}, CUDA_SUCCESS;
  if ((c.Height > 1 && (c.dstPitch < c.WidthInBytes || c.srcPitch < c.WidthInBytes)) ||
      !may_touch(c.dstMemoryType, to.begin, extent_of(to, c)) ||
      !may_touch(c.srcMemoryType, from.begin, extent_of(from, c)))
    return CUDA_ERROR_INVALID_VALUE;
  work = [to, from, bytes = c.WidthInBytes, rows = c.Height, planes = c.Depth] {
    record_copy(to.begin, from.begin, bytes * rows * planes);
    for (std::size_t z = 0; z < planes; ++z)
      for (std::size_t y = 0; y < rows; ++y)
        std::memmove(to.begin + z * to.plane + y * to.pitch, from.begin + z * from.plane + y * from.pitch, bytes);
  };
  return CUDA_SUCCESS;
}

CUresult make_fill(Work& work, const CUDA_MEMSET_NODE_PARAMS& f) {
  if (f.width == 0 || f.height == 0) return work = [] {}, CUDA_SUCCESS;
  const std::size_t bytes = (f.height - 1) * f.pitch + f.width * f.elementSize;
  if (f.dst % f.elementSize != 0 || (f.height > 1 && f.pitch < f.width * f.elementSize) ||
      !may_touch(CU_MEMORYTYPE_DEVICE, reinterpret_cast<const void*>(f.dst), bytes))
    return CUDA_ERROR_INVALID_VALUE;
  work = [f] {
    switch (f.elementSize) {
      case 1: fill_rows(f.dst, f.pitch, static_cast<unsigned char>(f.value), f.width, f.height); break;
      case 2: fill_rows(f.dst, f.pitch, static_cast<unsigned short>(f.value), f.width, f.height); break;
      default: fill_rows(f.dst, f.pitch, f.value, f.width, f.height); break;
    }
  };
  return CUDA_SUCCESS;
}

}  // namespace dcgn::virtual_gpu::emulated

namespace {

const void* host(CUdeviceptr address) { return reinterpret_cast<const void*>(address); }

bool touches_pageable(const CUDA_MEMCPY3D& c) {
  const auto is = [](CUmemorytype type, const void* its, CUdeviceptr device) {
    return type != CU_MEMORYTYPE_DEVICE && is_pageable(type == CU_MEMORYTYPE_HOST ? its : host(device));
  };
  return is(c.dstMemoryType, c.dstHost, c.dstDevice) || is(c.srcMemoryType, c.srcHost, c.srcDevice);
}

// Of a copy's two sides; the same twice unless both are of devices.
std::pair<int, int> owners(const CUDA_MEMCPY3D& c) {
  const auto owner = [](CUmemorytype type, const void* its, CUdeviceptr device) {
    CUdeviceptr begin = 0;
    Piece piece;
    return find_piece(type == CU_MEMORYTYPE_HOST ? reinterpret_cast<CUdeviceptr>(its) : device, begin, piece)
               ? piece.owner
               : -1;
  };
  const int to = owner(c.dstMemoryType, c.dstHost, c.dstDevice), from = owner(c.srcMemoryType, c.srcHost, c.srcDevice);
  return to < 0 || from < 0 ? std::pair(-1, -1) : std::pair(to, from);
}

// Memory that is not pinned may change or be gone when the call is over, so the copy is made before.
CUresult copy(const CUDA_MEMCPY3D& c, CUstream stream, bool waits) {
  if (const CUresult wrong = standing(stream); wrong != CUDA_SUCCESS) return wrong;
  Work work;
  if (const CUresult wrong = make_copy(work, c); wrong != CUDA_SUCCESS) return wrong;
  const bool pageable = touches_pageable(c);
  const std::pair<int, int> both = owners(c);
  Guard guard(state().mutex);
  Stream& its = *stream_of(stream);
  // Between devices the legacy default stream's copy comes behind what both were given, and before what they get next.
  if (both.first != both.second && &its == &device_at(its.device).legacy) {
    for (const int device : {both.first, both.second}) finish_device(guard, device);
    waits = true;
  }
  if (its.capture) {
    if (waits) return spoil(*its.capture);
    record_node(its, CU_GRAPH_NODE_TYPE_MEMCPY, std::move(work)).copy = c;
    return CUDA_SUCCESS;
  }
  give(its, std::move(work));
  if (!waits && !pageable) return CUDA_SUCCESS;
  finish(guard, its, its.given);
  return standing(stream);
}

CUresult copy(CUmemorytype to_type, const void* to, CUmemorytype from_type, const void* from, std::size_t bytes,
              CUstream stream, bool waits) {
  CUDA_MEMCPY3D c{};
  c.dstMemoryType = to_type;
  c.dstHost = const_cast<void*>(to);
  c.dstDevice = reinterpret_cast<CUdeviceptr>(to);
  c.srcMemoryType = from_type;
  c.srcHost = from;
  c.srcDevice = reinterpret_cast<CUdeviceptr>(from);
  c.WidthInBytes = c.dstPitch = c.srcPitch = bytes;
  c.Height = c.Depth = c.dstHeight = c.srcHeight = 1;
  return copy(c, stream, waits);
}

CUDA_MEMCPY3D rows_of(const CUDA_MEMCPY2D& c) {
  CUDA_MEMCPY3D all{};
  all.srcXInBytes = c.srcXInBytes, all.srcY = c.srcY, all.srcMemoryType = c.srcMemoryType, all.srcHost = c.srcHost;
  all.srcDevice = c.srcDevice, all.srcPitch = c.srcPitch ? c.srcPitch : c.WidthInBytes;
  all.dstXInBytes = c.dstXInBytes, all.dstY = c.dstY, all.dstMemoryType = c.dstMemoryType, all.dstHost = c.dstHost;
  all.dstDevice = c.dstDevice, all.dstPitch = c.dstPitch ? c.dstPitch : c.WidthInBytes;
  all.WidthInBytes = c.WidthInBytes, all.Height = c.Height, all.Depth = 1;
  all.srcHeight = all.dstHeight = c.Height;
  return all;
}

CUDA_MEMCPY3D planes_of(const CUDA_MEMCPY3D_PEER& c) {
  CUDA_MEMCPY3D all{};
  all.srcXInBytes = c.srcXInBytes, all.srcY = c.srcY, all.srcZ = c.srcZ, all.srcMemoryType = c.srcMemoryType;
  all.srcHost = c.srcHost, all.srcDevice = c.srcDevice, all.srcPitch = c.srcPitch, all.srcHeight = c.srcHeight;
  all.dstXInBytes = c.dstXInBytes, all.dstY = c.dstY, all.dstZ = c.dstZ, all.dstMemoryType = c.dstMemoryType;
  all.dstHost = c.dstHost, all.dstDevice = c.dstDevice, all.dstPitch = c.dstPitch, all.dstHeight = c.dstHeight;
  all.WidthInBytes = c.WidthInBytes, all.Height = c.Height, all.Depth = c.Depth;
  return all;
}

CUresult fill(CUdeviceptr to, std::size_t pitch, unsigned value, unsigned element, std::size_t width,
              std::size_t height, CUstream stream) {
  if (const CUresult wrong = standing(stream); wrong != CUDA_SUCCESS) return wrong;
  const CUDA_MEMSET_NODE_PARAMS its_fill{to, pitch, value, element, width, height};
  Work work;
  if (const CUresult wrong = make_fill(work, its_fill); wrong != CUDA_SUCCESS) return wrong;
  const Guard guard(state().mutex);
  Stream& its = *stream_of(stream);
  if (its.capture)
    record_node(its, CU_GRAPH_NODE_TYPE_MEMSET, std::move(work)).fill = its_fill;
  else
    give(its, std::move(work));
  return CUDA_SUCCESS;
}

constexpr CUmemorytype any = CU_MEMORYTYPE_UNIFIED, of_host = CU_MEMORYTYPE_HOST, of_device = CU_MEMORYTYPE_DEVICE;

// A copy between devices comes behind what both were given.
void finish_both(CUcontext one, CUcontext other) {
  Guard guard(state().mutex);
  for (const CUcontext context : {one, other})
    if (context) finish_device(guard, reinterpret_cast<Context*>(context)->device);
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): the driver's names
extern "C" {

CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t n) {
  return copy(any, host(to), any, host(from), n, nullptr, true);
}
CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t n, CUstream s) {
  return copy(any, host(to), any, host(from), n, s, false);
}
CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void* from, size_t n) {
  return copy(of_device, host(to), of_host, from, n, nullptr, true);
}
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, size_t n, CUstream s) {
  return copy(of_device, host(to), of_host, from, n, s, false);
}
CUresult cuMemcpyDtoH_v2(void* to, CUdeviceptr from, size_t n) {
  return copy(of_host, to, of_device, host(from), n, nullptr, true);
}
CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, size_t n, CUstream s) {
  return copy(of_host, to, of_device, host(from), n, s, false);
}
CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t n) {
  return copy(of_device, host(to), of_device, host(from), n, nullptr, false);
}
CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t n, CUstream s) {
  return copy(of_device, host(to), of_device, host(from), n, s, false);
}
CUresult cuMemcpyPeer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t n) {
  finish_both(to_context, from_context);
  return copy(of_device, host(to), of_device, host(from), n, nullptr, true);
}
CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext, CUdeviceptr from, CUcontext, size_t n, CUstream s) {
  return copy(of_device, host(to), of_device, host(from), n, s, false);
}
CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D* its) { return copy(rows_of(*its), nullptr, true); }
CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D* its) { return copy(rows_of(*its), nullptr, true); }
CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D* its, CUstream s) { return copy(rows_of(*its), s, false); }
CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D* its) { return copy(*its, nullptr, true); }
CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D* its, CUstream s) { return copy(*its, s, false); }
CUresult cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER* its) {
  finish_both(its->dstContext, its->srcContext);
  return copy(planes_of(*its), nullptr, true);
}
CUresult cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER* its, CUstream s) { return copy(planes_of(*its), s, false); }
CUresult cuMemcpyBatchAsync_v2(CUdeviceptr* to, CUdeviceptr* from, size_t* bytes, size_t n, CUmemcpyAttributes*,
                               size_t*, size_t, CUstream s) {
  for (std::size_t i = 0; i < n; ++i)
    if (const CUresult wrong = cuMemcpyAsync(to[i], from[i], bytes[i], s); wrong != CUDA_SUCCESS) return wrong;
  return CUDA_SUCCESS;
}

CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t n) { return fill(to, 0, value, 1, n, 1, nullptr); }
CUresult cuMemsetD16_v2(CUdeviceptr to, unsigned short value, size_t n) { return fill(to, 0, value, 2, n, 1, nullptr); }
CUresult cuMemsetD32_v2(CUdeviceptr to, unsigned value, size_t n) { return fill(to, 0, value, 4, n, 1, nullptr); }
CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t n, CUstream s) {
  return fill(to, 0, value, 1, n, 1, s);
}
CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t n, CUstream s) {
  return fill(to, 0, value, 2, n, 1, s);
}
CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t n, CUstream s) {
  return fill(to, 0, value, 4, n, 1, s);
}
CUresult cuMemsetD2D8_v2(CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t height) {
  return fill(to, pitch, value, 1, width, height, nullptr);
}
CUresult cuMemsetD2D16_v2(CUdeviceptr to, size_t pitch, unsigned short value, size_t width, size_t height) {
  return fill(to, pitch, value, 2, width, height, nullptr);
}
CUresult cuMemsetD2D32_v2(CUdeviceptr to, size_t pitch, unsigned value, size_t width, size_t height) {
  return fill(to, pitch, value, 4, width, height, nullptr);
}
CUresult cuMemsetD2D8Async(CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t height, CUstream s) {
  return fill(to, pitch, value, 1, width, height, s);
}
CUresult cuMemsetD2D16Async(CUdeviceptr to, size_t pitch, unsigned short value, size_t width, size_t height,
                            CUstream s) {
  return fill(to, pitch, value, 2, width, height, s);
}
CUresult cuMemsetD2D32Async(CUdeviceptr to, size_t pitch, unsigned value, size_t width, size_t height, CUstream s) {
  return fill(to, pitch, value, 4, width, height, s);
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
