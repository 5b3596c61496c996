// Memory: what is large enough lies on all GPUs, at one address.
#include "device/cuda/cuda_driver.hpp"
#include "vgpu/src/driver/program.hpp"
#include "vgpu/src/driver/real.hpp"

#include <dcgn/error.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace {

using namespace dcgn::virtual_gpu::driver;
using dcgn::virtual_gpu::Buffer, dcgn::virtual_gpu::Gpu;

// What cuMemAllocPitch() rounds rows up to: right for all accesses, and for copies by rows.
constexpr std::size_t pitch_alignment = 512;

CUstream per_thread(CUstream stream) { return stream ? stream : CU_STREAM_PER_THREAD; }

// Where the first GPU has none, there is that of the others.
void* allocate_in_last_room(Program& program, std::size_t bytes) {
  Gpu& gpu = *program.gpu();
  if (!program.measured().local()) return gpu.allocate(bytes, program.placement());
  try {
    return gpu.allocate(bytes, program.placement());
  } catch (const dcgn::Error&) {
    program.wake();
    void* const memory = gpu.allocate(bytes, program.spread_placement());
    program.measured().overflow(program);
    return memory;
  }
}

// A buffer of all GPUs is made of whole pages, so what is smaller than one stays on the first, where the others reach
// it. Null where `bytes` are to be the driver's own.
void* allocate(Program& program, std::size_t bytes) {
  if (!program.on_first_device()) return nullptr;
  Gpu* const gpu = program.gpu();
  if (!gpu) return nullptr;
  if (bytes < gpu->machine().page_bytes()) {
    program.report().note_small_buffer(bytes);
    return nullptr;
  }
  program.free_dying(false);
  void* memory = nullptr;
  try {
    memory = gpu->allocate(bytes, program.placement());
  } catch (const dcgn::Error&) {
    if (!program.free_dying(true) && !program.measured().local()) throw;
    memory = allocate_in_last_room(program, bytes);
  }
  program.measured().set_bytes(gpu->buffer_bytes());
  program.report().note_buffer(bytes);
  return memory;
}

// `stream`: in whose order; null where it is in none.
template <class Real>
CUresult allocate(const char* name, CUdeviceptr* address, std::size_t bytes, CUstream stream, Real&& real) {
  return guarded(name, [&] {
    Call call;
    void* memory = address && stream ? call.program().take_dying(stream, bytes) : nullptr;
    if (!memory && address) memory = allocate(call.program(), bytes);
    if (!memory) {
      const CUresult result = real();
      if (result == CUDA_SUCCESS && call.program().checks())
        call.program().add_other(reinterpret_cast<void*>(*address), bytes);
      return result;
    }
    *address = reinterpret_cast<CUdeviceptr>(memory);
    return CUDA_SUCCESS;
  });
}

void note_alone(const char* what) {
  const Call call;
  Program::get().note_alone(what);
}

// Behind a call that has given the program memory which no buffer is.
CUresult note_other(const char* name, void* memory, std::size_t bytes, bool pinned) {
  return guarded(name, [&] {
    Call call;
    if (pinned) call.program().note_pinned();
    if (call.program().checks() && bytes != 0) call.program().add_other(memory, bytes);
    return CUDA_SUCCESS;
  });
}
void drop_other(void* memory) {
  static_cast<void>(guarded("free", [&] {
    Call call;
    call.program().drop_other(memory);
    return CUDA_SUCCESS;
  }));
}

// Memory that a graph allocates is the graph's.
template <class Real>
CUresult allocate_in_order(const char* name, CUdeviceptr* address, std::size_t bytes, CUstream stream, Real&& real) {
  if (!captures(stream))
    return allocate(name, address, bytes, stream ? stream : CU_STREAM_LEGACY, std::forward<Real>(real));
  note_alone("memory that a graph allocates");
  return real();
}

