#include "pixels/src/interop.hpp"

#include "pixels/src/fence.hpp"
#include "pixels/src/gl.hpp"

#include <dcgn/comm.hpp>
#include <dcgn/error.hpp>

#include <dlfcn.h>

#include <utility>

namespace dcgn::pixels {

namespace {

// What is used of the CUDA driver, as cuda.h and cudaGL.h declare it: this is compiled where there is no CUDA, too.
struct Cuda {
  using Resource = void*;
  int (*init)(unsigned) = nullptr;
  int (*gl_get_devices)(unsigned*, int*, unsigned, int) = nullptr;
  int (*primary_context)(void**, int) = nullptr;
  int (*release_context)(int) = nullptr;
  int (*push_context)(void*) = nullptr;
  int (*pop_context)(void**) = nullptr;
  int (*register_buffer)(Resource*, unsigned, unsigned) = nullptr;
  int (*unregister)(Resource) = nullptr;
  int (*map)(unsigned, Resource*, void*) = nullptr;
  int (*unmap)(unsigned, Resource*, void*) = nullptr;
  int (*pointer)(std::uintptr_t*, std::size_t*, Resource) = nullptr;
  bool is_there = false;

  Cuda() {
    void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) return;
    is_there = true;
    find(library, "cuInit", init);
    find(library, "cuGLGetDevices_v2", gl_get_devices);
    find(library, "cuDevicePrimaryCtxRetain", primary_context);
    find(library, "cuDevicePrimaryCtxRelease_v2", release_context);
    find(library, "cuCtxPushCurrent_v2", push_context);
    find(library, "cuCtxPopCurrent_v2", pop_context);
    find(library, "cuGraphicsGLRegisterBuffer", register_buffer);
    find(library, "cuGraphicsUnregisterResource", unregister);
    find(library, "cuGraphicsMapResources", map);
    find(library, "cuGraphicsUnmapResources", unmap);
    find(library, "cuGraphicsResourceGetMappedPointer_v2", pointer);
  }

 private:
  template <class Function>
  void find(void* library, const char* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(library, name));
    is_there = is_there && function;
  }
};

const Cuda& cuda() {
  static const Cuda driver;
  return driver;
}

void check_cuda(int result, const char* operation, const char* call) {
  if (result != 0)
    throw Error(Code::device, operation,
                std::string(call) + " failed with the driver's error " + std::to_string(result));
}

// The CUDA device that the current context draws with; -1 where it is none.
int device_of_context() {
  if (!cuda().is_there || cuda().init(0) != 0) return -1;
  constexpr int all_devices = 1;
  unsigned count = 0;
  int device = -1;
  return cuda().gl_get_devices(&count, &device, 1, all_devices) == 0 && count > 0 ? device : -1;
}

// A device's primary context, which the CUDA runtime uses, current on this thread.
class Current {
 public:
  Current(const char* operation, int device) : device_(device) {
    void* context = nullptr;
    check_cuda(cuda().primary_context(&context, device), operation, "cuDevicePrimaryCtxRetain");
    pushed_ = cuda().push_context(context) == 0;
  }
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;
  ~Current() {
    void* popped = nullptr;
    if (pushed_) static_cast<void>(cuda().pop_context(&popped));
    static_cast<void>(cuda().release_context(device_));  // the runtime keeps it
  }

 private:
  int device_;
  bool pushed_ = false;
};

