// What the workloads use of dcgn::VirtualGpu, over the driver's calls for one GPU: so that they are programs which know
// of one, and `dcgn vgpu run` has to split them.
#pragma once

#include <dcgn/error.hpp>
#include <dcgn/launch.hpp>

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

namespace dcgn {

enum class DeviceKind { cuda, emulated };

namespace virtual_gpu {

inline void check(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  const char* name = nullptr;
  cuGetErrorName(result, &name);
  std::printf("%s: %s\n", what, name ? name : "an unknown error");
  std::exit(1);
}
inline CUdeviceptr address_of(const void* memory) { return reinterpret_cast<CUdeviceptr>(memory); }

struct Placement {};
struct Kernel {
  CUfunction function;
};

class Module {
 public:
  explicit Module(const std::string& ptx) { check(cuModuleLoadData(&module_, ptx.c_str()), "a module"); }
  Kernel kernel(const char* name) const {
    Kernel found{};
    check(cuModuleGetFunction(&found.function, module_, name), name);
    return found;
  }
  void* address(const char* variable) const {
    CUdeviceptr found = 0;
    check(cuModuleGetGlobal(&found, nullptr, module_, variable), variable);
    return reinterpret_cast<void*>(found);
  }
  void write(const char* variable, const void* from, std::size_t bytes) const {
    check(cuMemcpyHtoD(address_of(address(variable)), from, bytes), variable);
  }

 private:
  CUmodule module_ = nullptr;
};

class Stream {
 public:
  Stream() { check(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING), "a stream"); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() { cuStreamDestroy(stream_); }
  void synchronize() { check(cuStreamSynchronize(stream_), "a wait for a stream"); }
  CUstream get() const { return stream_; }

 private:
  CUstream stream_ = nullptr;
};

struct Graph {
  std::function<void(Stream&)> work;
};

}  // namespace virtual_gpu

class VirtualGpu {
 public:
  using Stream = virtual_gpu::Stream;
  struct OneDevice {
    DeviceKind kind() const { return DeviceKind::emulated; }  // PTX will do
  };

  VirtualGpu() {
    CUcontext context = nullptr;
    virtual_gpu::check(cuInit(0), "the driver");
    virtual_gpu::check(cuDevicePrimaryCtxRetain(&context, 0), "a context");
    virtual_gpu::check(cuCtxSetCurrent(context), "a context");
  }
  OneDevice device(int) const { return {}; }
  virtual_gpu::Module load_ptx(const std::string&, const std::string& text) { return virtual_gpu::Module(text); }
  virtual_gpu::Module load_source(const std::string&, const std::string& text) { return virtual_gpu::Module(text); }

  void* allocate(std::size_t bytes) {
    CUdeviceptr memory = 0;
    virtual_gpu::check(cuMemAlloc(&memory, bytes), "memory");
    return reinterpret_cast<void*>(memory);
  }
  void free(void* memory) { virtual_gpu::check(cuMemFree(virtual_gpu::address_of(memory)), "a free"); }
  void copy(void* to, const void* from, std::size_t bytes) {
    const Stream stream;
    copy(stream, to, from, bytes);
    virtual_gpu::check(cuStreamSynchronize(stream.get()), "a copy");
  }
  void copy(const Stream& stream, void* to, const void* from, std::size_t bytes) {
    const CUdeviceptr its_to = virtual_gpu::address_of(to), its_from = virtual_gpu::address_of(from);
    virtual_gpu::check(cuMemcpyAsync(its_to, its_from, bytes, stream.get()), "a copy");
  }
  void fill(void* to, int byte, std::size_t bytes) {
    const Stream stream;
    fill(stream, to, byte, bytes);
    virtual_gpu::check(cuStreamSynchronize(stream.get()), "a fill");
  }
  void fill(const Stream& stream, void* to, int byte, std::size_t bytes) {
    const auto value = static_cast<unsigned char>(byte);
    virtual_gpu::check(cuMemsetD8Async(virtual_gpu::address_of(to), value, bytes, stream.get()), "a fill");
  }
  template <class... Args>
  void launch(const Stream& stream, const virtual_gpu::Kernel& kernel, const Launch& shape, const Args&... args) {
    const void* places[] = {static_cast<const void*>(&args)...};
    const Dim3 grid = shape.grid, block = shape.block;
    virtual_gpu::check(
        cuLaunchKernel(kernel.function, grid.x, grid.y, grid.z, block.x, block.y, block.z,
                       static_cast<unsigned>(shape.shared_bytes), stream.get(), const_cast<void**>(places), nullptr),
        "a launch");
  }

  virtual_gpu::Graph record(const std::function<void(Stream&)>& work) const { return {work}; }
  void launch(Stream& stream, const virtual_gpu::Graph& graph) const { graph.work(stream); }

  // Of one GPU there is nothing to choose.
  template <class... Args>
  std::vector<virtual_gpu::Placement> sample(const std::vector<void*>& buffers, const Args&...) const {
    return std::vector<virtual_gpu::Placement>(buffers.size());
  }
  void place(void*, const virtual_gpu::Placement&) const {}
};

}  // namespace dcgn
