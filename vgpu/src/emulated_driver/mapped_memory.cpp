// The driver's calls about pools, and about memory that the program maps itself.
#include "vgpu/src/emulated_driver/driver.hpp"
#include "vgpu/src/emulated_driver/graph.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

using namespace dcgn::virtual_gpu::emulated;

namespace {

void* pointer(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

// A pool gives memory of its device, and gives all back; who reaches it from then on is known.
struct Pool {
  int device = 0;
  std::set<int> reach;
  std::map<CUmemPool_attribute, cuuint64_t> attributes;
};

Pool& default_pool(int device) {
  static auto& all = *new std::array<Pool, most_devices>();
  Pool& pool = all[static_cast<std::size_t>(device)];
  pool.device = device;
  return pool;
}
std::map<int, Pool*>& current_pools() {
  static auto& all = *new std::map<int, Pool*>();
  return all;
}
Pool& pool_of(CUmemoryPool pool) { return *reinterpret_cast<Pool*>(pool); }

CUresult allocate_from(CUdeviceptr* address, std::size_t bytes, Pool& pool, CUstream stream) {
  if (const CUresult wrong = standing(stream); wrong != CUDA_SUCCESS) return wrong;
  const CUresult result = allocate(address, bytes, pool.device, Piece::Kind::device);
  if (result != CUDA_SUCCESS) return result;
  Guard guard(state().mutex);
  if (!pool.reach.empty()) {
    const std::lock_guard memory_guard(state().memory_mutex);
    Piece& piece = state().memory[*address];
    piece.reach = pool.reach;
    piece.reach.insert(pool.device);
  }
  Stream* const its = stream_of(stream);
  if (its && its->capture) {
    Node& node = record_node(*its, CU_GRAPH_NODE_TYPE_MEM_ALLOC, {});
    node.memory.dptr = *address;
    node.memory.bytesize = bytes;
    leave_to_graph(*address);
  }
  return CUDA_SUCCESS;
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): the driver's names
extern "C" {

CUresult cuMemAllocAsync(CUdeviceptr* address, size_t bytes, CUstream stream) {
  if (!current()) return CUDA_ERROR_INVALID_CONTEXT;
  const int device = current()->device;
  Pool* pool = nullptr;
  {
    const Guard guard(state().mutex);
    const auto found = current_pools().find(device);
    pool = found == current_pools().end() ? &default_pool(device) : found->second;
  }
  return allocate_from(address, bytes, *pool, stream);
}
CUresult cuMemAllocFromPoolAsync(CUdeviceptr* address, size_t bytes, CUmemoryPool pool, CUstream stream) {
  return pool ? allocate_from(address, bytes, pool_of(pool), stream) : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream) {
  if (const CUresult wrong = standing(stream); wrong != CUDA_SUCCESS) return wrong;
  CUdeviceptr begin = 0;
  Piece piece;
  if (!find_piece(address, begin, piece) || begin != address) return CUDA_ERROR_INVALID_VALUE;
  const Guard guard(state().mutex);
  Stream& its = *stream_of(stream);
  if (its.capture)  // a graph's memory stays: it may be launched again
    record_node(its, CU_GRAPH_NODE_TYPE_MEM_FREE, {}).memory.dptr = address;
  else
    give(its, [address] { static_cast<void>(release(address)); });
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool* pool, CUdevice device) {
  if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  return *pool = reinterpret_cast<CUmemoryPool>(&default_pool(device)), CUDA_SUCCESS;
}
CUresult cuDeviceGetMemPool(CUmemoryPool* pool, CUdevice device) {
  const Guard guard(state().mutex);
  const auto found = current_pools().find(device);
  if (found == current_pools().end()) return cuDeviceGetDefaultMemPool(pool, device);
  return *pool = reinterpret_cast<CUmemoryPool>(found->second), CUDA_SUCCESS;
}
CUresult cuDeviceSetMemPool(CUdevice device, CUmemoryPool pool) {
  const Guard guard(state().mutex);
  return current_pools()[device] = &pool_of(pool), CUDA_SUCCESS;
}
CUresult cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* properties) {
  if (properties->location.type != CU_MEM_LOCATION_TYPE_DEVICE || !is_device(properties->location.id))
    return CUDA_ERROR_NOT_SUPPORTED;
  auto* const made = new Pool();
  made->device = properties->location.id;
  return *pool = reinterpret_cast<CUmemoryPool>(made), CUDA_SUCCESS;
}
CUresult cuMemPoolDestroy(CUmemoryPool) { return CUDA_SUCCESS; }  // what it gave lives on
CUresult cuMemPoolTrimTo(CUmemoryPool, size_t) { return CUDA_SUCCESS; }
CUresult cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc* access, size_t count) {
  const Guard guard(state().mutex);
  for (std::size_t i = 0; i < count; ++i)
    if (access[i].flags != CU_MEM_ACCESS_FLAGS_PROT_NONE)
      pool_of(pool).reach.insert(access[i].location.id);
    else
      pool_of(pool).reach.erase(access[i].location.id);
  return CUDA_SUCCESS;
}
CUresult cuMemPoolGetAccess(CUmemAccess_flags* flags, CUmemoryPool pool, CUmemLocation* location) {
  const Guard guard(state().mutex);
  const bool reached = location->id == pool_of(pool).device || pool_of(pool).reach.count(location->id) != 0;
  *flags = reached ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_NONE;
  return CUDA_SUCCESS;
}
CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void* value) {
  const Guard guard(state().mutex);
  const bool of_int = attribute <= CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES;
  pool_of(pool).attributes[attribute] =
      of_int ? static_cast<cuuint64_t>(*static_cast<int*>(value)) : *static_cast<cuuint64_t*>(value);
  return CUDA_SUCCESS;
}
CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void* value) {
  const Guard guard(state().mutex);
  const bool of_int = attribute <= CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES;
  auto& all = pool_of(pool).attributes;
  const cuuint64_t its = all.count(attribute) ? all[attribute] : of_int ? 1 : 0;
  if (of_int)
    *static_cast<int*>(value) = static_cast<int>(its);
  else
    *static_cast<cuuint64_t*>(value) = its;
  return CUDA_SUCCESS;
}

