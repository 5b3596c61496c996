#include "cuda_staging.hpp"

#include <algorithm>

namespace dcgn::device {

Staging::Staging(Device source, const std::vector<Device>& targets)
    : memory_(source, 4 * buffer_bytes),
      out_(source.index()),
      buffers_{Buffer(source.index()), Buffer(source.index()), Buffer(source.index()), Buffer(source.index())} {
  std::byte* memory = memory_.data();
  for (Buffer& buffer : buffers_) {
    buffer.memory = memory;
    memory += buffer_bytes;
    for (const Device& target : targets) buffer.drained.try_emplace(target.index(), target.index());
  }
}

void Staging::enqueue(void* to, const void* from, std::size_t bytes, CopyStream& in) {
  // Short messages are cut, too, so that their first bytes are on the second link while the last are on the first.
  const std::size_t fragment = std::clamp(bytes / 8, least_fragment, buffer_bytes);
  const std::lock_guard lock(mutex_);
  for (std::size_t done = 0; done < bytes;) {
    const std::size_t size = std::min(fragment, bytes - done);
    Buffer& buffer = buffers_[next_++ % buffers_.size()];
    if (buffer.last_drained) out_.wait(*buffer.last_drained);
    out_.copy(buffer.memory, static_cast<const std::byte*>(from) + done, size);
    out_.record(buffer.full);
    in.wait(buffer.full);
    in.copy(static_cast<std::byte*>(to) + done, buffer.memory, size);
    const CudaEvent& drained = buffer.drained.at(in.device());
    in.record(drained);
    buffer.last_drained = &drained;
    done += size;
  }
}

}  // namespace dcgn::device
