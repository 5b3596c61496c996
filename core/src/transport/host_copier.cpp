#include "host_copier.hpp"

#include <dcgn/arch/atomic.hpp>

#include "datatype/packed_view.hpp"
#include "exported_buffers.hpp"

#include <cstddef>
#include <cstdint>

namespace dcgn::transport {

bool HostCopier::is_device_memory(const void* memory) { return engine_.is_device_memory(memory); }

int HostCopier::gpu_of(const void* memory) { return engine_.gpu_of(memory); }

void HostCopier::adopt(const void* memory, std::uint64_t bytes, int gpu) {
  engine_.adopt(memory, static_cast<std::size_t>(bytes), gpu);
}

bool HostCopier::rank_can_read(const void* memory, int rank) {
  const auto place = static_cast<std::size_t>(rank - first_);
  if (place >= readers_.size()) return others_read_ && !datatype::is_view(memory);
  const int reader = readers_[place];
  return reader >= 0 && engine_.kernels_can_read(memory, reader);
}

bool HostCopier::describe(const void* memory, std::uint64_t bytes, message::ExportedMemory& told) {
  try {
    return engine_.exported().describe(memory, bytes, told);
  } catch (const Error& error) {
    on_error_(error);
    return false;
  }
}

const void* HostCopier::open(const message::ExportedMemory& told, std::uint64_t bytes, int process, int gpu) {
  try {
    return engine_.exported().open(told, bytes, process, gpu);
  } catch (const Error& error) {
    on_error_(error);
    return nullptr;
  }
}

void HostCopier::close(const void* opened) { engine_.exported().close(opened); }

void HostCopier::copy(void* to, const void* from, std::uint64_t bytes) {
  try {
    engine_.copy(to, from, static_cast<std::size_t>(bytes));
  } catch (const Error& error) {
    on_error_(error);
  }
}

void HostCopier::start(const message::CopyRequest& request) {
  try {
    start_request(engine_, request);
  } catch (const Error& error) {
    on_error_(error);
    // Refused, so that nobody waits for it who wants its memory back.
    auto* const done = reinterpret_cast<std::uint32_t*>(static_cast<std::uintptr_t>(request.done));
    store_release(*done, ~request.value);
  }
}

}  // namespace dcgn::transport
