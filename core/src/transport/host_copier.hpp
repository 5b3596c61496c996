// Copies for the ranks that are threads of the host, which start theirs themselves: one from memory that is not pinned
// takes as long as it lasts, and should hold up nobody else.
#pragma once

#include "copy_engine.hpp"

#include <dcgn/error.hpp>
#include <dcgn/message/copy_queue.hpp>

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace dcgn::transport {

class HostCopier final : public message::HostCopier {
 public:
  // readers[rank - first] is the device whose kernels are that rank's, -1 where none may read what a host thread has on
  // a device; `others_read`: whoever carries messages to all other ranks may. What goes wrong is told to `on_error`, by
  // the thread whose copy it was.
  HostCopier(CopyEngine& engine, int first, std::vector<int> readers, bool others_read,
             std::function<void(const Error&)> on_error)
      : engine_(engine),
        first_(first),
        readers_(std::move(readers)),
        others_read_(others_read),
        on_error_(std::move(on_error)) {}

  bool is_device_memory(const void* memory) override;
  int gpu_of(const void* memory) override;
  void adopt(const void* memory, std::uint64_t bytes, int gpu) override;
  bool rank_can_read(const void* memory, int rank) override;
  bool describe(const void* memory, std::uint64_t bytes, message::ExportedMemory& told) override;
  const void* open(const message::ExportedMemory& told, std::uint64_t bytes, int process, int gpu) override;
  void close(const void* opened) override;
  void copy(void* to, const void* from, std::uint64_t bytes) override;
  void start(const message::CopyRequest& request) override;

 private:
  CopyEngine& engine_;
  const int first_;
  const std::vector<int> readers_;
  const bool others_read_;
  const std::function<void(const Error&)> on_error_;
};

}  // namespace dcgn::transport
