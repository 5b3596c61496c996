// CUDA devices as Device knows them, by the driver alone: in a program that has a CUDA runtime of its own, this library
// brings no other. It takes the place of core/src/device/cuda/cuda_device.cpp, cuda_driver.cpp and
// cuda_copy_stream.cpp.
#include "device/backend.hpp"
#include "device/cuda/cuda_copy_stream.hpp"
#include "device/cuda/cuda_device.hpp"
#include "device/cuda/cuda_driver.hpp"
#include "device/emulated/emulated_device.hpp"
#include "vgpu/src/driver/program.hpp"
#include "vgpu/src/driver/real.hpp"
#include "vgpu/src/machine.hpp"

#include <dcgn/error.hpp>

#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace dcgn::device {

namespace {

Driver real_driver() {
  Driver d{};
  d.get_error_name = DCGN_REAL(cuGetErrorName);
  d.stream_write_value = DCGN_REAL_AS(decltype(cuStreamWriteValue32), "cuStreamWriteValue32_v2");
  d.context_get = DCGN_REAL(cuCtxGetCurrent);
  d.context_set = DCGN_REAL(cuCtxSetCurrent);
  d.device_get_attribute = DCGN_REAL(cuDeviceGetAttribute);
  d.pointer_attributes = DCGN_REAL(cuPointerGetAttributes);
  d.memory_granularity = DCGN_REAL(cuMemGetAllocationGranularity);
  d.address_reserve = DCGN_REAL(cuMemAddressReserve);
  d.address_free = DCGN_REAL(cuMemAddressFree);
  d.memory_create = DCGN_REAL(cuMemCreate);
  d.memory_release = DCGN_REAL(cuMemRelease);
  d.memory_map = DCGN_REAL(cuMemMap);
  d.memory_unmap = DCGN_REAL(cuMemUnmap);
  d.memory_set_access = DCGN_REAL(cuMemSetAccess);
  d.pool_get_access = DCGN_REAL(cuMemPoolGetAccess);
  d.module_load = DCGN_REAL(cuModuleLoadDataEx);
  d.module_unload = DCGN_REAL(cuModuleUnload);
  d.module_get_function = DCGN_REAL(cuModuleGetFunction);
  d.module_get_global = DCGN_REAL(cuModuleGetGlobal_v2);
  d.function_get_attribute = DCGN_REAL(cuFuncGetAttribute);
  d.function_set_attribute = DCGN_REAL(cuFuncSetAttribute);
  d.launch = DCGN_REAL(cuLaunchKernel);
  d.launch_cooperative = DCGN_REAL(cuLaunchCooperativeKernel);
  d.event_create = DCGN_REAL(cuEventCreate);
  d.event_destroy = DCGN_REAL(cuEventDestroy_v2);
  d.event_record = DCGN_REAL(cuEventRecord);
  d.event_query = DCGN_REAL(cuEventQuery);
  d.event_synchronize = DCGN_REAL(cuEventSynchronize);
  d.event_elapsed = DCGN_REAL_AS(decltype(cuEventElapsedTime), "cuEventElapsedTime");
  d.stream_wait = DCGN_REAL(cuStreamWaitEvent);
  return d;
}

void check(CUresult result, const char* operation, const char* call, int device, Code code = Code::device) {
  check_driver(result, operation, call, device, code);
}

int attribute(CUdevice_attribute which, int device) {
  int value = 0;
  check(driver().device_get_attribute(&value, which, device), "Device", "cuDeviceGetAttribute", device);
  return value;
}

DeviceProperties properties_of(int device) {
  DeviceProperties p;
  char name[256] = "";
  check(DCGN_REAL(cuDeviceGetName)(name, sizeof name, device), "Device", "cuDeviceGetName", device);
  p.name = name;
  p.kind = DeviceKind::cuda;
  p.multiprocessors = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device);
  p.max_threads_per_block = attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, device);
  p.max_threads_per_multiprocessor = attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, device);
  p.max_blocks_per_multiprocessor = attribute(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, device);
  p.shared_bytes_per_block =
      static_cast<std::size_t>(attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, device));
  p.shared_bytes_per_multiprocessor =
      static_cast<std::size_t>(attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, device));
  check(DCGN_REAL(cuDeviceTotalMem_v2)(&p.memory_bytes, device), "Device", "cuDeviceTotalMem", device);
  p.cache_bytes = static_cast<std::size_t>(attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, device));
  p.compute_major = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
  p.compute_minor = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
  return p;
}

