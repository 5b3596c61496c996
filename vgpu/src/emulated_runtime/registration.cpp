// The program's code, which its object files register before main() begins.
#include "vgpu/src/emulated_runtime/runtime.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace dcgn::virtual_gpu::emulated_runtime {

namespace {

struct Binary {
  const void* image = nullptr;
  CUlibrary library = nullptr;
  cudaError_t error = cudaSuccess;  // of loading it
  bool tried = false, ended = false;
};
struct Named {
  Binary* binary = nullptr;
  std::string name;
  std::size_t bytes = 0;
  CUkernel kernel = nullptr;    // once it was asked for
  void** host_place = nullptr;  // of a managed variable: where the host has its address
};

struct Registry {
  std::recursive_mutex mutex;
  std::vector<std::unique_ptr<Binary>> binaries;
  std::map<const void*, Named> kernels, variables;
  std::vector<Named> managed;
  std::set<const void*> handles;  // of kernels, which calls take in place of the host's functions
};
// Made at the first call and never destroyed: programs end what they have registered at their very end.
Registry& registry() {
  static Registry& all = *new Registry();
  return all;
}
using Lock = std::lock_guard<std::recursive_mutex>;

cudaError_t load(Binary& binary) {
  if (binary.tried) return binary.error;
  if (const cudaError_t wrong = prepare(); wrong != cudaSuccess) return wrong;
  binary.tried = true;
  CUlibraryOption options[] = {CU_LIBRARY_BINARY_IS_PRESERVED};
  void* values[] = {reinterpret_cast<void*>(std::uintptr_t{1})};
  binary.error =
      error_of(DCGN_DRIVER(cuLibraryLoadData)(&binary.library, binary.image, nullptr, nullptr, 0, options, values, 1));
  return binary.error;
}

cudaError_t variable_of(void*& address, std::size_t& bytes, const Named& variable) {
  if (const cudaError_t wrong = load(*variable.binary); wrong != cudaSuccess) return wrong;
  CUdeviceptr its = 0;
  const CUresult result =
      DCGN_DRIVER(cuLibraryGetGlobal)(&its, &bytes, variable.binary->library, variable.name.c_str());
  address = reinterpret_cast<void*>(its);
  return result == CUDA_ERROR_NOT_FOUND ? cudaErrorInvalidSymbol : error_of(result);
}

Binary& binary_of(void** handle) { return *reinterpret_cast<Binary*>(handle); }

struct Configuration {
  dim3 grid, block;
  std::size_t shared_bytes;
  cudaStream_t stream;
};
std::vector<Configuration>& configurations() {
  thread_local std::vector<Configuration> all;
  return all;
}

}  // namespace

cudaError_t find_kernel(CUkernel& kernel, const void* function) {
  const Lock lock(registry().mutex);
  const auto found = registry().kernels.find(function);
  kernel = nullptr;
  if (found == registry().kernels.end()) return cudaErrorInvalidDeviceFunction;
  Named& its = found->second;
  if (!its.kernel) {
    if (const cudaError_t wrong = load(*its.binary); wrong != cudaSuccess) return wrong;
    const CUresult result = DCGN_DRIVER(cuLibraryGetKernel)(&its.kernel, its.binary->library, its.name.c_str());
    if (result != CUDA_SUCCESS)
      return result == CUDA_ERROR_NOT_FOUND ? cudaErrorInvalidDeviceFunction : error_of(result);
    registry().handles.insert(its.kernel);
  }
  return kernel = its.kernel, cudaSuccess;
}

cudaError_t find_function(CUfunction& found, const void* function) {
  if (const cudaError_t wrong = prepare(); wrong != cudaSuccess) return wrong;
  const Lock lock(registry().mutex);
  if (registry().handles.count(function) != 0)
    return found = reinterpret_cast<CUfunction>(const_cast<void*>(function)), cudaSuccess;
  CUkernel kernel = nullptr;
  const cudaError_t wrong = find_kernel(kernel, function);
  found = reinterpret_cast<CUfunction>(kernel);
  return wrong;
}

cudaError_t find_variable(void*& address, std::size_t& bytes, const void* symbol) {
  if (const cudaError_t wrong = prepare(); wrong != cudaSuccess) return wrong;
  const Lock lock(registry().mutex);
  const auto found = registry().variables.find(symbol);
  return found == registry().variables.end() ? cudaErrorInvalidSymbol : variable_of(address, bytes, found->second);
}

}  // namespace dcgn::virtual_gpu::emulated_runtime

using namespace dcgn::virtual_gpu::emulated_runtime;

