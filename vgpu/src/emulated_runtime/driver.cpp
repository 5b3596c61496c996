// The driver's functions, the calling thread's device, and errors.
#include "vgpu/src/emulated_runtime/runtime.hpp"
#include "vgpu/src/names_of_errors.hpp"

#include <dlfcn.h>

#include <string>

namespace dcgn::virtual_gpu::emulated_runtime {

namespace {

thread_local cudaError_t last_error = cudaSuccess;
thread_local int device_of_thread = 0;

// What a kernel leaves behind: every later call returns it.
bool is_lasting(cudaError_t error) {
  switch (error) {
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorMisalignedAddress:
    case cudaErrorLaunchFailure: return true;
    default: return false;
  }
}

using Get = CUresult(const char*, void**, int, cuuint64_t, CUdriverProcAddressQueryResult*);

Get* entry_point() {
  static Get* const found = [] {
    void* const library = dlopen("libcuda.so.1", RTLD_NOW);
    return library ? reinterpret_cast<Get*>(dlsym(library, "cuGetProcAddress_v2")) : nullptr;
  }();
  return found;
}

cudaError_t start() {
  static const cudaError_t started = [] {
    if (!entry_point()) return cudaErrorInsufficientDriver;
    return error_of(DCGN_DRIVER(cuInit)(0));
  }();
  return started;
}

}  // namespace

// By its name without a version, as the driver's table has it: `name` is what cuda.h made of it.
void* driver_function(const char* name) {
  std::string plain(name);
  if (plain.size() > 3 && plain.compare(plain.size() - 3, 2, "_v") == 0) plain.resize(plain.size() - 3);
  void* function = nullptr;
  if (!entry_point() || entry_point()(plain.c_str(), &function, CUDART_VERSION, 0, nullptr) != CUDA_SUCCESS)
    return nullptr;
  return function;
}

cudaError_t keep(cudaError_t result) {
  if (result != cudaSuccess && result != cudaErrorNotReady) last_error = result;
  return result;
}

cudaError_t prepare() {
  if (const cudaError_t wrong = start(); wrong != cudaSuccess) return wrong;
  CUcontext context = nullptr;
  CUresult result = DCGN_DRIVER(cuCtxGetCurrent)(&context);
  if (result != CUDA_SUCCESS || context) return error_of(result);
  result = DCGN_DRIVER(cuDevicePrimaryCtxRetain)(&context, device_of_thread);
  return error_of(result == CUDA_SUCCESS ? DCGN_DRIVER(cuCtxSetCurrent)(context) : result);
}

}  // namespace dcgn::virtual_gpu::emulated_runtime

using namespace dcgn::virtual_gpu::emulated_runtime;

namespace {

// For calls that need the driver, but no device to be ready.
template <class Call>
cudaError_t started(const Call& call) {
  const cudaError_t wrong = start();
  return keep(wrong == cudaSuccess ? error_of(call()) : wrong);
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): CUDA's names
extern "C" {

cudaError_t cudaGetLastError() {
  const cudaError_t error = last_error;
  if (!is_lasting(error)) last_error = cudaSuccess;
  return error;
}
int dcgn_keep_error(int error) { return keep(static_cast<cudaError_t>(error)); }  // of what is not here
cudaError_t cudaPeekAtLastError() { return last_error; }
const char* cudaGetErrorName(cudaError_t error) {
  for (const auto& one : dcgn::virtual_gpu::names_of_runtime_errors)
    if (one.number == error) return one.name;
  return "unrecognized error code";
}
const char* cudaGetErrorString(cudaError_t error) {
  const char* const text = dcgn::virtual_gpu::text_of_error(error);
  return text ? text : cudaGetErrorName(error);
}

cudaError_t cudaGetDeviceCount(int* count) {
  const cudaError_t result = started([&] { return DCGN_DRIVER(cuDeviceGetCount)(count); });
  if (result != cudaSuccess) *count = 0;
  return result;
}
cudaError_t cudaSetDevice(int device) {
  return started([&] {
    CUcontext context = nullptr;
    const CUresult result = DCGN_DRIVER(cuDevicePrimaryCtxRetain)(&context, device);
    if (result != CUDA_SUCCESS) return result;
    device_of_thread = device;
    return DCGN_DRIVER(cuCtxSetCurrent)(context);
  });
}
cudaError_t cudaGetDevice(int* device) {
  return started([&] {
    if (DCGN_DRIVER(cuCtxGetDevice)(device) != CUDA_SUCCESS) *device = device_of_thread;
    return CUDA_SUCCESS;
  });
}
cudaError_t cudaInitDevice(int device, unsigned, unsigned) {
  return started([&] {
    CUcontext context = nullptr;
    return DCGN_DRIVER(cuDevicePrimaryCtxRetain)(&context, device);
  });
}
cudaError_t cudaSetValidDevices(int*, int) { return cudaSuccess; }
cudaError_t cudaChooseDevice(int* device, const cudaDeviceProp*) { return *device = 0, cudaSuccess; }
cudaError_t cudaSetDeviceFlags(unsigned flags) {
  return started([&] { return DCGN_DRIVER(cuDevicePrimaryCtxSetFlags)(device_of_thread, flags); });
}
cudaError_t cudaGetDeviceFlags(unsigned* flags) {
  int active = 0;
  return started([&] { return DCGN_DRIVER(cuDevicePrimaryCtxGetState)(device_of_thread, flags, &active); });
}
cudaError_t cudaDeviceReset() {
  return started([&] { return DCGN_DRIVER(cuDevicePrimaryCtxReset)(device_of_thread); });
}
cudaError_t cudaDeviceSynchronize() { return DCGN_CALL(cuCtxSynchronize_v2, nullptr); }

cudaError_t cudaDriverGetVersion(int* version) {
  return started([&] { return DCGN_DRIVER(cuDriverGetVersion)(version); });
}
cudaError_t cudaRuntimeGetVersion(int* version) { return *version = CUDART_VERSION, cudaSuccess; }
cudaError_t cudaProfilerStart() { return cudaSuccess; }
cudaError_t cudaProfilerStop() { return cudaSuccess; }

static cudaError_t entry_point_of(const char* name, void** function, unsigned version, unsigned long long flags,
                                  cudaDriverEntryPointQueryResult* status, bool own) {
  if (!name || !function) return keep(cudaErrorInvalidValue);
  if (const cudaError_t wrong = start(); wrong != cudaSuccess) return keep(wrong);
  if (own && flags == cudaEnableDefault) flags = cudaEnablePerThreadDefaultStream;
  *function = nullptr;
  static_cast<void>(entry_point()(name, function, static_cast<int>(version), flags, nullptr));
  if (status) *status = *function ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  return cudaSuccess;
}
DCGN_BOTH(cudaGetDriverEntryPoint, _ptsz,
          (const char* name, void** function, unsigned long long flags, cudaDriverEntryPointQueryResult* status),
          { return entry_point_of(name, function, CUDART_VERSION, flags, status, own); })
DCGN_BOTH(cudaGetDriverEntryPointByVersion, _ptsz,
          (const char* name, void** function, unsigned version, unsigned long long flags,
           cudaDriverEntryPointQueryResult* status),
          { return entry_point_of(name, function, version, flags, status, own); })
cudaError_t cudaGetExportTable(const void**, const cudaUUID_t*) { return keep(cudaErrorNotSupported); }

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