CUdeviceptr address_of(const void* memory) { return reinterpret_cast<CUdeviceptr>(memory); }

class DriverStream final : public StreamState {
 public:
  DriverStream(int device, CUstream adopted) : device_(device), stream_(adopted) {}
  explicit DriverStream(int device) : device_(device), own_(true) {
    const CurrentContext current(context_of(device));
    // It does not wait for the legacy default stream: events say what it waits for.
    check(DCGN_REAL(cuStreamCreate)(&stream_, CU_STREAM_NON_BLOCKING), "Stream", "cuStreamCreate", device);
  }
  ~DriverStream() override {
    if (!own_) return;
    // What fails here is seen by the next call on this device; at process end the driver may be gone already.
    static_cast<void>(DCGN_REAL(cuStreamSynchronize)(stream_));
    static_cast<void>(DCGN_REAL(cuStreamDestroy_v2)(stream_));
  }

  void synchronize() override {
    const CurrentContext current(context_of(device_));
    if (!of_this_thread()) {
      if (virtual_gpu::driver::Program::get().any_captures())  // which to wait for the context would end
        throw Error(Code::unsupported, "synchronize", "a stream of another thread's, while one records a graph");
      check(DCGN_REAL(cuCtxSynchronize)(), "synchronize", "cuCtxSynchronize", device_, Code::kernel_failed);
      return;
    }
    if (!own_ && captures()) return;  // nothing that it was given is under way
    check(DCGN_REAL(cuStreamSynchronize)(stream_), "synchronize", "cuStreamSynchronize", device_, Code::kernel_failed);
  }
  bool idle() override {
    const CurrentContext current(context_of(device_));
    // To ask would end a capture. Of another thread's own stream nobody can ask.
    if (!own_ && (!of_this_thread() || captures())) return false;
    const CUresult state = DCGN_REAL(cuStreamQuery)(stream_);
    if (state == CUDA_ERROR_NOT_READY) return false;
    check(state, "idle", "cuStreamQuery", device_, Code::kernel_failed);
    return true;
  }
  void* native() noexcept override { return stream_; }
  std::function<void()> record(const std::function<void()>&) override {
    throw Error(Code::unsupported, "record", "a program's stream is not recorded here");
  }

  void copy(void* to, const void* from, std::size_t bytes) override {
    const CurrentContext current(context_of(device_));
    // Host memory that the driver does not know has to be called that.
    const CUresult result = !known(from) ? DCGN_REAL(cuMemcpyHtoDAsync_v2)(address_of(to), from, bytes, stream_)
                            : !known(to) ? DCGN_REAL(cuMemcpyDtoHAsync_v2)(to, address_of(from), bytes, stream_)
                                         : DCGN_REAL(cuMemcpyAsync)(address_of(to), address_of(from), bytes, stream_);
    check(result, "copy", "cuMemcpyAsync", device_);
  }
  void fill(void* memory, unsigned char value, std::size_t bytes) override {
    const CurrentContext current(context_of(device_));
    check(DCGN_REAL(cuMemsetD8Async)(address_of(memory), value, bytes, stream_), "fill", "cuMemsetD8Async", device_);
  }
  void launch(const Launch&, const detail::KernelImage& image) override {
    throw Error(Code::unsupported, "launch", image.name() + ": kernel objects are not launched here");
  }