CUresult cuMemGetAllocationGranularity(size_t* bytes, const CUmemAllocationProp*, CUmemAllocationGranularity_flags) {
  return *bytes = page_bytes, CUDA_SUCCESS;
}
CUresult cuMemAddressReserve(CUdeviceptr* address, size_t bytes, size_t alignment, CUdeviceptr, unsigned long long) {
  const std::size_t aligned = std::max(alignment, page_bytes);
  if (bytes == 0 || bytes % page_bytes != 0) return CUDA_ERROR_INVALID_VALUE;
  void* const memory = mmap(nullptr, bytes + aligned, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  const auto begin = reinterpret_cast<CUdeviceptr>(memory), first = (begin + aligned - 1) / aligned * aligned;
  if (first > begin) munmap(memory, first - begin);
  if (first + bytes < begin + bytes + aligned) munmap(pointer(first + bytes), begin + aligned - first);
  return *address = first, CUDA_SUCCESS;
}
CUresult cuMemAddressFree(CUdeviceptr address, size_t bytes) {
  return munmap(pointer(address), bytes) == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, size_t bytes, const CUmemAllocationProp* properties,
                     unsigned long long) {
  if (bytes == 0 || bytes % page_bytes != 0 || !is_device(properties->location.id)) return CUDA_ERROR_INVALID_VALUE;
  Device& device = device_at(properties->location.id);
  static const char* const most = std::getenv("DCGN_TEST_EMULATED_PIECES");  // for tests
  const std::lock_guard guard(state().memory_mutex);
  if (most && state().physical.size() >= std::strtoul(most, nullptr, 10)) return CUDA_ERROR_OUT_OF_MEMORY;
  if (device.used + bytes > device_bytes) return CUDA_ERROR_OUT_OF_MEMORY;
  const int file = memfd_create("emulated GPU", MFD_CLOEXEC);
  if (file < 0) return CUDA_ERROR_OUT_OF_MEMORY;
  if (ftruncate(file, static_cast<off_t>(bytes)) != 0) return close(file), CUDA_ERROR_OUT_OF_MEMORY;
  device.used += bytes;
  *handle = static_cast<CUmemGenericAllocationHandle>(file);
  state().physical[*handle] = {file, *properties};
  return CUDA_SUCCESS;
}
// What is mapped of it stays.
CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  const std::lock_guard guard(state().memory_mutex);
  const auto found = state().physical.find(handle);
  if (found == state().physical.end()) return CUDA_ERROR_INVALID_VALUE;
  const off_t bytes = lseek(found->second.first, 0, SEEK_END);
  if (bytes > 0) device_at(found->second.second.location.id).used -= static_cast<std::size_t>(bytes);
  close(found->second.first);
  return state().physical.erase(found), CUDA_SUCCESS;
}
CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp* properties, CUmemGenericAllocationHandle handle) {
  const std::lock_guard guard(state().memory_mutex);
  const auto found = state().physical.find(handle);
  if (found == state().physical.end()) return CUDA_ERROR_INVALID_VALUE;
  return *properties = found->second.second, CUDA_SUCCESS;
}
CUresult cuMemMap(CUdeviceptr address, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle,
                  unsigned long long) {
  const std::lock_guard guard(state().memory_mutex);
  const auto found = state().physical.find(handle);
  if (found == state().physical.end() || offset != 0) return CUDA_ERROR_INVALID_VALUE;
  const auto& [file, properties] = found->second;
  if (mmap(pointer(address), bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) == MAP_FAILED)
    return CUDA_ERROR_OUT_OF_MEMORY;
  Piece piece;
  piece.bytes = bytes;
  piece.reach = {-1};  // nobody yet
  piece.owner = properties.location.id;
  piece.kind = Piece::Kind::mapped;
  state().memory[address] = std::move(piece);
  return CUDA_SUCCESS;
}
CUresult cuMemUnmap(CUdeviceptr address, size_t bytes) {
  if (current()) {
    Guard guard(state().mutex);
    finish_device(guard, current()->device);
  }
  const std::lock_guard guard(state().memory_mutex);
  constexpr int anew = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE;
  static_cast<void>(mmap(pointer(address), bytes, PROT_NONE, anew, -1, 0));
  std::erase_if(state().memory, [&](const auto& one) { return one.first >= address && one.first < address + bytes; });
  return CUDA_SUCCESS;
}
CUresult cuMemSetAccess(CUdeviceptr address, size_t bytes, const CUmemAccessDesc* access, size_t count) {
  const std::lock_guard guard(state().memory_mutex);
  for (auto& [begin, piece] : state().memory)
    if (begin >= address && begin < address + bytes)
      for (std::size_t i = 0; i < count; ++i) piece.reach.insert(access[i].location.id);
  return CUDA_SUCCESS;
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
