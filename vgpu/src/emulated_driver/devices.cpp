// The driver's calls about devices and contexts.
#include "vgpu/src/emulated_driver/driver.hpp"
#include "vgpu/src/emulated_driver/graph.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

using namespace dcgn::virtual_gpu::emulated;
namespace interpreter = dcgn::virtual_gpu::interpreter;

namespace {

Context* as_context(CUcontext context) { return reinterpret_cast<Context*>(context); }
CUcontext as_handle(Context* context) { return reinterpret_cast<CUcontext>(context); }

void print_counts() {
  for (const auto& [what, times] : state().counts) std::fprintf(stderr, "%s: %llu\n", what.c_str(), times);
}

int attribute_of(CUdevice_attribute attribute) {
  switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: return 9;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: return 0;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: return interpreter::multiprocessors;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X:
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y: return 1024;
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z: return 64;
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X: return 0x7fffffff;
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y:
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z: return 65535;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR: return interpreter::threads_per_multiprocessor;
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR: return interpreter::blocks_per_multiprocessor;
    case CU_DEVICE_ATTRIBUTE_WARP_SIZE: return 32;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK: return shared_bytes_unasked;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
      return static_cast<int>(interpreter::shared_bytes_per_block);
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR:
      return static_cast<int>(interpreter::shared_bytes_per_block) + 1024;
    case CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK: return 1024;
    case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK:
    case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR: return registers_per_multiprocessor;
    case CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY: return 64 * 1024;
    case CU_DEVICE_ATTRIBUTE_MAX_PITCH: return 0x7fffffff;
    case CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT:
    case CU_DEVICE_ATTRIBUTE_SURFACE_ALIGNMENT: return 512;
    case CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT: return 32;
    case CU_DEVICE_ATTRIBUTE_CLOCK_RATE:
    case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE: return 1000000;
    case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH: return 64;
    case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE: return 4 << 20;
    case CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT: return 2;
    case CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY:
    case CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS:
    case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
    case CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY:
    case CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM:
    case CU_DEVICE_ATTRIBUTE_CAN_FLUSH_REMOTE_WRITES:
    case CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS:
    case CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH:
    case CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_GPU_OVERLAP:
    case CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR:
    case CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO: return 1;
    case CU_DEVICE_ATTRIBUTE_NUMA_ID: return -1;
    default: return 0;
  }
}

CUresult make_context(CUcontext* context, unsigned flags, CUdevice device) {
  if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  auto* const made = new Context();  // to the end of the process, as its streams
  made->device = device;
  made->flags = flags;
  contexts().push_back(made);
  if (context) *context = as_handle(made);
  return CUDA_SUCCESS;
}

CUresult synchronize(int device) {
  Guard guard(state().mutex);
  bool captured = false;
  for (const Stream* stream : state().streams) {
    if (!stream->capture || stream->device != device) continue;
    static_cast<void>(spoil(*stream->capture));
    captured = true;
  }
  if (captured) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  finish_device(guard, device);
  return static_cast<CUresult>(device_at(device).error.load());
}

std::size_t limit_of(CUlimit limit) {
  switch (limit) {
    case CU_LIMIT_STACK_SIZE: return 1024;
    case CU_LIMIT_PRINTF_FIFO_SIZE: return 1 << 20;
    case CU_LIMIT_MALLOC_HEAP_SIZE: return 8 << 20;
    case CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT: return 2048;
    case CU_LIMIT_MAX_L2_FETCH_GRANULARITY: return 64;
    default: return 0;
  }
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): the driver's names
extern "C" {

CUresult cuInit(unsigned) {
  if (devices() == 0) return CUDA_ERROR_NO_DEVICE;
  begin_recording();
  static const int once = std::getenv("DCGN_TEST_EMULATED_COUNTS") ? std::atexit(&print_counts) : 0;
  return once == 0 ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN;
}
CUresult cuDriverGetVersion(int* version) { return *version = CUDA_VERSION / 1000 * 1000, CUDA_SUCCESS; }

CUresult cuDeviceGetCount(int* count) { return *count = devices(), CUDA_SUCCESS; }
CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  if (!is_device(ordinal)) return CUDA_ERROR_INVALID_DEVICE;
  return *device = ordinal, CUDA_SUCCESS;
}
CUresult cuDeviceGetName(char* name, int bytes, CUdevice device) {
  if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  std::snprintf(name, static_cast<std::size_t>(bytes), "Emulated GPU %d", device);
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice device) {
  if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  const std::string text = "dcgn GPU " + std::to_string(device);
  std::memset(uuid, 0, sizeof *uuid);
  std::memcpy(uuid->bytes, text.data(), std::min(text.size(), sizeof uuid->bytes));
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetPCIBusId(char* id, int bytes, CUdevice device) {
  if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  std::snprintf(id, static_cast<std::size_t>(bytes), "0000:%02x:00.0", static_cast<unsigned>(device) + 1);
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetByPCIBusId(CUdevice* device, const char* id) {
  char its[16];
  for (int d = 0; d < devices(); ++d)
    if (cuDeviceGetPCIBusId(its, sizeof its, d) == CUDA_SUCCESS && std::strcmp(its, id) == 0)
      return *device = d, CUDA_SUCCESS;
  return CUDA_ERROR_INVALID_VALUE;
}
CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice device) {
  return is_device(device) ? (*bytes = device_bytes, CUDA_SUCCESS) : CUDA_ERROR_INVALID_DEVICE;
}
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  *value = attribute == CU_DEVICE_ATTRIBUTE_PCI_BUS_ID ? device + 1 : attribute_of(attribute);
  return CUDA_SUCCESS;
}
CUresult cuDeviceCanAccessPeer(int* can, CUdevice device, CUdevice peer) {
  if (!is_device(device) || !is_device(peer)) return CUDA_ERROR_INVALID_DEVICE;
  return *can = device != peer, CUDA_SUCCESS;
}
CUresult cuDeviceGetP2PAttribute(int* value, CUdevice_P2PAttribute, CUdevice, CUdevice) {
  return *value = 1, CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  return *context = as_handle(&device_at(device).primary), CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice) { return CUDA_SUCCESS; }
