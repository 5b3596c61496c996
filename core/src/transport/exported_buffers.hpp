// GPUs' memory that processes read in each other where it is: what this one tells of its own, and what it has opened of
// others'. See dcgn/message/exports.hpp.
#pragma once

#include <dcgn/device.hpp>
#include <dcgn/message/exports.hpp>

#include "datatype/packed_view.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

namespace dcgn::device {
class Copier;  // core/src/device/copier.hpp
}

namespace dcgn::transport {

// Calls may be made by several threads at once. What has been opened stays so to the end: to close it would wait for
// kernels of others. So not all is: no allocation from which few messages have come, no more than `most_opened`, nor
// more than a quarter of a GPU's memory, as who frees an allocation that is open elsewhere does not get its memory
// back.
class ExportedBuffers {
 public:
  ExportedBuffers(const std::vector<Device>& devices, device::Copier& copier);
  ExportedBuffers(const ExportedBuffers&) = delete;
  ExportedBuffers& operator=(const ExportedBuffers&) = delete;
  ~ExportedBuffers();

  // Where so many bytes of memory or of a view are; false where others could not open that, or had better not.
  bool describe(const void* memory, std::uint64_t bytes, message::ExportedMemory& told);
  // So many bytes of what another process has told, as this GPU reaches them: memory, or a view, until close(); null
  // where it cannot be.
  const void* open(const message::ExportedMemory& told, std::uint64_t bytes, int process, int gpu);
  void close(const void* address);

 private:
  static constexpr int messages_before = 3;  // of an allocation, before it is told of
  static constexpr std::size_t most_own = 1024, most_opened = 64;

  struct Own {
    int messages = 0;  // counted so far only
    bool refused = false;
    std::optional<Device::Exported> handle;
  };
  struct Opened {
    int process, gpu;
    std::uint64_t allocation;
    std::byte* at;  // null: it could not be opened
    std::size_t bytes;
  };

  std::byte* open_allocation(const message::ExportedMemory& told, int process, int gpu);

  const std::vector<Device> devices_;
  device::Copier& copier_;
  std::mutex mutex_;
  std::map<std::uint64_t, Own> own_;  // by allocation
  std::vector<Opened> opened_;
  std::map<const void*, datatype::PackedView> views_;  // in use
};

}  // namespace dcgn::transport
