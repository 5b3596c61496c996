#include "emulated_device.hpp"

#include "emulated_stream.hpp"

#include <dcgn/arch/atomic.hpp>
#include <dcgn/error.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <new>
#include <string>

namespace dcgn::device {

namespace {

constexpr std::align_val_t alignment{4096};  // a page: what kernels do to memory does not depend on where it is

DeviceProperties emulated_properties() {
  DeviceProperties p;
  p.name = "emulated GPU";
  p.kind = DeviceKind::emulated;
  p.multiprocessors = number_from_environment("DCGN_EMULATED_SMS", 1, 256, 16);
  p.max_threads_per_block = 1024;
  p.max_threads_per_multiprocessor = 2048;
  p.max_blocks_per_multiprocessor = 8;
  p.shared_bytes_per_block = std::size_t{64} << 10;
  p.shared_bytes_per_multiprocessor = std::size_t{128} << 10;
  p.memory_bytes = std::size_t{4} << 30;
  return p;
}

class EmulatedDevice final : public Backend {
 public:
  explicit EmulatedDevice(int index) : Backend(emulated_properties()), index_(index) {}

  void* allocate(std::size_t bytes) override {
    const std::lock_guard lock(mutex_);
    const std::size_t left = properties().memory_bytes - used_;
    void* memory = bytes <= left ? ::operator new(bytes, alignment, std::nothrow) : nullptr;
    if (!memory)
      throw Error(Code::device, "allocate",
                  std::to_string(bytes) + " bytes are not to be had on device " + std::to_string(index_) + ", " +
                      std::to_string(left) + " of " + std::to_string(properties().memory_bytes) + " are left");
#if !defined(NDEBUG)
    std::memset(memory, 0xa5, bytes);  // device memory is not cleared
#endif
    sizes_.emplace(memory, bytes);
    used_ += bytes;
    return memory;
  }

  void free(void* memory) override {
    const std::lock_guard lock(mutex_);
    const auto found = sizes_.find(memory);
    if (found == sizes_.end())
      throw Error(Code::device, "free", "no memory of device " + std::to_string(index_) + " begins at this address");
    used_ -= found->second;
    sizes_.erase(found);
    ::operator delete(memory, alignment);
  }

  bool owns(const void* memory) override {
    const std::lock_guard lock(mutex_);
    const auto after = sizes_.upper_bound(memory);
    if (after == sizes_.begin()) return false;
    const auto& [begin, bytes] = *std::prev(after);
    return static_cast<const std::byte*>(memory) - static_cast<const std::byte*>(begin) <
           static_cast<std::ptrdiff_t>(bytes);
  }

  void* allocate_host(std::size_t bytes) override {
    void* memory = ::operator new(bytes, alignment, std::nothrow);
    if (!memory) throw Error(Code::device, "allocate_host", std::to_string(bytes) + " bytes are not to be had");
    return std::memset(memory, 0, bytes);
  }
  void free_host(void* memory) override { ::operator delete(memory, alignment); }
  void pin(void*, std::size_t) override {}
  void unpin(void*) override {}
  Device::Exported export_memory(void*) override { refuse_to_share("export_memory"); }
  void* open_exported(const Device::Exported&) override { refuse_to_share("open_exported"); }
  void close_exported(void*) override { refuse_to_share("close_exported"); }

  void copy(void* to, const void* from, std::size_t bytes) override {
    schedule_point();
    std::memmove(to, from, bytes);
  }
  void fill(void* memory, unsigned char value, std::size_t bytes) override {
    schedule_point();
    std::memset(memory, value, bytes);
  }

  // All of them live in one memory.
  DeviceLink link_to(const Backend&) override { return {.direct = true, .native_atomics = true}; }
  bool reach(const Backend&) override { return true; }

  std::unique_ptr<StreamState> make_stream(StreamPriority) override { return std::make_unique<EmulatedStream>(*this); }

  int blocks_per_multiprocessor(const Launch& launch, const dcgn::detail::KernelImage&) override {
    const DeviceProperties& p = properties();
    const int threads =
        static_cast<int>((launch.block.volume() + gpu::warp_size - 1) / gpu::warp_size * gpu::warp_size);
    const int by_threads = p.max_threads_per_multiprocessor / threads;
    const int by_shared =
        launch.shared_bytes
            ? static_cast<int>(std::min<std::size_t>(p.shared_bytes_per_multiprocessor / launch.shared_bytes, 1024))
            : p.max_blocks_per_multiprocessor;
    return std::min({p.max_blocks_per_multiprocessor, by_threads, by_shared});
  }

 private:
  [[noreturn]] static void refuse_to_share(const char* operation) {
    throw Error(Code::unsupported, operation, "the memory of an emulated GPU is the process's own");
  }

  const int index_;
  std::mutex mutex_;
  std::map<const void*, std::size_t> sizes_;
  std::size_t used_ = 0;
};

}  // namespace

std::unique_ptr<Backend> make_emulated_device(int index) { return std::make_unique<EmulatedDevice>(index); }

}  // namespace dcgn::device