 private:
  static bool known(const void* memory) {
    unsigned type = 0;
    return DCGN_REAL(cuPointerGetAttribute)(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address_of(memory)) ==
           CUDA_SUCCESS;
  }
  bool captures() const {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    return DCGN_REAL(cuStreamIsCapturing)(stream_, &status) != CUDA_SUCCESS || status != CU_STREAM_CAPTURE_STATUS_NONE;
  }

  // One handle means another stream in each thread.
  bool of_this_thread() const { return stream_ != CU_STREAM_PER_THREAD || thread_ == std::this_thread::get_id(); }

  const int device_;
  const bool own_ = false;
  CUstream stream_ = nullptr;
  const std::thread::id thread_ = std::this_thread::get_id();
};

// What a virtual GPU needs of a device, and its memory.
class DriverDevice final : public Backend {
 public:
  explicit DriverDevice(int index) : Backend(properties_of(index)), index_(index) {}

  void* allocate(std::size_t bytes) override {
    const CurrentContext current(context_of(index_));
    CUdeviceptr memory = 0;
    check(DCGN_REAL(cuMemAlloc_v2)(&memory, bytes), "allocate", "cuMemAlloc", index_);
    return reinterpret_cast<void*>(memory);
  }
  void free(void* memory) override {
    const CurrentContext current(context_of(index_));
    check(DCGN_REAL(cuMemFree_v2)(address_of(memory)), "free", "cuMemFree", index_);
  }
  bool owns(const void* memory) override {
    unsigned ordinal = 0;
    return DCGN_REAL(cuPointerGetAttribute)(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address_of(memory)) ==
               CUDA_SUCCESS &&
           ordinal == static_cast<unsigned>(index_);
  }
  void* allocate_host(std::size_t bytes) override {
    const CurrentContext current(context_of(index_));
    void* memory = nullptr;
    check(DCGN_REAL(cuMemHostAlloc)(&memory, bytes, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP),
          "allocate_host", "cuMemHostAlloc", index_);
    return std::memset(memory, 0, bytes);
  }
  void free_host(void* memory) override {
    check(DCGN_REAL(cuMemFreeHost)(memory), "free_host", "cuMemFreeHost", index_);
  }
  void pin(void* memory, std::size_t bytes) override {
    const CurrentContext current(context_of(index_));
    check(DCGN_REAL(cuMemHostRegister_v2)(memory, bytes, CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP),
          "pin", "cuMemHostRegister", index_);
  }
  void unpin(void* memory) override {
    check(DCGN_REAL(cuMemHostUnregister)(memory), "unpin", "cuMemHostUnregister", index_);
  }
  Device::Exported export_memory(void*) override { refuse("export_memory"); }
  void* open_exported(const Device::Exported&) override { refuse("open_exported"); }
  void close_exported(void*) override { refuse("close_exported"); }

  void copy(void* to, const void* from, std::size_t bytes) override {
    const std::lock_guard lock(mutex_);
    stream().copy(to, from, bytes);
    stream().synchronize();
  }
  void fill(void* memory, unsigned char value, std::size_t bytes) override {
    const std::lock_guard lock(mutex_);
    stream().fill(memory, value, bytes);
    stream().synchronize();
  }

  DeviceLink link_to(const Backend& other) override {
    const int peer = static_cast<const DriverDevice&>(other).index_;
    DeviceLink link;
    int can = 0;
    check(DCGN_REAL(cuDeviceCanAccessPeer)(&can, index_, peer), "link", "cuDeviceCanAccessPeer", index_);
    link.direct = can != 0;
    if (!link.direct) return link;
    link.native_atomics = between(CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED, peer) != 0;
    link.performance_rank = between(CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK, peer);
    return link;
  }
  bool reach(const Backend& other) override {
    if (!link_to(other).direct) return false;
    const CurrentContext current(context_of(index_));
    const int peer = static_cast<const DriverDevice&>(other).index_;
    const CUresult result = DCGN_REAL(cuCtxEnablePeerAccess)(context_of(peer), 0);
    if (result == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED) return true;
    if (result == CUDA_ERROR_TOO_MANY_PEERS || result == CUDA_ERROR_PEER_ACCESS_UNSUPPORTED) return false;
    check(result, "can_reach", "cuCtxEnablePeerAccess", index_);
    return true;
  }