// NOLINTBEGIN(readability-identifier-naming, bugprone-reserved-identifier): CUDA's names
extern "C" {

void** __cudaRegisterFatBinary(void* image) {
  const Lock lock(registry().mutex);
  auto& all = registry().binaries;
  all.push_back(std::make_unique<Binary>());
  all.back()->image = image;
  return reinterpret_cast<void**>(all.back().get());
}
void __cudaRegisterFatBinaryEnd(void** handle) { binary_of(handle).ended = true; }
// Its code stays: what the program has launched may not be done.
void __cudaUnregisterFatBinary(void**) {}
void __cudaRegisterFunction(void** handle, const char* host, char*, const char* name, int, uint3*, uint3*, dim3*, dim3*,
                            int*) {
  const Lock lock(registry().mutex);
  Named its;
  its.binary = &binary_of(handle);
  its.name = name;
  registry().kernels[host] = its;
}
void __cudaRegisterVar(void** handle, char* host, char*, const char* name, int, size_t bytes, int, int) {
  const Lock lock(registry().mutex);
  Named its;
  its.binary = &binary_of(handle);
  its.name = name;
  its.bytes = bytes;
  registry().variables[host] = its;
}
void __cudaRegisterManagedVar(void** handle, void** host, char*, const char* name, int, size_t bytes, int, int) {
  const Lock lock(registry().mutex);
  Named its;
  its.binary = &binary_of(handle);
  its.name = name;
  its.bytes = bytes;
  its.host_place = host;
  registry().variables[host] = its;
  registry().managed.push_back(its);
}
void __cudaRegisterHostVar(void**, const char*, char*, size_t) {}
void __cudaRegisterUnifiedTable(void**, void*) {}
// Before the host uses a managed variable first: it has them by address.
char __cudaInitModule(void** handle) {
  const Lock lock(registry().mutex);
  for (const Named& its : registry().managed) {
    if (its.binary != &binary_of(handle)) continue;
    void* address = nullptr;
    std::size_t bytes = 0;
    if (keep(variable_of(address, bytes, its)) == cudaSuccess) *its.host_place = address;
  }
  return 1;
}

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, CUstream_st* stream) {
  configurations().push_back({grid, block, shared, stream});
  return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared, void* stream) {
  if (configurations().empty()) return keep(cudaErrorMissingConfiguration);
  const Configuration& last = configurations().back();
  *grid = last.grid;
  *block = last.block;
  *shared = last.shared_bytes;
  *static_cast<cudaStream_t*>(stream) = last.stream;
  return configurations().pop_back(), cudaSuccess;
}
cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* function) {
  if (const cudaError_t wrong = prepare(); wrong != cudaSuccess) return *kernel = nullptr, keep(wrong);
  return keep(find_kernel(*kernel, function));
}
cudaError_t cudaGetKernel(cudaKernel_t* kernel, const void* function) { return __cudaGetKernel(kernel, function); }
cudaError_t cudaGetFuncBySymbol(cudaFunction_t* function, const void* symbol) {
  cudaKernel_t kernel = nullptr;
  const cudaError_t wrong = __cudaGetKernel(&kernel, symbol);
  return wrong == cudaSuccess ? DCGN_CALL(cuKernelGetFunction, function, kernel) : wrong;
}

cudaError_t cudaGetSymbolAddress(void** address, const void* symbol) {
  std::size_t bytes = 0;
  return keep(find_variable(*address, bytes, symbol));
}
cudaError_t cudaGetSymbolSize(size_t* bytes, const void* symbol) {
  void* address = nullptr;
  return keep(find_variable(address, *bytes, symbol));
}

cudaError_t cudaLibraryLoadData(cudaLibrary_t* library, const void* code, cudaJitOption* jit, void** jit_values,
                                unsigned jits, cudaLibraryOption* options, void** values, unsigned count) {
  return DCGN_CALL(cuLibraryLoadData, library, code, reinterpret_cast<CUjit_option*>(jit), jit_values, jits,
                   reinterpret_cast<CUlibraryOption*>(options), values, count);
}
cudaError_t cudaLibraryLoadFromFile(cudaLibrary_t* library, const char* path, cudaJitOption* jit, void** jit_values,
                                    unsigned jits, cudaLibraryOption* options, void** values, unsigned count) {
  return DCGN_CALL(cuLibraryLoadFromFile, library, path, reinterpret_cast<CUjit_option*>(jit), jit_values, jits,
                   reinterpret_cast<CUlibraryOption*>(options), values, count);
}
cudaError_t cudaLibraryUnload(cudaLibrary_t library) { return DCGN_CALL(cuLibraryUnload, library); }
cudaError_t cudaLibraryGetKernel(cudaKernel_t* kernel, cudaLibrary_t library, const char* name) {
  const cudaError_t result = DCGN_CALL(cuLibraryGetKernel, kernel, library, name);
  const Lock lock(registry().mutex);
  if (result == cudaSuccess) registry().handles.insert(*kernel);
  return result;
}
cudaError_t cudaLibraryGetGlobal(void** address, size_t* bytes, cudaLibrary_t library, const char* name) {
  return DCGN_CALL(cuLibraryGetGlobal, reinterpret_cast<CUdeviceptr*>(address), bytes, library, name);
}
cudaError_t cudaLibraryGetManaged(void** address, size_t* bytes, cudaLibrary_t library, const char* name) {
  return DCGN_CALL(cuLibraryGetManaged, reinterpret_cast<CUdeviceptr*>(address), bytes, library, name);
}
cudaError_t cudaLibraryGetKernelCount(unsigned* count, cudaLibrary_t library) {
  return DCGN_CALL(cuLibraryGetKernelCount, count, library);
}
cudaError_t cudaLibraryEnumerateKernels(cudaKernel_t* kernels, unsigned count, cudaLibrary_t library) {
  const cudaError_t result = DCGN_CALL(cuLibraryEnumerateKernels, kernels, count, library);
  const Lock lock(registry().mutex);
  for (unsigned i = 0; result == cudaSuccess && i < count; ++i) registry().handles.insert(kernels[i]);
  return result;
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming, bugprone-reserved-identifier)
