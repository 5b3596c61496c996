// A kernel that is compiled when the program runs, and the CUDA driver found as the runtime finds it.
#include <cuda.h>
#include <dlfcn.h>
#include <nvrtc.h>

#include <cstdio>
#include <string>
#include <vector>

namespace {

const char* const text =
    "extern \"C\" __global__ void square(unsigned* data) {\n"
    "  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "  data[i] *= data[i];\n"
    "}\n";

template <class Function>
Function* find(void* library, const char* name) {
  return reinterpret_cast<Function*>(dlsym(library, name));
}

}  // namespace

int main() {
  nvrtcProgram program = nullptr;
  const char* const options[] = {"--gpu-architecture=compute_80"};
  std::size_t bytes = 0;
  if (nvrtcCreateProgram(&program, text, "square.cu", 0, nullptr, nullptr) != NVRTC_SUCCESS ||
      nvrtcCompileProgram(program, 1, options) != NVRTC_SUCCESS || nvrtcGetPTXSize(program, &bytes) != NVRTC_SUCCESS)
    return std::printf("not compiled\n"), 1;
  std::string ptx(bytes, '\0');
  if (nvrtcGetPTX(program, ptx.data()) != NVRTC_SUCCESS) return 1;

  void* const library = dlopen("libcuda.so.1", RTLD_NOW);
  if (!library) return std::printf("no driver\n"), 1;
  const auto check = [](CUresult result, const char* what) {
    if (result != CUDA_SUCCESS) std::printf("%s: %d\n", what, static_cast<int>(result));
  };
  constexpr unsigned n = 1 << 22;
  CUdevice device = 0;
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  CUdeviceptr data = 0;
  std::vector<unsigned> values(n);
  for (unsigned i = 0; i < n; ++i) values[i] = i;
  check(find<decltype(cuInit)>(library, "cuInit")(0), "cuInit");
  check(find<decltype(cuDeviceGet)>(library, "cuDeviceGet")(&device, 0), "cuDeviceGet");
  check(find<decltype(cuDevicePrimaryCtxRetain)>(library, "cuDevicePrimaryCtxRetain")(&context, device), "retain");
  check(find<decltype(cuCtxSetCurrent)>(library, "cuCtxSetCurrent")(context), "cuCtxSetCurrent");
  check(find<decltype(cuModuleLoadData)>(library, "cuModuleLoadData")(&module, ptx.c_str()), "cuModuleLoadData");
  check(find<decltype(cuModuleGetFunction)>(library, "cuModuleGetFunction")(&function, module, "square"), "function");
  check(find<decltype(cuMemAlloc)>(library, "cuMemAlloc_v2")(&data, n * sizeof(unsigned)), "cuMemAlloc");
  check(find<decltype(cuMemcpyHtoD)>(library, "cuMemcpyHtoD_v2")(data, values.data(), n * sizeof(unsigned)), "copy");
  void* places[] = {&data};
  check(find<decltype(cuLaunchKernel)>(library, "cuLaunchKernel")(function, n / 256, 1, 1, 256, 1, 1, 0, nullptr,
                                                                  places, nullptr),
        "launch");
  check(find<decltype(cuMemcpyDtoH)>(library, "cuMemcpyDtoH_v2")(values.data(), data, n * sizeof(unsigned)), "copy");
  for (unsigned i = 0; i < n; ++i)
    if (values[i] != i * i) return std::printf("wrong at %u\n", i), 1;
  std::printf("square %u\n", values[n - 1]);
  return 0;
}