CUresult cuDevicePrimaryCtxReset_v2(CUdevice device) {
  return is_device(device) ? (static_cast<void>(synchronize(device)), CUDA_SUCCESS) : CUDA_ERROR_INVALID_DEVICE;
}
CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned* flags, int* active) {
  if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  *flags = device_at(device).primary.flags;
  return *active = 1, CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned flags) {
  if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  return device_at(device).primary.flags = flags, CUDA_SUCCESS;
}

CUresult cuCtxCreate_v2(CUcontext* context, unsigned flags, CUdevice device) {
  return make_context(context, flags, device);
}
CUresult cuCtxCreate_v3(CUcontext* context, CUexecAffinityParam*, int, unsigned flags, CUdevice device) {
  return make_context(context, flags, device);
}
CUresult cuCtxCreate_v4(CUcontext* context, CUctxCreateParams*, unsigned flags, CUdevice device) {
  return make_context(context, flags, device);
}
CUresult cuCtxDestroy_v2(CUcontext context) { return std::erase(contexts(), as_context(context)), CUDA_SUCCESS; }
CUresult cuCtxGetCurrent(CUcontext* context) { return *context = as_handle(current()), CUDA_SUCCESS; }
CUresult cuCtxSetCurrent(CUcontext context) {
  if (!contexts().empty()) contexts().pop_back();
  if (context) contexts().push_back(as_context(context));
  return CUDA_SUCCESS;
}
CUresult cuCtxPushCurrent_v2(CUcontext context) {
  if (!context) return CUDA_ERROR_INVALID_CONTEXT;
  return contexts().push_back(as_context(context)), CUDA_SUCCESS;
}
CUresult cuCtxPopCurrent_v2(CUcontext* context) {
  if (!current()) return CUDA_ERROR_INVALID_CONTEXT;
  if (context) *context = as_handle(current());
  return contexts().pop_back(), CUDA_SUCCESS;
}
CUresult cuCtxGetDevice(CUdevice* device) {
  return current() ? (*device = current()->device, CUDA_SUCCESS) : CUDA_ERROR_INVALID_CONTEXT;
}
CUresult cuCtxGetFlags(unsigned* flags) {
  return current() ? (*flags = current()->flags, CUDA_SUCCESS) : CUDA_ERROR_INVALID_CONTEXT;
}
CUresult cuCtxGetId(CUcontext context, unsigned long long* id) {
  const Context* const its = context ? as_context(context) : current();
  return its ? (*id = reinterpret_cast<std::uintptr_t>(its), CUDA_SUCCESS) : CUDA_ERROR_INVALID_CONTEXT;
}
CUresult cuCtxGetApiVersion(CUcontext, unsigned* version) { return *version = 3020, CUDA_SUCCESS; }
CUresult cuCtxGetCacheConfig(CUfunc_cache* config) { return *config = CU_FUNC_CACHE_PREFER_NONE, CUDA_SUCCESS; }
CUresult cuCtxSetCacheConfig(CUfunc_cache) { return CUDA_SUCCESS; }
CUresult cuCtxResetPersistingL2Cache() { return CUDA_SUCCESS; }
CUresult cuCtxSynchronize() {
  if (const CUresult wrong = standing(); wrong != CUDA_SUCCESS) return wrong;
  return synchronize(current()->device);
}
CUresult cuCtxSynchronize_v2(CUcontext context) {
  return context ? synchronize(as_context(context)->device) : cuCtxSynchronize();
}

// A kernel's stack, heap and output have what room they need; the limits are kept for who asks.
CUresult cuCtxSetLimit(CUlimit limit, size_t value) {
  if (!current()) return CUDA_ERROR_INVALID_CONTEXT;
  const Guard guard(state().mutex);
  current()->limits[limit] = value;
  count("limit " + std::to_string(limit) + " of " + std::to_string(current()->device) + " is " + std::to_string(value));
  return CUDA_SUCCESS;
}
CUresult cuCtxGetLimit(size_t* value, CUlimit limit) {
  if (!current()) return CUDA_ERROR_INVALID_CONTEXT;
  const Guard guard(state().mutex);
  const auto found = current()->limits.find(limit);
  return *value = found == current()->limits.end() ? limit_of(limit) : found->second, CUDA_SUCCESS;
}

CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned) {
  if (!current() || !peer) return CUDA_ERROR_INVALID_CONTEXT;
  const int its = as_context(peer)->device;
  if (its == current()->device) return CUDA_ERROR_INVALID_DEVICE;
  const std::lock_guard guard(state().memory_mutex);
  // Kernels are the device's, whichever context launches them.
  bool& reaches = device_at(current()->device).primary.reaches[static_cast<std::size_t>(its)];
  if (reaches) return CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
  return reaches = true, CUDA_SUCCESS;
}
CUresult cuCtxDisablePeerAccess(CUcontext peer) {
  if (!current() || !peer) return CUDA_ERROR_INVALID_CONTEXT;
  const std::lock_guard guard(state().memory_mutex);
  bool& reaches = device_at(current()->device).primary.reaches[static_cast<std::size_t>(as_context(peer)->device)];
  if (!reaches) return CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
  return reaches = false, CUDA_SUCCESS;
}

CUresult cuProfilerStart() { return CUDA_SUCCESS; }
CUresult cuProfilerStop() { return CUDA_SUCCESS; }

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