// What GL has in a pixel buffer object is copied, on the device, to memory of the device's own: that is what others
// reach over links, and other processes open; such a copy takes a tenth of what a link does.
class InteropStaging final : public Staging {
 public:
  InteropStaging(const char* operation, std::int64_t capacity, int device, ShaderCopier& copier)
      : Staging(capacity), copier_(copier), device_(device), memory_(device_, static_cast<std::size_t>(capacity)) {
    GLuint name = 0;
    gl().create_buffers(1, &name);
    buffer_ = Owned(name, gl().delete_buffers);
    gl().named_buffer_storage(name, capacity, nullptr, 0);
    check_error(operation, "a pixel buffer object of " + std::to_string(capacity) + " bytes", Code::out_of_resources);
    const Current current(operation, device_.index());
    check_cuda(cuda().register_buffer(&resource_, name, 0), operation, "cuGraphicsGLRegisterBuffer");
    try {
      with_mapped(operation, [](void*) {});  // where that cannot be, another path is taken
    } catch (const Error&) {
      unregister();
      throw;
    }
  }
  ~InteropStaging() override { unregister(); }

  void begin_read(const char* operation, const Checked& pixels) override {
    read_image_to_buffer(operation, pixels, buffer_.name(), copier_);
    bytes_ = pixels.bytes();
    fence_.set();
  }
  bool ready(std::uint64_t wait_ns) override {
    if (!fence_.passed("pixels::read", wait_ns)) return false;
    if (bytes_ > 0)
      with_mapped("pixels::read", [&](const void* mapped) {
        device_.copy(stream_, memory_.data(), mapped, static_cast<std::size_t>(bytes_));
      });
    bytes_ = 0;
    return true;
  }
  std::byte* memory() override { return memory_.data(); }
  std::byte* to_fill(const char*, std::uint64_t) override { return memory_.data(); }
  void finish_write(const char* operation, const Checked& pixels) override {
    if (pixels.bytes() == 0) return;
    with_mapped(operation, [&](void* mapped) {
      device_.copy(stream_, mapped, memory_.data(), static_cast<std::size_t>(pixels.bytes()));
    });
    write_image_from_buffer(operation, pixels, buffer_.name(), copier_);
  }

 private:
  void unregister() noexcept {
    if (!resource_ || !current_context()) return;
    try {
      const Current current("pixels::interop", device_.index());
      static_cast<void>(cuda().unregister(resource_));
    } catch (const Error&) {  // a device that has faulted; that was reported where it was met
    }
  }

  // What `act` gives the stream is done then. The stream waits for GL's work so far, and for nobody's kernels.
  template <class Act>
  void with_mapped(const char* operation, const Act& act) {
    const Current current(operation, device_.index());
    check_cuda(cuda().map(1, &resource_, stream_.native()), operation, "cuGraphicsMapResources");
    std::uintptr_t address = 0;
    std::size_t bytes = 0;
    const int found = cuda().pointer(&address, &bytes, resource_);
    if (found == 0) act(reinterpret_cast<void*>(address));
    const int unmapped = cuda().unmap(1, &resource_, stream_.native());
    check_cuda(found, operation, "cuGraphicsResourceGetMappedPointer");
    check_cuda(unmapped, operation, "cuGraphicsUnmapResources");
    stream_.synchronize();
  }

  ShaderCopier& copier_;
  Device device_;
  Stream stream_{device_};
  DeviceBuffer<std::byte> memory_;
  Owned buffer_;
  Cuda::Resource resource_ = nullptr;
  std::int64_t bytes_ = 0;  // that are still in the pixel buffer object
  Fence fence_;
};

}  // namespace

std::string interop_refusal(const Comm& comm) {
  if (Device::count() == 0 || Device(0).kind() != DeviceKind::cuda) return "Decagon drives no CUDA device here";
  const int device = device_of_context();
  if (device < 0 || device >= Device::count()) return "the context draws with no CUDA device";
  if (!comm.reaches(Device(device)))
    return "the context draws with GPU " + std::to_string(device) + ", which is none of this process's in the job";
  try {
    ShaderCopier copier(ShaderCopier::Buffers::on_gpu);
    static_cast<void>(make_interop_staging("pixels::interop", 4096, copier));
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

std::unique_ptr<Staging> make_interop_staging(const char* operation, std::int64_t capacity, ShaderCopier& copier) {
  return std::make_unique<InteropStaging>(operation, capacity, device_of_context(), copier);
}

}  // namespace dcgn::pixels
