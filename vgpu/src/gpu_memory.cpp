// Buffers of a virtual GPU: where their pages lie, and copies that go page by page.
#include "vgpu/src/gpu.hpp"

#include <dcgn/error.hpp>

#include <algorithm>
#include <chrono>
#include <sstream>
#include <string>
#include <utility>

namespace dcgn::virtual_gpu {

namespace {

// For work that part 0 does alone the others need not wait.
void order_for(Parts& parts, bool part_0_alone) {
  if (part_0_alone)
    parts.gather();
  else
    parts.order();
}

std::string text_of(const void* address) {
  std::ostringstream text;
  text << address;
  return text.str();
}

}  // namespace

void Gpu::synchronize_all() {
  for (Parts* parts : streams_) parts->synchronize();
}

bool Gpu::is_idle() const {
  return std::all_of(streams_.begin(), streams_.end(), [](const Parts* parts) { return parts->idle(); });
}

void* Gpu::allocate_placed(std::size_t bytes, const Placement& placement) {
  const bool may_move = placement.kind == Placement::Kind::chunked;
  const bool to_part_0 = may_move && measures() && measured().local();
  if (to_part_0) {
    try {
      return allocate(bytes, Placement::owner(0));
    } catch (const Error&) {  // there may be room on all parts together
    }
  }
  void* const memory = allocate(bytes, placement);
  if (to_part_0) measured().overflow();
  if (memory) buffers_.at(reinterpret_cast<std::uintptr_t>(memory)).placed = !may_move;
  return memory;
}

PlacementCost Gpu::place_for_user(void* memory, const Placement& placement) {
  const PlacementCost cost = place(memory, placement);
  buffers_.at(reinterpret_cast<std::uintptr_t>(memory)).placed = true;
  return cost;
}

void* Gpu::allocate(std::size_t bytes, const Placement& placement) {
  if (bytes == 0) return nullptr;
  PageMap pages(placement, bytes, machine_->page_bytes(), parts());
  std::unique_ptr<Range> range = spare(pages, placement.kind);
  try {
    if (!range) range = machine_->reserve(pages);
  } catch (const Error&) {
    if (local_bytes_ == 0 && spare_.empty()) throw;
    drop_spare();
    if (local_bytes_ != 0) drop_local(true);  // copies that nobody asked for give way
    range = machine_->reserve(pages);
  }
  void* const address = range->address();
  std::vector<std::unique_ptr<Range>> copies;
  if (placement.kind == Placement::Kind::replicated) {
    copies = make_copies(pages);
    ++replicated_;
  }
  buffer_bytes_ += bytes;
  buffers_.emplace(reinterpret_cast<std::uintptr_t>(address),
                   Buffer{bytes, std::move(pages), std::move(range), placement.kind, std::move(copies), {}});
  return address;
}

void Gpu::free(void* memory) {
  if (!memory) return;
  buffer_at("free", memory);  // which throws where there is none
  synchronize_all();
  free_unused(memory);
}

void Gpu::free_unused(void* memory) {
  const Buffer& buffer = buffer_at("free", memory);
  replicated_ -= buffer.kind == Placement::Kind::replicated;
  buffer_bytes_ -= buffer.bytes;
  drop_local(buffers_.at(reinterpret_cast<std::uintptr_t>(memory)));
  buffers_.erase(reinterpret_cast<std::uintptr_t>(memory));
}

void Gpu::retire(void* memory) {
  const std::size_t most = device(0).properties().memory_bytes / 8;
  Buffer& buffer = buffers_.at(reinterpret_cast<std::uintptr_t>(memory));
  const std::size_t bytes = buffer.pages.bytes();
  if (bytes > most || buffer.kind == Placement::Kind::replicated) return free_unused(memory);
  if (spare_bytes_ + bytes > most) drop_spare();
  drop_local(buffer);
  buffer_bytes_ -= buffer.bytes;
  auto node = buffers_.extract(reinterpret_cast<std::uintptr_t>(memory));
  const std::size_t pages = node.mapped().pages.pages();
  spare_.emplace(pages, std::move(node.mapped()));
  spare_bytes_ += bytes;
}

std::unique_ptr<Range> Gpu::spare(const PageMap& pages, Placement::Kind kind) {
  if (kind == Placement::Kind::replicated) return nullptr;
  for (auto [one, end] = spare_.equal_range(pages.pages()); one != end; ++one) {
    if (bytes_moved(one->second.pages, pages) != 0) continue;
    std::unique_ptr<Range> range = std::move(one->second.range);
    spare_bytes_ -= pages.bytes();
    spare_.erase(one);
    return range;
  }
  return nullptr;
}

void Gpu::drop_spare() {
  spare_.clear();
  spare_bytes_ = 0;
}

std::vector<std::unique_ptr<Range>> Gpu::make_copies(const PageMap& pages) {
  std::vector<std::unique_ptr<Range>> copies;
  for (int part = 1; part < parts(); ++part)
    copies.push_back(machine_->reserve(PageMap(Placement::owner(part), pages.bytes(), pages.page_bytes(), parts())));
  return copies;
}

PlacementCost Gpu::place(void* memory, const Placement& placement) {
  Buffer& buffer = const_cast<Buffer&>(buffer_at("place", memory));
  PageMap pages(placement, buffer.bytes, machine_->page_bytes(), parts());
  synchronize_all();
  const auto begin = std::chrono::steady_clock::now();
  drop_local(buffer);
  PlacementCost cost{.bytes_moved = bytes_moved(buffer.pages, pages)};
  if (cost.bytes_moved != 0) buffer.range->move(buffer.pages, pages);
  buffer.pages = std::move(pages);
  if (buffer.kind == Placement::Kind::replicated) {
    buffer.copies.clear();
    --replicated_;
  }
  buffer.kind = placement.kind;
  if (placement.kind == Placement::Kind::replicated) {
    buffer.copies = make_copies(buffer.pages);
    ++replicated_;
    for (int part = 1; part < parts(); ++part) {
      device(part).copy(own_stream().parts_->use(part), const_cast<void*>(on_part(part, memory)), memory, buffer.bytes);
      cost.bytes_moved += buffer.pages.bytes();
    }
    own_stream().synchronize();
  }
  cost.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return cost;
}

const Buffer& Gpu::buffer_at(const char* operation, const void* memory) const {
  const auto found = buffers_.find(reinterpret_cast<std::uintptr_t>(memory));
  if (found == buffers_.end())
    throw Error(Code::configuration, operation,
                "no buffer of this virtual GPU begins at " + text_of(memory) + ", expected what allocate() returned");
  return found->second;
}

const Buffer* Gpu::buffer_with(const void* address, const std::byte*& begin) const {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  auto after = buffers_.upper_bound(at);
  if (after == buffers_.begin()) return nullptr;
  --after;
  if (at - after->first >= after->second.bytes) return nullptr;
  begin = static_cast<const std::byte*>(after->second.range->address());
  return &after->second;
}

std::vector<std::size_t> Gpu::bytes_on_parts(const void* memory) const {
  const Buffer& buffer = buffer_at("bytes_on_parts", memory);
  if (buffer.kind == Placement::Kind::replicated)
    return std::vector<std::size_t>(static_cast<std::size_t>(parts()), buffer.pages.bytes());
  return buffer.pages.bytes_of_parts(parts());
}

const void* Gpu::on_part(int part, const void* address) const {
  if (replicated_ == 0 || part == 0) return address;
  const std::byte* begin = nullptr;
  const Buffer* buffer = buffer_with(address, begin);
  if (!buffer || buffer->copies.empty()) return address;
  const Range& copy = *buffer->copies[static_cast<std::size_t>(part) - 1];
  return static_cast<const std::byte*>(copy.address()) + (static_cast<const std::byte*>(address) - begin);
}

Gpu::Stretch Gpu::stretch_at(const char* operation, const void* address, std::size_t bytes) const {
  const std::byte* begin = nullptr;
  const Buffer* buffer = buffer_with(address, begin);
  if (!buffer) return {.bytes = bytes};
  const auto offset = static_cast<std::size_t>(static_cast<const std::byte*>(address) - begin);
  if (bytes > buffer->bytes - offset)
    throw Error(Code::invalid_size, operation,
                std::to_string(bytes) + " bytes from byte " + std::to_string(offset) +
                    " of a buffer, expected at most " + std::to_string(buffer->bytes - offset) + ": it has " +
                    std::to_string(buffer->bytes));
  const Extent& extent = buffer->pages.extent_of(offset);
  return {extent.part, std::min(bytes, extent.offset + extent.bytes - offset), true, !buffer->copies.empty()};
}

void Gpu::copy(Stream& stream, void* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return;
  // All of it is looked at before anything is copied.
  stretch_at("copy", to, bytes);
  stretch_at("copy", from, bytes);
  Parts& its_parts = parts_of("copy", stream);
  if (!is_recording(its_parts)) return copy(its_parts, to, from, bytes);
  recorded_->steps.emplace_back([this, to, from, bytes](Parts& streams, bool) { copy(streams, to, from, bytes); });
}

void Gpu::copy(Parts& parts_of_stream, void* to, const void* from, std::size_t bytes) {
  if (Buffer* buffer = buffer_with(to)) buffer->local.invalidate(&parts_of_stream);
  for (std::size_t done = 0; done < bytes;) {
    std::byte* const target = static_cast<std::byte*>(to) + done;
    const std::byte* const source = static_cast<const std::byte*>(from) + done;
    const Stretch into = stretch_at("copy", target, bytes - done), out = stretch_at("copy", source, bytes - done);
    const std::size_t now = std::min(into.bytes, out.bytes);
    const int part = into.in_buffer ? into.part : out.part;
    const int last = into.replicated ? parts() - 1 : part;
    if (done == 0) order_for(parts_of_stream, last == 0 && now == bytes);
    for (int p = part; p <= last; ++p)
      device(p).copy(parts_of_stream.use(p), const_cast<void*>(on_part(p, target)), on_part(p, source), now);
    done += now;
  }
}

void Gpu::fill(Stream& stream, void* memory, unsigned char value, std::size_t bytes) {
  if (bytes == 0) return;
  stretch_at("fill", memory, bytes);
  Parts& its_parts = parts_of("fill", stream);
  if (!is_recording(its_parts)) return fill(its_parts, memory, value, bytes);
  recorded_->steps.emplace_back(
      [this, memory, value, bytes](Parts& streams, bool) { fill(streams, memory, value, bytes); });
}

void Gpu::fill(Parts& parts_of_stream, void* memory, unsigned char value, std::size_t bytes) {
  if (Buffer* buffer = buffer_with(memory)) buffer->local.invalidate(&parts_of_stream);
  for (std::size_t done = 0; done < bytes;) {
    std::byte* const target = static_cast<std::byte*>(memory) + done;
    const Stretch into = stretch_at("fill", target, bytes - done);
    const int last = into.replicated ? parts() - 1 : into.part;
    if (done == 0) order_for(parts_of_stream, last == 0 && into.bytes == bytes);
    for (int p = into.part; p <= last; ++p)
      device(p).fill(parts_of_stream.use(p), const_cast<void*>(on_part(p, target)), value, into.bytes);
    done += into.bytes;
  }
}

}  // namespace dcgn::virtual_gpu