// The buffer that has this address, and where it begins; null for other memory.
const Buffer* find(Program& program, CUdeviceptr address, CUdeviceptr& begin) {
  Gpu* const gpu = program.gpu_if_made();
  const std::byte* first = nullptr;
  const Buffer* const found =
      gpu ? std::as_const(*gpu).buffer_with(reinterpret_cast<const void*>(address), first) : nullptr;
  begin = reinterpret_cast<CUdeviceptr>(first);
  return found;
}

bool begins_there(Program& program, CUdeviceptr address) {
  CUdeviceptr begin = 0;
  return find(program, address, begin) && begin == address;
}

// Behind a wait for all that the program's GPU was given.
void give_back(Program& program, const std::vector<void*>& all) {
  if (!program.measured().local()) program.gpu()->synchronize_all();
  for (void* const memory : all) program.gpu()->retire(memory);
  program.measured().set_bytes(program.gpu()->buffer_bytes());
}

CUresult free_in_order(CUdeviceptr address, CUstream stream, decltype(cuMemFreeAsync)* real) {
  return guarded("cuMemFreeAsync", [&] {
    Call call;
    call.program().drop_other(reinterpret_cast<void*>(address));
    if (!begins_there(call.program(), address)) return real(address, stream);
    // As of all memory that no graph has allocated, and of what is freed already.
    if (captures(stream) || call.program().is_dying(reinterpret_cast<void*>(address))) return CUDA_ERROR_INVALID_VALUE;
    call.program().free_behind(stream, reinterpret_cast<void*>(address));
    return CUDA_SUCCESS;
  });
}

// The driver's answers are about pages, which may be another GPU's.
void correct(Program& program, CUpointer_attribute attribute, void* value, CUdeviceptr address) {
  CUdeviceptr begin = 0;
  const Buffer* const buffer = find(program, address, begin);
  if (!buffer || !value) return;
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: *static_cast<int*>(value) = program.first_device(); break;
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      static_cast<void>(DCGN_REAL(cuCtxGetCurrent)(static_cast<CUcontext*>(value)));
      break;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR: *static_cast<CUdeviceptr*>(value) = begin; break;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE: *static_cast<std::size_t*>(value) = buffer->bytes; break;
    default: break;  // all others are the same for all pages
  }
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): the driver's names
extern "C" {

CUresult cuMemAlloc_v2(CUdeviceptr* address, size_t bytes) {
  return allocate("cuMemAlloc", address, bytes, nullptr, [&] { return DCGN_REAL(cuMemAlloc_v2)(address, bytes); });
}

CUresult cuMemAllocPitch_v2(CUdeviceptr* address, size_t* pitch, size_t width, size_t height, unsigned element) {
  const std::size_t row = (width + pitch_alignment - 1) / pitch_alignment * pitch_alignment;
  bool ours = pitch != nullptr && (height == 0 || row <= SIZE_MAX / height);
  const CUresult result = allocate("cuMemAllocPitch", ours ? address : nullptr, row * height, nullptr, [&] {
    ours = false;
    return DCGN_REAL(cuMemAllocPitch_v2)(address, pitch, width, height, element);
  });
  if (ours && result == CUDA_SUCCESS) *pitch = row;
  return result;
}

CUresult cuMemAllocAsync(CUdeviceptr* address, size_t bytes, CUstream stream) {
  return allocate_in_order("cuMemAllocAsync", address, bytes, stream,
                           [&] { return DCGN_REAL(cuMemAllocAsync)(address, bytes, stream); });
}
CUresult cuMemAllocAsync_ptsz(CUdeviceptr* address, size_t bytes, CUstream stream) {
  return cuMemAllocAsync(address, bytes, per_thread(stream));
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr* address, size_t bytes, CUmemoryPool pool, CUstream stream) {
  bool special = false;
  {
    Call call;
    special = call.program().is_special(pool);
  }
  if (special) {
    const CUresult result = DCGN_REAL(cuMemAllocFromPoolAsync)(address, bytes, pool, stream);
    return result == CUDA_SUCCESS
               ? note_other("cuMemAllocFromPoolAsync", reinterpret_cast<void*>(*address), bytes, true)
               : result;
  }
  return allocate_in_order("cuMemAllocFromPoolAsync", address, bytes, stream,
                           [&] { return DCGN_REAL(cuMemAllocFromPoolAsync)(address, bytes, pool, stream); });
}
CUresult cuMemAllocFromPoolAsync_ptsz(CUdeviceptr* address, size_t bytes, CUmemoryPool pool, CUstream stream) {
  return cuMemAllocFromPoolAsync(address, bytes, pool, per_thread(stream));
}

CUresult cuMemAllocManaged(CUdeviceptr* address, size_t bytes, unsigned flags) {
  const CUresult result = DCGN_REAL(cuMemAllocManaged)(address, bytes, flags);
  if (result != CUDA_SUCCESS) return result;
  static_cast<void>(note_other("cuMemAllocManaged", reinterpret_cast<void*>(*address), bytes, false));
  return guarded("cuMemAllocManaged", [&] {
    Call call;
    if (call.program().gpu())
      call.program().report().note_remark("managed memory, whose pages the driver moves between GPUs as they use them");
    return result;
  });
}

CUresult cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* properties) {
  const CUresult result = DCGN_REAL(cuMemPoolCreate)(pool, properties);
  if (result != CUDA_SUCCESS) return result;
  return guarded("cuMemPoolCreate", [&] {
    Call call;
    if (!call.program().gpu()) return CUDA_SUCCESS;
    if (properties->location.type == CU_MEM_LOCATION_TYPE_DEVICE) call.program().share_pool(*pool);
    if (properties->location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
        properties->allocType != CU_MEM_ALLOCATION_TYPE_PINNED || properties->handleTypes != CU_MEM_HANDLE_TYPE_NONE)
      call.program().add_special_pool(*pool);
    return CUDA_SUCCESS;
  });
}

