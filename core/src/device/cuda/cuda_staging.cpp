#include "cuda_staging.hpp"

#include <algorithm>
#include <cmath>

namespace dcgn::device {

Staging::Staging(Device source, const std::vector<Device>& targets, CopyTimes* times)
    : memory_(source, 4 * buffer_bytes),
      out_(source.index(), times),
      buffers_{Buffer(source.index()), Buffer(source.index()), Buffer(source.index()), Buffer(source.index())} {
  std::byte* memory = memory_.data();
  for (Buffer& buffer : buffers_) {
    buffer.memory = memory;
    memory += buffer_bytes;
    for (const Device& target : targets) buffer.drained.try_emplace(target.index(), target.index());
  }
}

// A link stands still for some 5 us between fragments, in which PCIe could move 256 KiB; and one of the two links does
// for a whole fragment at the begin and at the end of a stretch in which there is always something to move. Both cost
// the same where a fragment is the geometric mean of those 256 KiB and the stretch.
std::size_t Staging::fragment_of(std::size_t bytes) {
  if (!out_.busy()) stretch_ = 0;
  stretch_ += bytes;
  constexpr std::size_t gap = std::size_t{256} << 10, grain = std::size_t{64} << 10;
  const auto mean = static_cast<std::size_t>(std::sqrt(static_cast<double>(stretch_) * static_cast<double>(gap)));
  return std::clamp(mean / grain * grain, least_fragment, buffer_bytes);
}

void Staging::enqueue(void* to, const void* from, std::size_t bytes, CopyStream& in) {
  const std::lock_guard lock(mutex_);
  const std::size_t fragment = fragment_of(bytes);
  for (std::size_t done = 0; done < bytes;) {
    const std::size_t size = std::min(fragment, bytes - done);
    Buffer& buffer = buffers_[next_++ % buffers_.size()];
    if (buffer.last_drained) out_.wait(*buffer.last_drained);
    out_.copy(buffer.memory, static_cast<const std::byte*>(from) + done, size, CopyRecord::Way::to_host);
    out_.record(buffer.full);
    in.wait(buffer.full);
    in.copy(static_cast<std::byte*>(to) + done, buffer.memory, size, CopyRecord::Way::from_host);
    const CudaEvent& drained = buffer.drained.at(in.device());
    in.record(drained);
    buffer.last_drained = &drained;
    done += size;
  }
}

}  // namespace dcgn::device
