// Where an address lies, as the CUDA driver knows it; pinned memory as an object.
#pragma once

#include "cuda_check.hpp"

#include <dcgn/device.hpp>

#include <cuda_runtime_api.h>

#include <cstddef>

namespace dcgn::device {

enum class MemoryKind { pageable, pinned, managed, device };

struct MemoryPlace {
  MemoryKind kind = MemoryKind::pageable;
  int device = 0;        // whose memory it is
  bool mapped = false;   // pinned memory that kernels of the calling thread's current device can reach at its address
  bool adopted = false;  // another process's, which this device reaches: see Copier::adopt()

  bool on_device() const { return kind == MemoryKind::device; }
};

// A look-up of some 100 ns, which neither waits for anything nor fails for memory that CUDA knows nothing of.
inline MemoryPlace place_of(const void* memory) {
  cudaPointerAttributes found;
  check_cuda(cudaPointerGetAttributes(&found, memory), "copy", "cudaPointerGetAttributes", 0);
  MemoryPlace place;
  place.device = found.device;
  place.mapped = found.devicePointer == memory;
  switch (found.type) {
    case cudaMemoryTypeUnregistered: place.kind = MemoryKind::pageable; break;
    case cudaMemoryTypeHost: place.kind = MemoryKind::pinned; break;
    case cudaMemoryTypeDevice: place.kind = MemoryKind::device; break;
    case cudaMemoryTypeManaged: place.kind = MemoryKind::managed; break;
  }
  return place;
}

class PinnedMemory {
 public:
  PinnedMemory(Device device, std::size_t bytes)
      : device_(device), data_(static_cast<std::byte*>(device.allocate_host(bytes))) {}
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;
  ~PinnedMemory() {
    try {
      device_.free_host(data_);
    } catch (const Error&) {  // a device that has faulted; that was reported where it was met
    }
  }

  std::byte* data() const noexcept { return data_; }

 private:
  const Device device_;
  std::byte* const data_;
};

}  // namespace dcgn::device