// Of another process.
CUresult cuMemPoolImportFromShareableHandle(CUmemoryPool* pool, void* handle, CUmemAllocationHandleType type,
                                            unsigned long long flags) {
  const CUresult result = DCGN_REAL(cuMemPoolImportFromShareableHandle)(pool, handle, type, flags);
  if (result != CUDA_SUCCESS) return result;
  return guarded("cuMemPoolImportFromShareableHandle", [&] {
    Call call;
    if (call.program().gpu()) call.program().share_pool(*pool);
    return CUDA_SUCCESS;
  });
}

CUresult cuMemPoolDestroy(CUmemoryPool pool) {
  {
    Call call;
    call.program().forget_pool(pool);
  }
  return DCGN_REAL(cuMemPoolDestroy)(pool);
}

CUresult cuMemFree_v2(CUdeviceptr address) {
  const CUresult result = guarded("cuMemFree", [&] {
    void* const memory = reinterpret_cast<void*>(address);
    bool ours = false;
    std::vector<void*> kept;
    {
      Call call;
      Program& program = call.program();
      program.drop_other(memory);
      ours = begins_there(program, address);
      if (ours && program.is_dying(memory)) return CUDA_ERROR_INVALID_VALUE;
      if (ours && program.any_captures()) {
        program.keep(memory);
        return CUDA_SUCCESS;
      }
      if (ours) kept = program.take_kept();
    }
    if (!ours) return DCGN_REAL(cuMemFree_v2)(address);
    // As the driver does: what was given to streams of which this library knows nothing, too. Without a Call: another
    // thread may have to let that go.
    const CUresult waited = DCGN_REAL(cuCtxSynchronize)();
    // A capture may keep it from waiting; what else it tells is what a kernel has done.
    const bool captured =
        waited >= CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED && waited <= CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
    if (waited != CUDA_SUCCESS && !captured) return waited;
    Call call;
    kept.push_back(memory);
    give_back(call.program(), kept);
    return CUDA_SUCCESS;
  });
  return result == CUDA_SUCCESS && address != 0 ? error_of_others() : result;
}

CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream) {
  return free_in_order(address, stream, DCGN_REAL(cuMemFreeAsync));
}
CUresult cuMemFreeAsync_ptsz(CUdeviceptr address, CUstream stream) {
  return free_in_order(address, per_thread(stream), DCGN_REAL(cuMemFreeAsync));
}

// What the program maps for its GPU, the others get to reach as well.
CUresult cuMemSetAccess(CUdeviceptr address, size_t bytes, const CUmemAccessDesc* access, size_t count) {
  const CUresult result = DCGN_REAL(cuMemSetAccess)(address, bytes, access, count);
  if (result != CUDA_SUCCESS || !access) return result;
  return guarded("cuMemSetAccess", [&] {
    Call call;
    Program& program = call.program();
    const auto of_first = std::find_if(access, access + count, [&](const CUmemAccessDesc& one) {
      return one.location.type == CU_MEM_LOCATION_TYPE_DEVICE && one.location.id == program.first_device();
    });
    if (program.parts().size() < 2 || of_first == access + count || !program.gpu()) return CUDA_SUCCESS;
    std::vector<CUmemAccessDesc> others;
    for (const int device : program.parts()) {
      if (device == program.first_device()) continue;
      others.push_back(*of_first);
      others.back().location.id = device;
    }
    const bool reached =
        !others.empty() && DCGN_REAL(cuMemSetAccess)(address, bytes, others.data(), others.size()) == CUDA_SUCCESS;
    if (program.gpu()->machine().memory_at(address) == dcgn::virtual_gpu::MemoryKind::host) program.note_pinned();
    if (reached || others.empty())
      program.add_reached(address, bytes);
    else
      program.note_alone("memory that the program has mapped");
    return CUDA_SUCCESS;
  });
}

CUresult cuMemUnmap(CUdeviceptr address, size_t bytes) {
  const CUresult result = DCGN_REAL(cuMemUnmap)(address, bytes);
  if (result != CUDA_SUCCESS) return result;
  return guarded("cuMemUnmap", [&] {
    Call call;
    call.program().drop_reached(address, bytes);
    return CUDA_SUCCESS;
  });
}

// What is another's, the first GPU alone is known to reach.
CUresult cuIpcOpenMemHandle_v2(CUdeviceptr* address, CUipcMemHandle handle, unsigned flags) {
  note_alone("memory of another process");
  return DCGN_REAL(cuIpcOpenMemHandle_v2)(address, handle, flags);
}
CUresult cuExternalMemoryGetMappedBuffer(CUdeviceptr* address, CUexternalMemory memory,
                                         const CUDA_EXTERNAL_MEMORY_BUFFER_DESC* which) {
  note_alone("memory of another interface");
  return DCGN_REAL(cuExternalMemoryGetMappedBuffer)(address, memory, which);
}
CUresult cuGraphicsResourceGetMappedPointer_v2(CUdeviceptr* address, size_t* bytes, CUgraphicsResource resource) {
  note_alone("memory of another interface");
  return DCGN_REAL(cuGraphicsResourceGetMappedPointer_v2)(address, bytes, resource);
}
CUresult cuGraphAddMemAllocNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* before, size_t count,
                                CUDA_MEM_ALLOC_NODE_PARAMS* parameters) {
  note_alone("memory that a graph allocates");
  return DCGN_REAL(cuGraphAddMemAllocNode)(node, graph, before, count, parameters);
}

// What has a file's number stays where it is.
CUresult cuMemGetHandleForAddressRange(void* handle, CUdeviceptr address, size_t bytes, CUmemRangeHandleType type,
                                       unsigned long long flags) {
  const CUresult result = DCGN_REAL(cuMemGetHandleForAddressRange)(handle, address, bytes, type, flags);
  if (result != CUDA_SUCCESS) return result;
  Call call(Call::Lightly{});
  call.program().measured().stop();
  return result;
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr* begin, size_t* bytes, CUdeviceptr address) {
  return guarded("cuMemGetAddressRange", [&] {
    Call call;
    CUdeviceptr first = 0;
    const Buffer* const buffer = find(call.program(), address, first);
    if (!buffer) return DCGN_REAL(cuMemGetAddressRange_v2)(begin, bytes, address);
    if (begin) *begin = first;
    if (bytes) *bytes = buffer->bytes;
    return CUDA_SUCCESS;
  });
}

