// The driver's calls, as far as tests need them, but for those about code.
#include "fake_driver.hpp"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

using namespace fake;

namespace {

thread_local CUstreamCaptureMode capture_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
constexpr std::size_t page = 2 << 20;

void* pointer(CUdeviceptr address) { return reinterpret_cast<void*>(address); }
Context* as_context(CUcontext context) { return reinterpret_cast<Context*>(context); }
CUcontext as_handle(Context* context) { return reinterpret_cast<CUcontext>(context); }
bool is_device(CUdevice device) { return device >= 0 && device < devices(); }

CUresult copy(void* to, const void* from, std::size_t bytes, CUstream stream, bool waits) {
  const Lock lock;
  Stream& its = stream_of(stream);
  its.give([to, from, bytes] { std::memmove(to, from, bytes); });
  if (waits) its.finish();
  return CUDA_SUCCESS;
}

template <class T>
CUresult fill(CUdeviceptr to, T value, std::size_t count, CUstream stream) {
  const Lock lock;
  stream_of(stream).give([to, value, count] { std::fill_n(static_cast<T*>(pointer(to)), count, value); });
  return CUDA_SUCCESS;
}

CUresult copy_rows(const CUDA_MEMCPY2D& c, CUstream stream, bool waits) {
  const auto side = [](CUmemorytype type, const void* host, CUdeviceptr device) {
    return const_cast<char*>(static_cast<const char*>(type == CU_MEMORYTYPE_HOST ? host : pointer(device)));
  };
  const Lock lock;
  Stream& its = stream_of(stream);
  char* const to = side(c.dstMemoryType, c.dstHost, c.dstDevice) + c.dstY * c.dstPitch + c.dstXInBytes;
  const char* const from = side(c.srcMemoryType, c.srcHost, c.srcDevice) + c.srcY * c.srcPitch + c.srcXInBytes;
  its.give([to, from, c] {
    for (std::size_t row = 0; row < c.Height; ++row)
      std::memcpy(to + row * c.dstPitch, from + row * c.srcPitch, c.WidthInBytes);
  });
  if (waits) its.finish();
  return CUDA_SUCCESS;
}

CUresult allocate(CUdeviceptr* address, std::size_t bytes, int owner) {
  const Lock lock;
  if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  void* const memory = std::aligned_alloc(512, (bytes + 511) / 512 * 512);
  if (!memory) return CUDA_ERROR_OUT_OF_MEMORY;
  std::memset(memory, 0xA5, bytes);
  state().memory[reinterpret_cast<std::uintptr_t>(memory)] = {bytes, {}, owner, owner >= 0};
  *address = reinterpret_cast<CUdeviceptr>(memory);
  return CUDA_SUCCESS;
}

CUresult release(CUdeviceptr address) {
  const Lock lock;
  if (state().memory.erase(address) == 0) return CUDA_ERROR_INVALID_VALUE;
  std::free(pointer(address));
  return CUDA_SUCCESS;
}

void finish_device(int device) {
  const Lock lock;
  state().legacy[static_cast<std::size_t>(device)].finish();
  for (Stream* stream : state().streams)
    if (stream->device == device) stream->finish();
}

void print_counts() {
  for (const auto& [what, count] : state().counts) std::fprintf(stderr, "%s: %llu\n", what.c_str(), count);
}

struct Event {
  Moment moment;
  double at = 0;  // ms
};
Event& event_of(CUevent event) { return *reinterpret_cast<Event*>(event); }

}  // namespace

