#include "vgpu/src/driver/real.hpp"

#include <dlfcn.h>

#include <cstring>
#include <string_view>

namespace dcgn::virtual_gpu::driver {

namespace {

using Dlopen = void*(const char*, int);

Dlopen* real_dlopen() {
  static auto* const found = reinterpret_cast<Dlopen*>(dlsym(RTLD_NEXT, "dlopen"));
  return found;
}

const char* own_path() {
  static const char* const path = [] {
    Dl_info own{};
    return dladdr(reinterpret_cast<const void*>(&own_path), &own) ? own.dli_fname : nullptr;
  }();
  return path;
}

CUresult missing() { return CUDA_ERROR_NOT_FOUND; }

bool is_driver(const char* name) {
  if (!name) return false;
  std::string_view text(name);
  if (const std::size_t slash = text.rfind('/'); slash != std::string_view::npos) text.remove_prefix(slash + 1);
  return text == "libcuda.so.1" || text == "libcuda.so";
}

}  // namespace

void* real_library() {
  static void* const library = real_dlopen()("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
  return library;
}

void* real_function(const char* name) { return real_library() ? dlsym(real_library(), name) : nullptr; }

void* real_or_missing(const char* name) {
  void* const found = real_function(name);
  return found ? found : reinterpret_cast<void*>(&missing);
}

}  // namespace dcgn::virtual_gpu::driver

// CUDA's runtime, linked into the program or not, and others find the driver by dlopen(). They get this library, by
// which dlsym() finds all that the driver has as well, as this library needs it. The real one goes by the folders of
// its caller: hence the calls that are jumps, which they are where this file is optimized.
extern "C" void* dlopen(const char* name, int mode) {
  using namespace dcgn::virtual_gpu::driver;
  return real_dlopen()(is_driver(name) && own_path() ? own_path() : name, mode);
}
