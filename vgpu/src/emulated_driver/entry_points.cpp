// How a program finds the driver's calls, and what its errors are called.
#include "vgpu/src/emulated_driver/driver.hpp"
#include "vgpu/src/names_of_errors.hpp"

#include <dlfcn.h>
#include <link.h>

#include <string>

namespace {

// Not by dlopen(): who stands in front of this library answers to that. A handle is glibc's map of the library.
void* own_library() {
  static void* const library = [] {
    Dl_info own{};
    void* map = nullptr;
    return dladdr1(reinterpret_cast<const void*>(&own_library), &own, &map, RTLD_DL_LINKMAP) ? map : nullptr;
  }();
  return library;
}

// The newest form there is, of the thread's own stream where that is asked for.
void* find(const std::string& name, int version, bool own_thread) {
  // Its second form has a parameter and came late, so that programs which ask for the first are about.
  if (name == "cuCtxSynchronize" && version < 13000) return dlsym(own_library(), name.c_str());
  if (own_thread)
    for (const char* end : {"_v3_ptsz", "_v3_ptds", "_v2_ptsz", "_v2_ptds", "_ptsz", "_ptds"})
      if (void* const found = dlsym(own_library(), (name + end).c_str())) return found;
  for (const char* end : {"_v4", "_v3", "_v2", ""})
    if (void* const found = dlsym(own_library(), (name + end).c_str())) return found;
  return nullptr;
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): the driver's names
extern "C" {

CUresult cuGetProcAddress_v2(const char* name, void** function, int version, cuuint64_t flags,
                             CUdriverProcAddressQueryResult* status) {
  if (!name || !function) return CUDA_ERROR_INVALID_VALUE;
  *function = find(name, version, (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0);
  if (status) *status = *function ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  return *function ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
#undef cuGetProcAddress  // the form without a status
CUresult cuGetProcAddress(const char* name, void** function, int version, cuuint64_t flags) {
  return cuGetProcAddress_v2(name, function, version, flags, nullptr);
}
CUresult cuGetExportTable(const void**, const CUuuid*) { return CUDA_ERROR_NOT_SUPPORTED; }

CUresult cuGetErrorName(CUresult error, const char** name) {
  for (const auto& one : dcgn::virtual_gpu::names_of_driver_errors)
    if (one.number == error) return *name = one.name, CUDA_SUCCESS;
  return *name = nullptr, CUDA_ERROR_INVALID_VALUE;
}
CUresult cuGetErrorString(CUresult error, const char** text) {
  if (const char* const said = dcgn::virtual_gpu::text_of_error(error)) return *text = said, CUDA_SUCCESS;
  return cuGetErrorName(error, text);
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