CUresult cuPointerGetAttribute(void* value, CUpointer_attribute attribute, CUdeviceptr address) {
  const CUresult result = DCGN_REAL(cuPointerGetAttribute)(value, attribute, address);
  return guarded("cuPointerGetAttribute", [&] {
    Call call;
    CUdeviceptr begin = 0;
    // Of a page without a context the driver refuses to tell which one it is.
    const bool told = result == CUDA_SUCCESS || attribute == CU_POINTER_ATTRIBUTE_CONTEXT;
    if (!told || !find(call.program(), address, begin)) return result;
    correct(call.program(), attribute, value, address);
    return CUDA_SUCCESS;
  });
}

CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute* attributes, void** values, CUdeviceptr address) {
  const CUresult result = DCGN_REAL(cuPointerGetAttributes)(count, attributes, values, address);
  if (result != CUDA_SUCCESS) return result;
  return guarded("cuPointerGetAttributes", [&] {
    Call call;
    for (unsigned i = 0; i < count; ++i) correct(call.program(), attributes[i], values[i], address);
    return CUDA_SUCCESS;
  });
}

// Host memory of the program is reached by all GPUs.
CUresult cuMemHostAlloc(void** memory, size_t bytes, unsigned flags) {
  const CUresult result =
      DCGN_REAL(cuMemHostAlloc)(memory, bytes, flags | CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP);
  return result == CUDA_SUCCESS ? note_other("cuMemHostAlloc", *memory, bytes, true) : result;
}
CUresult cuMemAllocHost_v2(void** memory, size_t bytes) { return cuMemHostAlloc(memory, bytes, 0); }
CUresult cuMemFreeHost(void* memory) {
  drop_other(memory);
  return DCGN_REAL(cuMemFreeHost)(memory);
}
CUresult cuMemHostRegister_v2(void* memory, size_t bytes, unsigned flags) {
  const CUresult result = DCGN_REAL(cuMemHostRegister_v2)(
      memory, bytes, flags | CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);
  return result == CUDA_SUCCESS ? note_other("cuMemHostRegister", memory, bytes, true) : result;
}
CUresult cuMemHostUnregister(void* memory) {
  drop_other(memory);
  return DCGN_REAL(cuMemHostUnregister)(memory);
}

// All that the GPUs have, together.
CUresult cuMemGetInfo_v2(size_t* free, size_t* total) {
  std::size_t sum_free = 0, sum_total = 0;
  return guarded("cuMemGetInfo", [&] {
    Call call;
    Gpu* const gpu = call.program().on_first_device() ? call.program().gpu() : nullptr;
    if (!gpu || !free || !total) return DCGN_REAL(cuMemGetInfo_v2)(free, total);
    std::vector<int> seen;
    for (const int device : call.program().parts()) {
      if (std::find(seen.begin(), seen.end(), device) != seen.end()) continue;
      seen.push_back(device);
      if (device != call.program().first_device() && !call.program().awake()) {  // nothing of it is used
        std::size_t all = 0;
        if (DCGN_REAL(cuDeviceTotalMem_v2)(&all, device) == CUDA_SUCCESS) sum_free += all, sum_total += all;
        continue;
      }
      const dcgn::device::CurrentContext current(dcgn::device::context_of(device));
      std::size_t its_free = 0, its_total = 0;
      const CUresult result = DCGN_REAL(cuMemGetInfo_v2)(&its_free, &its_total);
      if (result != CUDA_SUCCESS) return result;
      sum_free += its_free;
      sum_total += its_total;
    }
    *free = sum_free + gpu->spare_bytes();
    *total = sum_total;
    return CUDA_SUCCESS;
  });
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
