// GPUs, real and emulated: what there is, memory, copies, streams, launches.
//
// DCGN_EMULATED_GPUS=n gives n emulated GPUs, whatever the machine has; otherwise the machine's CUDA devices are used
// where this build can drive them, and 2 emulated GPUs where there are none.
#pragma once

#include <dcgn/error.hpp>
#include <dcgn/launch.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

namespace dcgn {

namespace device {
class Backend;      // core/src/device/backend.hpp: one per device
class StreamState;  // core/src/device/backend.hpp
}  // namespace device

namespace virtual_gpu {
class Parts;  // vgpu/src/machine.hpp
}

// What drives it.
enum class DeviceKind { emulated, cuda };

// What the driver says of a device, or an emulated one of itself.
struct DeviceProperties {
  std::string name;
  DeviceKind kind = DeviceKind::emulated;
  int multiprocessors = 0;
  int max_threads_per_block = 0;
  int max_threads_per_multiprocessor = 0;
  int max_blocks_per_multiprocessor = 0;
  std::size_t shared_bytes_per_block = 0;
  std::size_t shared_bytes_per_multiprocessor = 0;
  std::size_t memory_bytes = 0;
  std::size_t cache_bytes = 0;  // of the one that all multiprocessors share; 0 on an emulated GPU
  int compute_major = 0;        // 0.0 on an emulated GPU
  int compute_minor = 0;
};

// How kernels of one device get at the memory of another.
struct DeviceLink {
  bool direct = false;          // by loads and stores at its address; else somebody must copy
  bool native_atomics = false;  // atomic operations work there, too
  int performance_rank = 0;     // among the links of this machine; the lower the faster
};

// Of streams that both have blocks to start, a device takes the more urgent one's first. An emulated GPU starts all.
enum class StreamPriority { normal, high };

// Work for one device, done in the order in which it was given. Waits for its work when destroyed.
class Stream {
 public:
  // Of one device. Throws Error(device) where the driver makes none.
  explicit Stream(class Device device, StreamPriority priority = StreamPriority::normal);
  Stream(Stream&&) noexcept;
  Stream& operator=(Stream&&) noexcept;
  ~Stream();

  // Blocks until all work given so far is done. Throws Error(kernel_failed) if a kernel failed.
  void synchronize();
  // Whether all work given so far is done.
  bool idle() const;
  // The cudaStream_t, or null on an emulated GPU.
  void* native() const noexcept;

  // A function that gives the stream, as one, all that `work` gives it: launches, copies and fills, with the arguments
  // of now. It may be called again and again while the stream is there. On a CUDA device that is a graph; nothing is
  // done yet then, and `work` must not wait for anything.
  std::function<void()> record(const std::function<void()>& work);

 private:
  friend class Device;
  friend class virtual_gpu::Parts;
  // One that is there already, and not destroyed with this.
  Stream(class Device device, void* native);

  std::unique_ptr<device::StreamState> state_;
  device::Backend* backend_;  // whose work it takes
};

// A reference to one device; cheap to copy.
class Device {
 public:
  // How many devices there are. Throws Error(configuration) where DCGN_EMULATED_GPUS is not a number from 0 to 64.
  static int count();
  // Throws Error(device) unless 0 <= index < count().
  explicit Device(int index);

  int index() const noexcept { return index_; }
  const DeviceProperties& properties() const noexcept;
  DeviceKind kind() const noexcept { return properties().kind; }

  // The link to `other`, as the machine has it; changes nothing.
  DeviceLink link_to(const Device& other) const;
  // Whether kernels of this device can read and write the memory of `other` at its address; from the first call on that
  // says so, they may. The devices must be idle at that call: it maps memory, which waits for kernels that run.
  bool can_reach(const Device& other) const;

  // Device memory, 256-byte aligned, not cleared; null for zero bytes. On an emulated GPU the host can reach it too.
  // Throws Error(device) where there is not enough.
  void* allocate(std::size_t bytes) const;
  void free(void* memory) const;
  // Whether this is an address in the memory of this device. Not pinned memory, nor what the host can reach otherwise.
  bool owns(const void* memory) const;

  // Host memory that this device and all others can reach at the same address (pinned on CUDA); cleared.
  void* allocate_host(std::size_t bytes) const;
  void free_host(void* memory) const;
  // Makes memory of the host, which the caller has from elsewhere, what allocate_host() gives, until unpin().
  void pin(void* memory, std::size_t bytes) const;
  void unpin(void* memory) const;