extern "C" {

CUresult cuInit(unsigned) {
  if (devices() == 0) return CUDA_ERROR_NO_DEVICE;
  static const int once = std::getenv("DCGN_TEST_FAKE_COUNTS") ? std::atexit(&print_counts) : 0;
  return once == 0 ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN;
}
CUresult cuDriverGetVersion(int* version) { return *version = 13000, CUDA_SUCCESS; }
CUresult cuGetErrorName(CUresult error, const char** name) {
  return *name = error == CUDA_SUCCESS ? "CUDA_SUCCESS" : "CUDA_ERROR", CUDA_SUCCESS;
}
CUresult cuGetErrorString(CUresult error, const char** text) { return cuGetErrorName(error, text); }

// The names are asked for, not forms of them: the newest that there is.
CUresult cuGetProcAddress_v2(const char* name, void** function, int, cuuint64_t, CUdriverProcAddressQueryResult*) {
  Dl_info own{};
  dladdr(reinterpret_cast<const void*>(&cuGetErrorString), &own);
  void* const library = dlopen(own.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  *function = nullptr;
  for (const char* suffix : {"_v4", "_v3", "_v2", ""})
    if (!*function) *function = dlsym(library, (std::string(name) + suffix).c_str());
  return *function ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

// Devices and contexts.
CUresult cuDeviceGetCount(int* count) { return *count = devices(), CUDA_SUCCESS; }
CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  if (!is_device(ordinal)) return CUDA_ERROR_INVALID_DEVICE;
  return *device = ordinal, CUDA_SUCCESS;
}
CUresult cuDeviceGetName(char* name, int bytes, CUdevice device) {
  std::snprintf(name, static_cast<std::size_t>(bytes), "Fake GPU %d", device);
  return CUDA_SUCCESS;
}
CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice) { return *bytes = std::size_t{1} << 30, CUDA_SUCCESS; }
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice) {
  switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: *value = 9; break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: *value = 0; break;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: *value = 4; break;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *value = 1024; break;
    default: *value = 1; break;
  }
  return CUDA_SUCCESS;
}
CUresult cuDeviceCanAccessPeer(int* can, CUdevice, CUdevice) { return *can = 1, CUDA_SUCCESS; }
CUresult cuDeviceGetP2PAttribute(int* value, CUdevice_P2PAttribute, CUdevice, CUdevice) {
  return *value = 1, CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  *context = as_handle(&state().primary[static_cast<std::size_t>(device)]);
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice) { return CUDA_SUCCESS; }
CUresult cuDevicePrimaryCtxReset_v2(CUdevice) { return CUDA_SUCCESS; }
CUresult cuCtxCreate_v4(CUcontext* context, CUctxCreateParams*, unsigned, CUdevice device) {
  if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  auto* const made = new Context();  // to the end of the process, as its streams
  made->device = device;
  contexts().push_back(made);
  *context = as_handle(made);
  return CUDA_SUCCESS;
}
CUresult cuCtxDestroy_v2(CUcontext context) {
  std::erase(contexts(), as_context(context));
  return CUDA_SUCCESS;
}
CUresult cuCtxGetCurrent(CUcontext* context) { return *context = as_handle(current()), CUDA_SUCCESS; }
CUresult cuCtxSetCurrent(CUcontext context) {
  if (!contexts().empty()) contexts().pop_back();
  if (context) contexts().push_back(as_context(context));
  return CUDA_SUCCESS;
}
CUresult cuCtxPushCurrent_v2(CUcontext context) { return contexts().push_back(as_context(context)), CUDA_SUCCESS; }
CUresult cuCtxPopCurrent_v2(CUcontext* context) {
  if (contexts().empty()) return CUDA_ERROR_INVALID_CONTEXT;
  if (context) *context = as_handle(current());
  return contexts().pop_back(), CUDA_SUCCESS;
}
CUresult cuCtxSynchronize() {
  if (!current()) return CUDA_ERROR_INVALID_CONTEXT;
  return finish_device(current()->device), CUDA_SUCCESS;
}
CUresult cuCtxSetLimit(CUlimit limit, size_t value) {
  if (!current()) return CUDA_ERROR_INVALID_CONTEXT;
  current()->limits[limit] = value;
  ++state().counts["limit " + std::to_string(limit) + " of " + std::to_string(current()->device) + " is " +
                   std::to_string(value)];
  return CUDA_SUCCESS;
}
CUresult cuCtxGetLimit(size_t* value, CUlimit limit) {
  return current() ? (*value = current()->limits[limit], CUDA_SUCCESS) : CUDA_ERROR_INVALID_CONTEXT;
}
CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned) {
  bool& reaches = current()->reaches[static_cast<std::size_t>(as_context(peer)->device)];
  if (reaches) return CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
  return reaches = true, CUDA_SUCCESS;
}

// Streams and events.
CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  return std::swap(*mode, capture_mode), CUDA_SUCCESS;
}
CUresult cuStreamCreate(CUstream* stream, unsigned flags) {
  const Lock lock;
  auto* const made = new Stream();
  made->device = current()->device;
  made->blocking = (flags & CU_STREAM_NON_BLOCKING) == 0;
  state().streams.insert(made);
  *stream = reinterpret_cast<CUstream>(made);
  return CUDA_SUCCESS;
}
CUresult cuStreamDestroy_v2(CUstream stream) {
  const Lock lock;
  stream_of(stream).finish();
  state().streams.erase(&stream_of(stream));  // events may name it still
  return CUDA_SUCCESS;
}
CUresult cuStreamSynchronize(CUstream stream) {
  const Lock lock;
  if (stream_of(stream).captures) fail("a wait for a stream that is captured");
  return stream_of(stream).finish(), CUDA_SUCCESS;
}
CUresult cuStreamQuery(CUstream stream) {
  const Lock lock;
  if (stream_of(stream).captures) fail("a query of a stream that is captured");
  return stream_of(stream).done == stream_of(stream).given ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}
CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
  const Lock lock;
  *status = stream_of(stream).captures ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
  return CUDA_SUCCESS;
}
CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode) {
  const Lock lock;
  return stream_of(stream).captures = true, CUDA_SUCCESS;
}
CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph) {
  const Lock lock;
  Stream& its = stream_of(stream);
  its.captures = false;
  *graph = reinterpret_cast<CUgraph>(new Works(std::exchange(its.recorded, {})));
  return CUDA_SUCCESS;
}
CUresult cuEventCreate(CUevent* event, unsigned) {
  return *event = reinterpret_cast<CUevent>(new Event()), CUDA_SUCCESS;
}
CUresult cuEventDestroy_v2(CUevent) { return CUDA_SUCCESS; }  // moments of it may be waited for
CUresult cuEventRecord(CUevent event, CUstream stream) {
  const Lock lock;
  Stream& its = stream_of(stream);
  its.give([&its, made = &event_of(event)] { made->at = its.clock; });
  event_of(event).moment = {&its, its.given};
  return CUDA_SUCCESS;
}
CUresult cuEventQuery(CUevent event) {
  const Lock lock;
  const Moment& moment = event_of(event).moment;
  return !moment.stream || moment.stream->done >= moment.number ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}
CUresult cuEventSynchronize(CUevent event) {
  const Lock lock;
  const Moment& moment = event_of(event).moment;
  if (moment.stream) moment.stream->finish(moment.number);
  return CUDA_SUCCESS;
}
CUresult cuEventElapsedTime_v2(float* ms, CUevent begin, CUevent end) {
  return *ms = static_cast<float>(event_of(end).at - event_of(begin).at), CUDA_SUCCESS;
}
CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned) {
  const Lock lock;
  Stream& its = stream_of(stream);
  if (Stream* const other = event_of(event).moment.stream)
    its.give([&its, other] { its.clock = std::max(its.clock, other->clock); }, {event_of(event).moment});
  return CUDA_SUCCESS;
}

// Memory.
CUresult cuMemAlloc_v2(CUdeviceptr* address, size_t bytes) {
  return current() ? allocate(address, bytes, current()->device) : CUDA_ERROR_INVALID_CONTEXT;
}
CUresult cuMemAllocPitch_v2(CUdeviceptr* address, size_t* pitch, size_t width, size_t height, unsigned) {
  *pitch = (width + 511) / 512 * 512;
  return cuMemAlloc_v2(address, *pitch * height);
}
CUresult cuMemAllocAsync(CUdeviceptr* address, size_t bytes, CUstream) { return cuMemAlloc_v2(address, bytes); }
CUresult cuMemFree_v2(CUdeviceptr address) {
  if (current()) finish_device(current()->device);
  return release(address);
}
CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream) {
  const Lock lock;
  stream_of(stream).give([address] { release(address); });
  return CUDA_SUCCESS;
}
CUresult cuMemHostAlloc(void** memory, size_t bytes, unsigned flags) {
  CUdeviceptr address = 0;
  const CUresult result = allocate(&address, bytes, (flags & CU_MEMHOSTALLOC_PORTABLE) != 0 ? -1 : current()->device);
  *memory = pointer(address);
  return result;
}
CUresult cuMemFreeHost(void* memory) { return release(reinterpret_cast<CUdeviceptr>(memory)); }
CUresult cuMemGetInfo_v2(size_t* free, size_t* total) { return *free = *total = std::size_t{1} << 30, CUDA_SUCCESS; }
CUresult cuMemGetAddressRange_v2(CUdeviceptr* begin, size_t* bytes, CUdeviceptr address) {
  const Lock lock;
  const auto after = state().memory.upper_bound(address);
  if (after == state().memory.begin()) return CUDA_ERROR_NOT_FOUND;
  *begin = std::prev(after)->first;
  *bytes = std::prev(after)->second.bytes;
  return CUDA_SUCCESS;
}
CUresult cuPointerGetAttribute(void* value, CUpointer_attribute attribute, CUdeviceptr address) {
  const Lock lock;
  const auto after = state().memory.upper_bound(address);
  if (after == state().memory.begin()) return CUDA_ERROR_INVALID_VALUE;
  const auto& [begin, piece] = *std::prev(after);
  if (address - begin >= piece.bytes) return CUDA_ERROR_INVALID_VALUE;  // the host's, of which nothing is known
  if (attribute == CU_POINTER_ATTRIBUTE_MEMORY_TYPE)
    *static_cast<unsigned*>(value) = piece.owner < 0 ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
  else if (attribute == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
    *static_cast<int*>(value) = piece.owner;
  else
    return CUDA_ERROR_NOT_SUPPORTED;
  return CUDA_SUCCESS;
}
CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute* attributes, void** values, CUdeviceptr address) {
  for (unsigned i = 0; i < count; ++i) {
    unsigned type = 0;
    const Lock lock;
    const bool known = cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address) == CUDA_SUCCESS;
    switch (attributes[i]) {
      case CU_POINTER_ATTRIBUTE_MEMORY_TYPE: *static_cast<unsigned*>(values[i]) = type; break;
      case CU_POINTER_ATTRIBUTE_IS_MANAGED: *static_cast<unsigned*>(values[i]) = 0; break;
      case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
        *static_cast<unsigned*>(values[i]) = known && std::prev(state().memory.upper_bound(address))->second.ordinary;
        break;
      case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE: *static_cast<CUmemoryPool*>(values[i]) = nullptr; break;
      default: return CUDA_ERROR_NOT_SUPPORTED;
    }
  }
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetDefaultMemPool(CUmemoryPool* pool, CUdevice) { return *pool = nullptr, CUDA_SUCCESS; }
CUresult cuMemPoolSetAccess(CUmemoryPool, const CUmemAccessDesc*, size_t) { return CUDA_SUCCESS; }

