// Copies of buffers that launches only read, on each part, made by themselves.
#include "vgpu/src/gpu.hpp"

#include <dcgn/error.hpp>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

namespace dcgn::virtual_gpu {

namespace {

// A word of an argument that points into a buffer, and what the kernel does with it.
struct Pointer {
  std::size_t argument, offset;
  Buffer* buffer;
  const ptx::PointerUse* use;
};

// Where a kernel has failed, nobody knows.
bool is_done(const Marker& marker) noexcept {
  try {
    return marker.done();
  } catch (const Error&) {
    return false;
  }
}

// A buffer of no more bytes, which so many blocks read, is copied for its first launch: that takes a part 4 us and it
// waits for no other, while each of the blocks would wait for a link.
constexpr std::size_t small_bytes = std::size_t{1} << 20;
constexpr std::uint64_t many_blocks = 1024;

}  // namespace

Buffer* Gpu::buffer_with(const void* address) {
  const std::byte* begin = nullptr;
  return const_cast<Buffer*>(buffer_with(address, begin));
}

// Behind a buffer no other has an address for a page (Range::is_guarded()), so an address right behind it is its own.
const Buffer* Gpu::buffer_reached_from(std::uintptr_t address) const {
  const auto after = buffers_.upper_bound(address);
  if (after == buffers_.begin()) return nullptr;
  const auto found = std::prev(after);
  return address - found->first <= found->second.pages.bytes() ? &found->second : nullptr;
}

std::vector<Buffer*> Gpu::buffers_near(std::uintptr_t address) {
  const std::uintptr_t page = machine_->page_bytes();
  std::vector<Buffer*> found;
  for (auto after = buffers_.upper_bound(address + page); after != buffers_.begin();) {
    --after;
    if (address > after->first && address - after->first >= after->second.pages.bytes() + page) break;
    found.push_back(&after->second);
  }
  return found;
}

void Gpu::all_written(const Parts* by) {
  for (auto& [address, buffer] : buffers_) buffer.local.invalidate(by);
}

void Gpu::strike(Parts& parts) {
  std::erase(streams_, &parts);
  for (auto& [address, buffer] : buffers_) {
    std::erase(buffer.local.writers, &parts);
    if (LocalCopies& local = buffer.local; local.made_by == &parts) {
      local.current = local.current && local.made && is_done(*local.made);
      local.made_by = nullptr;
    }
    if (buffer.reduced.by == &parts) {
      buffer.reduced.by = nullptr;
      buffer.reduced.of.reset();
    }
  }
}

void Gpu::keep_single(const void* memory) {
  if (Buffer* buffer = buffer_with(memory)) buffer->single = true;
}

void Gpu::drop_local(Buffer& buffer) {
  ++age_;
  drop_reduced(buffer);
  LocalCopies& local = buffer.local;
  if (!local.ranges.empty()) local_bytes_ -= buffer.pages.bytes();
  LocalCopies none;
  none.possible = local.possible;
  none.enough = local.enough;
  none.writes = local.writes;
  none.writers = std::move(local.writers);
  local = std::move(none);
}

void Gpu::drop_local(bool current_too) {
  synchronize_all();
  for (auto& [address, buffer] : buffers_)
    if (current_too || (!buffer.local.current && buffer.reduced.ranges.empty())) drop_local(buffer);
}

std::vector<LocalWord> Gpu::look_at_memory(Parts& streams, const Launch& launch, const KernelInfo& kernel,
                                           const ptx::MemoryUse& memory, const std::vector<Argument>& arguments,
                                           bool split) {
  if (parts() == 1) return {};
  if (memory.writes_elsewhere) {
    all_written(&streams);
    return {};
  }
  std::vector<const Buffer*> not_copied;
  bool anything = false;  // by an address in no memory, as that which element 0 of an array would have
  const auto may_write = [&](std::uintptr_t address, bool written) {
    const std::vector<Buffer*> near = buffers_near(address);
    for (Buffer* buffer : near) {
      buffer->local.invalidate(&streams);
      not_copied.push_back(buffer);
    }
    if (written && address != 0 && near.empty() && machine_->memory_at(address) == MemoryKind::none) anything = true;
  };
  std::vector<Pointer> pointers;
  for (std::size_t a = 0; a < arguments.size(); ++a)
    for (std::size_t at = 0; at + sizeof(void*) <= arguments[a].bytes; ++at) {
      std::uintptr_t address = 0;
      std::memcpy(&address, static_cast<const std::byte*>(arguments[a].value) + at, sizeof address);
      const std::uint64_t offset = kernel.parameters[a].offset + at;
      const ptx::PointerUse* use = memory.at(offset / 8 * 8);
      if (offset % 8 != 0) {
        // A member of a packed struct, which is loaded piece by piece.
        const ptx::PointerUse* next = memory.at(offset / 8 * 8 + 8);
        if ((use && !use->only_read) || (next && !next->only_read)) may_write(address, false);
      } else if (use && !use->only_read) {
        may_write(address, use->written);
      } else if (Buffer* buffer = use ? buffer_reached_from(address) : nullptr) {
        pointers.push_back({a, at, buffer, use});
      }
    }
  if (anything) {
    all_written(&streams);
    return {};
  }
  if (!split || options.copies <= 0) return {};
  const std::uint64_t blocks = std::uint64_t{launch.grid.x} * launch.grid.y * launch.grid.z;
  const auto may_be_copied = [&](const Buffer* buffer) {
    return std::find(not_copied.begin(), not_copied.end(), buffer) == not_copied.end();
  };
  std::vector<LocalWord> words;
  for (const Pointer& pointer : pointers) {
    Buffer& buffer = *pointer.buffer;
    const bool small = buffer.bytes <= small_bytes && blocks >= many_blocks;
    const bool read_by_all = pointer.use->read_by_all(launch.grid.y, launch.grid.z);
    if (!may_be_copied(&buffer) || (!read_by_all && !(small && buffer.pages.extents().size() == 1))) continue;
    // Whether its copies serve is asked once for each launch.
    const RangesOfParts* const ranges = &buffer.local.ranges;
    if (std::none_of(words.begin(), words.end(), [&](const LocalWord& w) { return w.ranges == ranges; }) &&
        !make_local(streams, buffer, small)) {
      not_copied.push_back(&buffer);
      continue;
    }
    words.push_back({pointer.argument, pointer.offset, static_cast<const std::byte*>(buffer.range->address()), ranges});
  }
  reduce_apart(streams, kernel, memory, arguments, words);
  return words;
}

// `at_once`: by the part's own stream, before what the launch has it do, so that no other part waits for it.
bool Gpu::make_local(Parts& streams, Buffer& buffer, bool at_once) {
  LocalCopies& local = buffer.local;
  if (buffer.single || !local.possible || buffer.kind == Placement::Kind::replicated) return false;
  ++local.reads;
  if (local.current) {
    ++local.uses;
    if (!local.made_by || local.made_by == &streams) return true;
    if (local.made ? local.made->done() : local.made_by->idle())
      local.made_by = nullptr;
    else if (!local.made)
      return false;
    else
      local.made->hold(streams.use(0));
    return true;
  }
  if ((!at_once && local.reads < local.enough) || !local.settled(&streams) || !reserve_local(buffer)) return false;
  streams.order();
  const auto* const from = static_cast<const std::byte*>(buffer.range->address());
  for (int part = 0; part < parts(); ++part) {
    const Range* const range = local.ranges[static_cast<std::size_t>(part)].get();
    for (const Extent& extent : buffer.pages.extents()) {
      if (!range) continue;
      const std::size_t bytes = std::min(extent.bytes, buffer.bytes - extent.offset);
      device(part).copy(at_once ? streams.use_beside(part) : streams.use(part),
                        static_cast<std::byte*>(range->address()) + extent.offset, from + extent.offset, bytes);
      if (extent.part != part) statistics.copied_bytes += bytes;
    }
  }
  ++statistics.copies;
  if (at_once) {
    local.made.reset();
  } else {
    streams.gather();
    if (!local.made) local.made = machine_->make_marker(0);
    local.made->record(streams.first());
  }
  local.made_by = &streams;
  local.current = true;
  local.uses = 1;
  return true;
}

// Memory for the copies, where they may have it.
bool Gpu::reserve_local(Buffer& buffer) {
  LocalCopies& local = buffer.local;
  if (!local.ranges.empty()) return true;
  const std::size_t bytes = buffer.pages.bytes();
  if (!fits_local(bytes)) drop_local(false);
  local.possible = fits_local(bytes);
  if (local.possible) local.ranges = reserve_copies(buffer);
  local.possible = !local.ranges.empty();
  if (local.possible) local_bytes_ += bytes;
  return local.possible;
}

bool Gpu::fits_local(std::size_t bytes) const {
  std::size_t smallest = device(0).properties().memory_bytes;
  for (int part = 1; part < parts(); ++part) smallest = std::min(smallest, device(part).properties().memory_bytes);
  return static_cast<double>(local_bytes_ + bytes) <= options.copies * static_cast<double>(smallest);
}

// Empty where there is not enough memory.
RangesOfParts Gpu::reserve_copies(const Buffer& buffer) {
  const std::vector<Extent>& extents = buffer.pages.extents();
  RangesOfParts ranges;
  try {
    for (int part = 0; part < parts(); ++part)
      ranges.push_back(extents.size() == 1 && extents.front().part == part
                           ? nullptr
                           : machine_->reserve(PageMap(Placement::owner(part), buffer.pages.bytes(),
                                                       buffer.pages.page_bytes(), parts())));
  } catch (const Error&) {
    ranges.clear();
  }
  return ranges;
}

}  // namespace dcgn::virtual_gpu
