// From one device to others through pinned host memory, in fragments, so that both directions of PCIe are busy at once.
#pragma once

#include "cuda_copy_stream.hpp"
#include "cuda_memory.hpp"

#include <dcgn/device.hpp>

#include <array>
#include <cstddef>
#include <map>
#include <mutex>
#include <vector>

namespace dcgn::device {

// For all that leaves `source`, since that shares its link to the host. May be used by several threads at once.
class Staging {
 public:
  Staging(Device source, const std::vector<Device>& targets, CopyTimes* times);
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  // Starts the copy of `bytes` > 0 bytes and returns; they have arrived where `in`, a stream of the target, has done
  // what it was given.
  void enqueue(void* to, const void* from, std::size_t bytes, CopyStream& in);

 private:
  static constexpr std::size_t buffer_bytes = std::size_t{8} << 20;
  static constexpr std::size_t least_fragment = std::size_t{256} << 10;

  std::size_t fragment_of(std::size_t bytes);

  struct Buffer {
    explicit Buffer(int source) : full(source) {}

    std::byte* memory = nullptr;
    CudaEvent full;
    std::map<int, CudaEvent> drained;         // by target: an event is recorded on streams of its own device only
    const CudaEvent* last_drained = nullptr;  // null before the first use
  };

  const PinnedMemory memory_;
  CopyStream out_;
  std::mutex mutex_;
  std::array<Buffer, 4> buffers_;
  std::size_t next_ = 0;
  std::size_t stretch_ = 0;  // bytes given to out_ since it was idle
};

}  // namespace dcgn::device
