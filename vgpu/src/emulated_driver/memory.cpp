// The driver's calls about memory: all of it is the host's.
#include "vgpu/src/emulated_driver/driver.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>

using namespace dcgn::virtual_gpu::emulated;

namespace dcgn::virtual_gpu::emulated {

namespace {

constexpr unsigned char unset = 0xA5;  // what fresh memory holds

void* pointer(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

bool reaches(int device, const Piece& piece) {
  if (piece.reach.count(device) != 0) return true;
  if (!piece.reach.empty()) return false;
  return piece.owner == device || piece.owner < 0 ||
         device_at(device).primary.reaches[static_cast<std::size_t>(piece.owner)];
}

// With the lock held, shared at least.
std::map<std::uintptr_t, Piece>::iterator piece_at(std::uintptr_t address) {
  auto& all = state().memory;
  const auto after = all.upper_bound(address);
  if (after == all.begin()) return all.end();
  const auto found = std::prev(after);
  return address - found->first < std::max<std::size_t>(found->second.bytes, 1) ? found : all.end();
}

bool takes_space(const Piece& piece) { return piece.kind == Piece::Kind::device && piece.owner >= 0; }

}  // namespace

CUresult allocate(CUdeviceptr* address, std::size_t bytes, int owner, Piece::Kind kind, unsigned flags) {
  if (!address || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  const bool of_device = kind == Piece::Kind::device && owner >= 0;
  const std::size_t rounded = (bytes + 511) / 512 * 512;
  if (bytes > SIZE_MAX / 2 || (of_device && device_at(owner).used + rounded > device_bytes))
    return CUDA_ERROR_OUT_OF_MEMORY;
  // At the begin of a page, so that a recorded trace does not depend on where memory is.
  void* memory = nullptr;
  if (posix_memalign(&memory, 4096, of_device ? rounded : (bytes + 4095) / 4096 * 4096) != 0)
    return CUDA_ERROR_OUT_OF_MEMORY;
  std::memset(memory, unset, bytes);
  if (of_device) device_at(owner).used += rounded;
  *address = reinterpret_cast<CUdeviceptr>(memory);
  Piece piece;
  piece.bytes = bytes;
  piece.owner = owner;
  piece.kind = kind;
  piece.flags = flags;
  const std::lock_guard guard(state().memory_mutex);
  state().memory[*address] = std::move(piece);
  return CUDA_SUCCESS;
}

CUresult release(CUdeviceptr address) {
  const std::lock_guard guard(state().memory_mutex);
  const auto found = state().memory.find(address);
  if (found == state().memory.end()) return CUDA_ERROR_INVALID_VALUE;
  const Piece& piece = found->second;
  if (piece.kind == Piece::Kind::mapped || piece.kind == Piece::Kind::variable) return CUDA_ERROR_INVALID_VALUE;
  if (piece.of_graph) return CUDA_SUCCESS;
  if (takes_space(piece)) device_at(piece.owner).used -= (piece.bytes + 511) / 512 * 512;
  const bool ours = piece.kind != Piece::Kind::registered;
  state().memory.erase(found);
  if (ours) std::free(pointer(address));
  return CUDA_SUCCESS;
}

void leave_to_graph(CUdeviceptr address) {
  const std::lock_guard guard(state().memory_mutex);
  state().memory[address].of_graph = true;
}

bool find_piece(CUdeviceptr address, CUdeviceptr& begin, Piece& piece) {
  const std::shared_lock guard(state().memory_mutex);
  const auto found = piece_at(address);
  if (found == state().memory.end()) return false;
  begin = found->first;
  piece = found->second;
  return true;
}

bool is_pageable(const void* memory) {
  const std::shared_lock guard(state().memory_mutex);
  return piece_at(reinterpret_cast<std::uintptr_t>(memory)) == state().memory.end();
}

interpreter::Memory::Extent ReachedMemory::at(std::uintptr_t address) const {
  const std::shared_lock guard(state().memory_mutex);
  const auto found = piece_at(address);
  if (found == state().memory.end()) return {};
  if (!reaches(device_, found->second)) {
    refused_ = true;
    return {};
  }
  return {found->first, found->first + found->second.bytes};
}

}  // namespace dcgn::virtual_gpu::emulated

namespace {

void* pointer(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

CUresult attribute_of(void* value, CUpointer_attribute attribute, CUdeviceptr address) {
  CUdeviceptr begin = 0;
  Piece piece;
  if (!find_piece(address, begin, piece)) return CUDA_ERROR_INVALID_VALUE;  // of the host's nothing is known
  const bool of_device = piece.owner >= 0;
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      *static_cast<unsigned*>(value) =
          of_device || piece.kind == Piece::Kind::managed ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
      break;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      *static_cast<int*>(value) = of_device ? piece.owner : current() ? current()->device : 0;
      break;
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      if (piece.kind == Piece::Kind::mapped) return CUDA_ERROR_INVALID_VALUE;  // as the driver has it
      *static_cast<CUcontext*>(value) = reinterpret_cast<CUcontext>(&device_at(of_device ? piece.owner : 0).primary);
      break;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER: *static_cast<CUdeviceptr*>(value) = address; break;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      if (of_device) return CUDA_ERROR_INVALID_VALUE;
      *static_cast<CUdeviceptr*>(value) = address;
      break;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED: *static_cast<unsigned*>(value) = piece.kind == Piece::Kind::managed; break;
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
      *static_cast<unsigned*>(value) = piece.kind == Piece::Kind::device;
      break;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR: *static_cast<CUdeviceptr*>(value) = begin; break;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE: *static_cast<std::size_t*>(value) = piece.bytes; break;
    case CU_POINTER_ATTRIBUTE_MAPPED: *static_cast<unsigned*>(value) = 1; break;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID: *static_cast<unsigned long long*>(value) = begin; break;
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS: *static_cast<unsigned*>(value) = 0; break;
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE: *static_cast<CUmemoryPool*>(value) = nullptr; break;
    default: return CUDA_ERROR_NOT_SUPPORTED;  // of the driver's many
  }
  return CUDA_SUCCESS;
}

// What frees waits for the device, and tells what has failed there.
CUresult finish(int device) {
  Guard guard(state().mutex);
  finish_device(guard, device);
  return static_cast<CUresult>(device_at(device).error.load());
}

CUresult allocate_on_host(void** memory, std::size_t bytes, unsigned flags) {
  if (const CUresult wrong = standing(); wrong != CUDA_SUCCESS) return wrong;
  CUdeviceptr address = 0;
  const CUresult result = allocate(&address, bytes, -1, Piece::Kind::host, flags);
  if (result == CUDA_SUCCESS) *memory = pointer(address);
  return result;
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): the driver's names
extern "C" {

CUresult cuMemAlloc_v2(CUdeviceptr* address, size_t bytes) {
  if (const CUresult wrong = standing(); wrong != CUDA_SUCCESS) return wrong;
  return allocate(address, bytes, current()->device, Piece::Kind::device);
}
CUresult cuMemAllocPitch_v2(CUdeviceptr* address, size_t* pitch, size_t width, size_t height, unsigned) {
  if (!pitch || width == 0 || height == 0) return CUDA_ERROR_INVALID_VALUE;
  *pitch = (width + 511) / 512 * 512;
  return cuMemAlloc_v2(address, *pitch * height);
}
CUresult cuMemFree_v2(CUdeviceptr address) {
  if (address == 0) return CUDA_SUCCESS;
  if (const CUresult wrong = standing(); wrong != CUDA_SUCCESS) return wrong;
  CUdeviceptr begin = 0;
  Piece piece;
  if (!find_piece(address, begin, piece) || begin != address) return CUDA_ERROR_INVALID_VALUE;
  const CUresult wrong = finish(piece.owner < 0 ? current()->device : piece.owner);
  return wrong == CUDA_SUCCESS ? release(address) : wrong;
}
CUresult cuMemAllocManaged(CUdeviceptr* address, size_t bytes, unsigned flags) {
  if (const CUresult wrong = standing(); wrong != CUDA_SUCCESS) return wrong;
  return allocate(address, bytes, -1, Piece::Kind::managed, flags);
}

CUresult cuMemHostAlloc(void** memory, size_t bytes, unsigned flags) { return allocate_on_host(memory, bytes, flags); }
CUresult cuMemAllocHost_v2(void** memory, size_t bytes) { return allocate_on_host(memory, bytes, 0); }
CUresult cuMemFreeHost(void* memory) {
  if (const CUresult wrong = standing(); wrong != CUDA_SUCCESS) return wrong;
  const CUresult wrong = finish(current()->device);
  return wrong == CUDA_SUCCESS ? release(reinterpret_cast<CUdeviceptr>(memory)) : wrong;
}
CUresult cuMemHostRegister_v2(void* memory, size_t bytes, unsigned flags) {
  if (!memory || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  if (!is_pageable(memory)) return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
  Piece piece;
  piece.bytes = bytes;
  piece.kind = Piece::Kind::registered;
  piece.flags = flags;
  const std::lock_guard guard(state().memory_mutex);
  state().memory[reinterpret_cast<std::uintptr_t>(memory)] = std::move(piece);
  return CUDA_SUCCESS;
}
CUresult cuMemHostUnregister(void* memory) {
  CUdeviceptr begin = 0;
  Piece piece;
  const auto address = reinterpret_cast<CUdeviceptr>(memory);
  if (!find_piece(address, begin, piece) || begin != address || piece.kind != Piece::Kind::registered)
    return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
  return release(address);
}
CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr* address, void* memory, unsigned) {
  if (is_pageable(memory)) return CUDA_ERROR_INVALID_VALUE;
  return *address = reinterpret_cast<CUdeviceptr>(memory), CUDA_SUCCESS;
}
CUresult cuMemHostGetFlags(unsigned* flags, void* memory) {
  CUdeviceptr begin = 0;
  Piece piece;
  if (!find_piece(reinterpret_cast<CUdeviceptr>(memory), begin, piece)) return CUDA_ERROR_INVALID_VALUE;
  return *flags = piece.flags, CUDA_SUCCESS;
}

CUresult cuMemGetInfo_v2(size_t* free, size_t* total) {
  if (!current()) return CUDA_ERROR_INVALID_CONTEXT;
  *free = device_bytes - std::min<std::size_t>(device_bytes, device_at(current()->device).used);
  *total = device_bytes;
  return CUDA_SUCCESS;
}
CUresult cuMemGetAddressRange_v2(CUdeviceptr* begin, size_t* bytes, CUdeviceptr address) {
  CUdeviceptr found = 0;
  Piece piece;
  if (!find_piece(address, found, piece)) return CUDA_ERROR_NOT_FOUND;
  if (begin) *begin = found;
  if (bytes) *bytes = piece.bytes;
  return CUDA_SUCCESS;
}
CUresult cuPointerGetAttribute(void* value, CUpointer_attribute attribute, CUdeviceptr address) {
  return value ? attribute_of(value, attribute, address) : CUDA_ERROR_INVALID_VALUE;
}
// Where nothing is known of the address, the values are zero.
CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute* attributes, void** values, CUdeviceptr address) {
  for (unsigned i = 0; i < count; ++i) {
    switch (attributes[i]) {
      case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
      case CU_POINTER_ATTRIBUTE_MAPPED: *static_cast<unsigned*>(values[i]) = 0; break;
      case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: *static_cast<int*>(values[i]) = -2; break;
      default: *static_cast<void**>(values[i]) = nullptr; break;
    }
    if (attribute_of(values[i], attributes[i], address) == CUDA_ERROR_NOT_SUPPORTED) return CUDA_ERROR_NOT_SUPPORTED;
  }
  return CUDA_SUCCESS;
}
CUresult cuPointerSetAttribute(const void*, CUpointer_attribute, CUdeviceptr) { return CUDA_SUCCESS; }

// Pages stay where they are.
CUresult cuMemPrefetchAsync_v2(CUdeviceptr, size_t, CUmemLocation, unsigned, CUstream) { return CUDA_SUCCESS; }
CUresult cuMemAdvise_v2(CUdeviceptr, size_t, CUmem_advise, CUmemLocation) { return CUDA_SUCCESS; }
CUresult cuStreamAttachMemAsync(CUstream, CUdeviceptr, size_t, unsigned) { return CUDA_SUCCESS; }

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
