#include "gpu_stream.hpp"

#include <dcgn/error.hpp>

#include <dlfcn.h>

#include <string>

namespace dcgn::python {

void synchronize_stream(std::uintptr_t stream) {
  static void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  static auto* const synchronize =
      reinterpret_cast<int (*)(void*)>(driver ? dlsym(driver, "cuStreamSynchronize") : nullptr);
  if (!synchronize)
    throw Error(Code::device, "stream", "an array names a stream, expected libcuda.so.1, which cannot be loaded");
  if (const int result = synchronize(reinterpret_cast<void*>(stream)))
    throw Error(Code::device, "stream", "cuStreamSynchronize failed with CUresult " + std::to_string(result));
}

}  // namespace dcgn::python