  // Memory of allocate() for another process to open, as this device reaches it: CUDA's interprocess memory. Throws
  // Error(unsupported) where that cannot be.
  using Exported = std::array<unsigned char, 64>;
  Exported export_memory(void* memory) const;
  void* open_exported(const Exported& memory) const;
  void close_exported(void* opened) const;

  // Says that a kernel was left running here that may never end, as a job does that gives it up: what is freed from now
  // on is kept until the process ends. The kernel may still use it, and CUDA would wait for the kernel.
  void keep_memory() const noexcept;

  // Copies between any two of host memory and the memory of this device, or of a peer. Blocks until done.
  void copy(void* to, const void* from, std::size_t bytes) const;
  void fill(void* memory, unsigned char value, std::size_t bytes) const;
  // The same, in the stream's order. Host memory must stay valid until the stream is synchronized.
  void copy(Stream& stream, void* to, const void* from, std::size_t bytes) const;
  void fill(Stream& stream, void* memory, unsigned char value, std::size_t bytes) const;

  // How many blocks of this kernel the device can hold at once.
  template <class Kernel, class... Args>
  int max_resident_blocks(const Launch& launch, const Kernel& kernel, const Args&... args) const {
    return max_resident_blocks(launch, detail::make_image(kernel, args...));
  }
  int max_resident_blocks(const Launch& launch, const detail::KernelImage& image) const;

  // Starts kernel(context, args...) on every thread of the launch and returns. Throws Error(too_many_blocks), naming
  // both numbers, if the blocks cannot all be resident; Error(configuration) for an empty or oversized shape;
  // Error(unsupported) on a CUDA device if the caller's file was not compiled by nvcc.
  template <class Kernel, class... Args>
  void launch(Stream& stream, const Launch& launch, const Kernel& kernel, const Args&... args) const {
    this->launch(stream, launch, detail::make_image(kernel, args...));
  }
  void launch(Stream& stream, const Launch& launch, const detail::KernelImage& image) const;

 private:
  friend class Stream;
  void check_stream(const Stream& stream, const char* operation) const;

  int index_;
  device::Backend* backend_;
};

// Keeps the caller's memory pinned, as Device::pin() does, for as long as it is there.
class Pin {
 public:
  // `bytes` from `memory` on. Throws what Device::pin() throws.
  Pin(const Device& device, void* memory, std::size_t bytes) : device_(device), memory_(memory) {
    device.pin(memory, bytes);
  }
  Pin(const Pin&) = delete;
  Pin& operator=(const Pin&) = delete;
  ~Pin() {
    try {
      device_.unpin(memory_);
    } catch (const Error&) {  // a device that has faulted; that was reported where it was met
    }
  }

 private:
  Device device_;
  void* memory_;
};

// `count` objects of device memory, freed with the buffer.
template <class T>
class DeviceBuffer {
  static_assert(std::is_trivially_copyable_v<T>, "device memory holds trivially copyable objects");

 public:
  // Not cleared. Throws Error(device) where there is not enough.
  DeviceBuffer(Device device, std::size_t count)
      : device_(device), count_(count), data_(static_cast<T*>(device.allocate(checked_bytes(count)))) {}
  // A copy of these.
  DeviceBuffer(Device device, std::span<const T> objects) : DeviceBuffer(device, objects.size()) {
    upload(objects.data());
  }
  DeviceBuffer(DeviceBuffer&& other) noexcept
      : device_(other.device_), count_(std::exchange(other.count_, 0)), data_(std::exchange(other.data_, nullptr)) {}
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(count_, other.count_);
    std::swap(data_, other.data_);
    return *this;
  }
  ~DeviceBuffer() {
    try {
      device_.free(data_);
    } catch (const Error&) {  // a device that has faulted; that was reported where it was met
    }
  }

  T* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return count_; }
  std::size_t size_bytes() const noexcept { return count_ * sizeof(T); }

  // Copies all of it; `host` has size() objects.
  void upload(const T* host) const { device_.copy(data_, host, size_bytes()); }
  void download(T* host) const { device_.copy(host, data_, size_bytes()); }

 private:
  static std::size_t checked_bytes(std::size_t count) {
    if (count > static_cast<std::size_t>(-1) / sizeof(T))
      throw Error(
          Code::device, "allocate",
          std::to_string(count) + " objects of " + std::to_string(sizeof(T)) + " bytes are more than memory has");
    return count * sizeof(T);
  }

  Device device_;
  std::size_t count_;
  T* data_;
};

}  // namespace dcgn