  std::unique_ptr<StreamState> make_stream(StreamPriority) override { return std::make_unique<DriverStream>(index_); }
  std::unique_ptr<StreamState> adopt_stream(void* native) override {
    return std::make_unique<DriverStream>(index_, static_cast<CUstream>(native));
  }
  int blocks_per_multiprocessor(const Launch&, const detail::KernelImage&) override { refuse("launch"); }

 private:
  [[noreturn]] void refuse(const char* operation) const {
    throw Error(Code::unsupported, operation, "not within a program that runs over a virtual GPU");
  }
  int between(CUdevice_P2PAttribute which, int peer) const {
    int value = 0;
    check(DCGN_REAL(cuDeviceGetP2PAttribute)(&value, which, index_, peer), "link", "cuDeviceGetP2PAttribute", index_);
    return value;
  }
  // For copies that block.
  DriverStream& stream() {
    if (!stream_) stream_ = std::make_unique<DriverStream>(index_);
    return *stream_;
  }

  const int index_;
  std::mutex mutex_;
  std::unique_ptr<DriverStream> stream_;
};

}  // namespace

const Driver& driver() {
  static const Driver all = real_driver();
  return all;
}

// The one that the program's runtime uses, too. It is kept until the process ends.
CUcontext context_of(int device) {
  struct Context {
    std::mutex mutex;
    CUcontext made = nullptr;
  };
  static std::mutex mutex;
  static auto& known = *new std::map<int, Context>();  // the program may call the driver to its very end
  Context* context = nullptr;
  {
    const std::lock_guard lock(mutex);
    context = &known[device];
  }
  // To make one takes a tenth of a second, in which others are asked for.
  const std::lock_guard lock(context->mutex);
  if (!context->made)
    check(DCGN_REAL(cuDevicePrimaryCtxRetain)(&context->made, device), "VirtualGpu", "cuDevicePrimaryCtxRetain",
          device);
  return context->made;
}

CudaEvent::CudaEvent(int device) : device_(device) {
  const CurrentContext current(context_of(device));
  CUevent event = nullptr;
  check(driver().event_create(&event, CU_EVENT_DISABLE_TIMING), "Event", "cuEventCreate", device);
  event_ = event;
}
CudaEvent::~CudaEvent() { static_cast<void>(driver().event_destroy(event_)); }
void CudaEvent::synchronize() const {
  check(driver().event_synchronize(event_), "copy", "cuEventSynchronize", device_);
}

int cuda_device_count() {
  int count = 0;
  check(DCGN_REAL(cuDeviceGetCount)(&count), "Device::count", "cuDeviceGetCount", 0);
  return count;
}
std::unique_ptr<Backend> make_cuda_device(int index) { return std::make_unique<DriverDevice>(index); }

std::unique_ptr<Backend> make_emulated_device(int index) {
  throw Error(Code::unsupported, "Device",
              "emulated GPU " + std::to_string(index) +
                  ": a program that is there already runs on real ones, expected " +
                  "DCGN_EMULATED_GPUS not to be set");
}

}  // namespace dcgn::device

namespace dcgn::virtual_gpu {

// There are no such devices: see make_emulated_device().
std::unique_ptr<Machine> make_emulated_machine(const std::vector<Device>&) {
  throw Error(Code::unsupported, "VirtualGpu", "a program that is there already runs on real GPUs");
}

}  // namespace dcgn::virtual_gpu