CUresult cuMemGetAllocationGranularity(size_t* bytes, const CUmemAllocationProp*, CUmemAllocationGranularity_flags) {
  return *bytes = page, CUDA_SUCCESS;
}
CUresult cuMemAddressReserve(CUdeviceptr* address, size_t bytes, size_t, CUdeviceptr, unsigned long long) {
  void* const memory = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  return *address = reinterpret_cast<CUdeviceptr>(memory), CUDA_SUCCESS;
}
CUresult cuMemAddressFree(CUdeviceptr address, size_t bytes) {
  return munmap(pointer(address), bytes) == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, size_t bytes, const CUmemAllocationProp* properties,
                     unsigned long long) {
  const Lock lock;
  if (bytes % page != 0) return CUDA_ERROR_INVALID_VALUE;
  const int file = memfd_create("fake GPU", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, static_cast<off_t>(bytes)) != 0) return CUDA_ERROR_OUT_OF_MEMORY;
  *handle = static_cast<CUmemGenericAllocationHandle>(file);
  state().physical[*handle] = {file, properties->location.id};
  return CUDA_SUCCESS;
}
CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  const Lock lock;
  close(state().physical.at(handle).first);
  return state().physical.erase(handle), CUDA_SUCCESS;
}
CUresult cuMemMap(CUdeviceptr address, size_t bytes, size_t, CUmemGenericAllocationHandle handle, unsigned long long) {
  const Lock lock;
  const auto [file, device] = state().physical.at(handle);
  if (mmap(pointer(address), bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) == MAP_FAILED)
    return CUDA_ERROR_OUT_OF_MEMORY;
  state().memory[address] = {bytes, {}, device};
  return CUDA_SUCCESS;
}
CUresult cuMemUnmap(CUdeviceptr address, size_t bytes) {
  const Lock lock;
  mmap(pointer(address), bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
  std::erase_if(state().memory, [&](const auto& one) { return one.first >= address && one.first < address + bytes; });
  return CUDA_SUCCESS;
}
CUresult cuMemSetAccess(CUdeviceptr address, size_t bytes, const CUmemAccessDesc* access, size_t count) {
  const Lock lock;
  for (auto& [begin, piece] : state().memory)
    if (begin >= address && begin < address + bytes)
      for (std::size_t i = 0; i < count; ++i) piece.reach.insert(access[i].location.id);
  return CUDA_SUCCESS;
}

// Copies.
CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t n) {
  return copy(pointer(to), pointer(from), n, nullptr, true);
}
CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t n, CUstream s) {
  unsigned type = 0;
  for (const CUdeviceptr end : {to, from})
    if (cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, end) != CUDA_SUCCESS)
      fail("cuMemcpyAsync of memory that is not known");
  return copy(pointer(to), pointer(from), n, s, false);
}
CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void* from, size_t n) {
  return copy(pointer(to), from, n, nullptr, true);
}
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, size_t n, CUstream s) {
  return copy(pointer(to), from, n, s, false);
}
CUresult cuMemcpyDtoH_v2(void* to, CUdeviceptr from, size_t n) { return copy(to, pointer(from), n, nullptr, true); }
CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, size_t n, CUstream s) {
  return copy(to, pointer(from), n, s, false);
}
CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t n) {
  return copy(pointer(to), pointer(from), n, nullptr, false);
}
CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t n, CUstream s) {
  return copy(pointer(to), pointer(from), n, s, false);
}
CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D* its) { return copy_rows(*its, nullptr, true); }
CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D* its, CUstream s) { return copy_rows(*its, s, false); }
CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t n) { return fill(to, value, n, nullptr); }
CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t n, CUstream s) { return fill(to, value, n, s); }
CUresult cuMemsetD32_v2(CUdeviceptr to, unsigned value, size_t n) { return fill(to, value, n, nullptr); }
CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t n, CUstream s) { return fill(to, value, n, s); }

}  // extern "C"
