#include "cuda_device.hpp"

#include "cuda_check.hpp"
#include "cuda_memory.hpp"
#include "cuda_stream.hpp"

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace dcgn::device {

namespace {

int attribute(cudaDeviceAttr which, const char* name, int device) {
  int value = 0;
  check_cuda(cudaDeviceGetAttribute(&value, which, device), "Device", name, device);
  return value;
}

DeviceProperties cuda_properties(int device) {
  cudaDeviceProp found;
  check_cuda(cudaGetDeviceProperties(&found, device), "Device", "cudaGetDeviceProperties", device);
  DeviceProperties p;
  p.name = found.name;
  p.kind = DeviceKind::cuda;
  p.multiprocessors = found.multiProcessorCount;
  p.max_threads_per_block = found.maxThreadsPerBlock;
  p.max_threads_per_multiprocessor = found.maxThreadsPerMultiProcessor;
  p.max_blocks_per_multiprocessor =
      attribute(cudaDevAttrMaxBlocksPerMultiprocessor, "cudaDevAttrMaxBlocksPerMultiprocessor", device);
  p.shared_bytes_per_block = found.sharedMemPerBlockOptin;  // the image asks for more than 48 KB where it needs it
  p.shared_bytes_per_multiprocessor = found.sharedMemPerMultiprocessor;
  p.memory_bytes = found.totalGlobalMem;
  p.cache_bytes = static_cast<std::size_t>(found.l2CacheSize);
  p.compute_major = found.major;
  p.compute_minor = found.minor;
  return p;
}

// Kernels of this library may run for as long as the program does. So blocking calls wait for a stream of their own
// and for nothing else; what makes the driver wait for the whole device says so.
class CudaDevice final : public Backend {
 public:
  explicit CudaDevice(int index) : Backend(cuda_properties(index)), index_(index) {}

  void* allocate(std::size_t bytes) override {
    const CurrentDevice current(index_, "allocate");
    void* memory = nullptr;
    const cudaError_t result = cudaMalloc(&memory, bytes);
    if (result == cudaErrorMemoryAllocation) {
      static_cast<void>(cudaGetLastError());  // out of memory is no fault of the next call
      throw Error(Code::device, "allocate",
                  std::to_string(bytes) + " bytes are not to be had on device " + std::to_string(index_) + ": " +
                      cudaGetErrorString(result));
    }
    check_cuda(result, "allocate", "cudaMalloc", index_);
    return memory;
  }

  // cudaFree waits for all kernels on the device: call it after those that run for long have ended.
  void free(void* memory) override {
    const CurrentDevice current(index_, "free");
    check_cuda(cudaFree(memory), "free", "cudaFree", index_);
  }

  bool owns(const void* memory) override {
    const MemoryPlace place = place_of(memory);
    return place.on_device() && place.device == index_;
  }

  void* allocate_host(std::size_t bytes) override {
    const CurrentDevice current(index_, "allocate_host");
    void* memory = nullptr;
    check_cuda(cudaHostAlloc(&memory, bytes, cudaHostAllocPortable | cudaHostAllocMapped), "allocate_host",
               "cudaHostAlloc", index_);
    return std::memset(memory, 0, bytes);
  }

  // cudaFreeHost waits as cudaFree does.
  void free_host(void* memory) override {
    const CurrentDevice current(index_, "free_host");
    check_cuda(cudaFreeHost(memory), "free_host", "cudaFreeHost", index_);
  }

  void pin(void* memory, std::size_t bytes) override {
    const CurrentDevice current(index_, "pin");
    check_cuda(cudaHostRegister(memory, bytes, cudaHostRegisterPortable | cudaHostRegisterMapped), "pin",
               "cudaHostRegister", index_);
  }
  void unpin(void* memory) override {
    const CurrentDevice current(index_, "unpin");
    check_cuda(cudaHostUnregister(memory), "unpin", "cudaHostUnregister", index_);
  }

  Device::Exported export_memory(void* memory) override {
    const CurrentDevice current(index_, "export_memory");
    cudaIpcMemHandle_t handle;
    check_shared(cudaIpcGetMemHandle(&handle, memory), "export_memory");
    Device::Exported exported;
    static_assert(sizeof handle == sizeof exported);
    std::memcpy(exported.data(), &handle, sizeof handle);
    return exported;
  }
  void* open_exported(const Device::Exported& exported) override {
    const CurrentDevice current(index_, "open_exported");
    cudaIpcMemHandle_t handle;
    std::memcpy(&handle, exported.data(), sizeof handle);
    void* opened = nullptr;
    check_shared(cudaIpcOpenMemHandle(&opened, handle, cudaIpcMemLazyEnablePeerAccess), "open_exported");
    return opened;
  }
  void close_exported(void* opened) override {
    const CurrentDevice current(index_, "close_exported");
    check_cuda(cudaIpcCloseMemHandle(opened), "close_exported", "cudaIpcCloseMemHandle", index_);
  }

  void copy(void* to, const void* from, std::size_t bytes) override {
    const CurrentDevice current(index_, "copy");
    const Lease lease(*this, "copy");
    check_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, lease.stream()), "copy", "cudaMemcpyAsync", index_);
    check_cuda(cudaStreamSynchronize(lease.stream()), "copy", "cudaStreamSynchronize", index_);
  }

  void fill(void* memory, unsigned char value, std::size_t bytes) override {
    const CurrentDevice current(index_, "fill");
    const Lease lease(*this, "fill");
    check_cuda(cudaMemsetAsync(memory, value, bytes, lease.stream()), "fill", "cudaMemsetAsync", index_);
    check_cuda(cudaStreamSynchronize(lease.stream()), "fill", "cudaStreamSynchronize", index_);
  }

  DeviceLink link_to(const Backend& other) override {
    const int peer = index_of(other);
    DeviceLink link;
    link.direct = maps(peer);
    if (!link.direct) return link;
    link.native_atomics = link_attribute(cudaDevP2PAttrNativeAtomicSupported, peer) != 0;
    link.performance_rank = link_attribute(cudaDevP2PAttrPerformanceRank, peer);
    return link;
  }

  bool reach(const Backend& other) override {
    const int peer = index_of(other);
    const std::lock_guard lock(mutex_);
    if (const auto known = reached_.find(peer); known != reached_.end()) return known->second;
    return reached_.emplace(peer, maps(peer) && enable(peer)).first->second;
  }

  std::unique_ptr<StreamState> make_stream(StreamPriority priority) override {
    return std::make_unique<CudaStream>(index_, priority);
  }

  int blocks_per_multiprocessor(const Launch& launch, const dcgn::detail::KernelImage& image) override {
    if (!image.cuda_occupancy)
      throw Error(Code::unsupported, "launch",
                  image.name() +
                      ": the file that launches it was not compiled by nvcc, so it cannot run on CUDA device " +
                      std::to_string(index_));
    const CurrentDevice current(index_, "launch");
    int blocks = 0;
    check_cuda(static_cast<cudaError_t>(image.cuda_occupancy(launch, blocks)), "launch", image.name().c_str(), index_);
    return blocks;
  }

 private:
  // What devices and systems may lack.
  void check_shared(cudaError_t result, const char* operation) const {
    if (result == cudaSuccess) return;
    static_cast<void>(cudaGetLastError());  // no fault of the next call
    throw Error(Code::unsupported, operation,
                "device " + std::to_string(index_) +
                    " does not share this memory with other processes: " + cudaGetErrorString(result));
  }
  static int index_of(const Backend& other) { return static_cast<const CudaDevice&>(other).index_; }

  bool maps(int peer) const {
    int can = 0;
    check_cuda(cudaDeviceCanAccessPeer(&can, index_, peer), "link", "cudaDeviceCanAccessPeer", index_);
    return can != 0;
  }

  int link_attribute(cudaDeviceP2PAttr which, int peer) const {
    int value = 0;
    check_cuda(cudaDeviceGetP2PAttribute(&value, which, index_, peer), "link", "cudaDeviceGetP2PAttribute", index_);
    return value;
  }

  // False where the two could, but the system has no more connections to give.
  bool enable(int peer) const {
    const RelaxedCapture relaxed;
    const CurrentDevice current(index_, "can_reach");
    const cudaError_t result = cudaDeviceEnablePeerAccess(peer, 0);
    if (result != cudaSuccess) static_cast<void>(cudaGetLastError());  // what follows is no fault of the next call
    if (result == cudaErrorPeerAccessAlreadyEnabled) return true;      // by the program, or another library
    if (result == cudaErrorTooManyPeers || result == cudaErrorPeerAccessUnsupported) return false;
    check_cuda(result, "can_reach", "cudaDeviceEnablePeerAccess", index_);
    return true;
  }

  // A stream that nobody else uses for the time of one blocking call, so that callers do not wait for each other.
  class Lease {
   public:
    Lease(CudaDevice& device, const char* operation) : device_(device) {
      {
        const std::lock_guard lock(device.mutex_);
        if (!device.free_streams_.empty()) {
          stream_ = std::move(device.free_streams_.back());
          device.free_streams_.pop_back();
        }
      }
      if (!stream_) stream_ = std::make_unique<CudaStreamHandle>(device.index_, operation);
    }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    ~Lease() {
      const std::lock_guard lock(device_.mutex_);
      device_.free_streams_.push_back(std::move(stream_));
    }
    cudaStream_t stream() const { return stream_->get(); }

   private:
    const RelaxedCapture relaxed_;
    CudaDevice& device_;
    std::unique_ptr<CudaStreamHandle> stream_;
  };

  const int index_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<CudaStreamHandle>> free_streams_;
  std::map<int, bool> reached_;  // peers that were asked for
};

}  // namespace

int cuda_device_count() {
  // Lazy loading would load a kernel at its first launch, and wait for the device to do so: for ever, where the
  // kernels that run there wait for this one. The user's own setting stands.
  static_cast<void>(setenv("CUDA_MODULE_LOADING", "EAGER", 0));
  // Streams share hardware queues where there are more of them than these, 8 by default; then a copy may come to wait
  // behind one that another stream has ordered after a kernel that waits for the first.
  static_cast<void>(setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0));
  int count = 0;
  const cudaError_t result = cudaGetDeviceCount(&count);
  if (result == cudaErrorNoDevice || result == cudaErrorInsufficientDriver) {
    static_cast<void>(cudaGetLastError());
    return 0;
  }
  check_cuda(result, "Device::count", "cudaGetDeviceCount", 0);
  return count;
}

std::unique_ptr<Backend> make_cuda_device(int index) { return std::make_unique<CudaDevice>(index); }

}  // namespace dcgn::device
