// A virtual GPU beneath a program that does not know of it: its streams are the program's, and so are some of its
// launches.
#include "vgpu/src/gpu.hpp"

#include <dcgn/error.hpp>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

namespace dcgn::virtual_gpu {

std::unique_ptr<Stream> Gpu::adopt(void* native) {
  return std::unique_ptr<Stream>(new Stream(shared_from_this(), native));  // whose constructor is not public
}

void Gpu::launch_beside(Stream& stream, const Kernel& kernel, const Launch& its_launch,
                        const std::vector<Argument>& arguments) {
  stream.parts_->use(0);
  launch(stream, kernel, its_launch, arguments);
  stream.parts_->gather();
}

void Gpu::prepare_whole(Stream& stream, const Kernel& kernel, const Launch& launch,
                        const std::vector<Argument>& arguments) {
  check_arguments(kernel.info(), arguments);
  look_at_memory(*stream.parts_, launch, kernel.info(), kernel.code_->traits(kernel.index_).memory, arguments, false);
  ++statistics.launches;
  ++statistics.whole;
}

bool Gpu::is_guard(std::uintptr_t address) const {
  const std::uintptr_t page = machine_->page_bytes();
  const auto is_near = [&](const auto& one) {
    return one.second.range->is_guarded() && address + page - one.first < one.second.pages.bytes() + 2 * page;
  };
  const auto after = buffers_.upper_bound(address);
  return (after != buffers_.end() && is_near(*after)) || (after != buffers_.begin() && is_near(*std::prev(after)));
}

const LoadedCode::Traits& Gpu::traits(const Kernel& kernel) const { return kernel.code_->traits(kernel.index_); }

std::string Gpu::why_whole(const Kernel& kernel, const Launch& launch, const std::vector<Argument>& arguments,
                           const std::function<bool(std::uintptr_t address, bool known)>& alone) const {
  const ptx::MemoryUse& memory = traits(kernel).memory;
  for (std::size_t a = 0; a < arguments.size(); ++a)
    for (std::size_t at = 0; at + sizeof(void*) <= arguments[a].bytes; ++at) {
      if (!memory.may_be_pointer(kernel.info().parameters[a].offset + at)) continue;
      std::uintptr_t address = 0;
      std::memcpy(&address, static_cast<const std::byte*>(arguments[a].value) + at, sizeof address);
      if (address == 0 || buffer_reached_from(address) || is_guard(address)) continue;
      const MemoryKind kind = machine_->memory_at(address);
      const std::string argument = "argument " + std::to_string(a + 1);
      if (kind == MemoryKind::host && memory.atomics) return "atomics on memory of the host, by " + argument;
      if ((kind == MemoryKind::alone || kind == MemoryKind::none) && alone(address, kind == MemoryKind::alone))
        return argument + " leads to memory that the first GPU alone is known to reach";
    }
  return kernel.code_->binary().why_refused(kernel.index_, launch);
}

bool Gpu::is_loaded(const Module& module) const { return module.code_->is_loaded(); }
void Gpu::load_split(const Module& module) { module.code_->load_split(); }
void Gpu::refresh_constants(const Module& module) { module.code_->refresh_constants(); }

void Gpu::wake() {
  if (machine_->awake()) return;
  machine_->wake();
  drop_spare();
  for (auto& [address, buffer] : buffers_) buffer.range->share();
}

bool Gpu::place_all(const Placement& placement) {
  bool all = true;
  ++age_;
  drop_spare();
  for (auto& [address, buffer] : buffers_) {
    if (buffer.placed) continue;
    try {
      place(buffer.range->address(), placement);
    } catch (const Error&) {
      all = false;
    }
  }
  return all;
}

void* Gpu::whole_function(const Kernel& kernel) const { return kernel.code_->whole_binary().native(kernel.index_, 0); }

bool Gpu::has_variables_alone(const Module& module) { return module.code_->has_variables_alone(); }

std::vector<LoadedCode::PlaceOnPart> Gpu::variable_at(const Module& module, const std::string& variable) const {
  if (!module.code_->has_variable(variable)) return {};
  return module.code_->places("address", variable, 0, 0);
}

void Gpu::copy_beside(Stream& stream, void* to, const void* from, std::size_t bytes) {
  stream.parts_->use(0);
  copy(stream, to, from, bytes);
  stream.parts_->gather();
}

void Gpu::fill_beside(Stream& stream, void* memory, unsigned char value, std::size_t bytes) {
  stream.parts_->use(0);
  fill(stream, memory, value, bytes);
  stream.parts_->gather();
}

void Gpu::repeat(Stream& stream, const std::vector<LoadedCode::PlaceOnPart>& places, std::size_t offset,
                 std::size_t bytes) {
  Parts& parts_of_stream = *stream.parts_;
  parts_of_stream.use(0);
  parts_of_stream.order();
  for (std::size_t other = 1; other < places.size(); ++other) {
    const auto [part, address] = places[other];
    device(part).copy(parts_of_stream.use(part), address + offset, places.front().address + offset, bytes);
  }
  parts_of_stream.gather();
}

void Gpu::note_constants(const Stream& stream) {
  std::erase_if(constants_written_, [](const std::unique_ptr<Marker>& marker) { return marker->done(); });
  constants_written_.push_back(machine_->make_marker(0));
  constants_written_.back()->record(stream.parts_->first());
}

void Gpu::wait_for_constants() {
  for (const std::unique_ptr<Marker>& marker : constants_written_) marker->synchronize();
  constants_written_.clear();
}

void Gpu::note_written(const void* memory, const Stream& stream) {
  if (Buffer* buffer = buffer_with(memory)) buffer->local.invalidate(stream.parts_.get());
}

void Gpu::end(Stream& stream) {
  auto marker = machine_->make_marker(0);
  mark(stream, *marker);
  stream.parts_->end(std::move(marker));
}

void Gpu::mark(Stream& stream, Marker& marker) {
  stream.parts_->gather();
  marker.record(stream.parts_->first());
}

std::size_t Gpu::bytes_between_parts(const void* to, const void* from, std::size_t bytes) const {
  const auto at = [&](const void* address, std::size_t done) {
    const std::byte* begin = nullptr;
    const std::byte* const here = static_cast<const std::byte*>(address) + done;
    const Buffer* const buffer = buffer_with(here, begin);
    if (!buffer) return std::pair(-1, bytes - done);
    const auto offset = static_cast<std::size_t>(here - begin);
    const Extent& extent = buffer->pages.extent_of(offset);
    return std::pair(extent.part, std::min(bytes - done, extent.offset + extent.bytes - offset));
  };
  std::size_t between = 0;
  for (std::size_t done = 0; done < bytes;) {
    const auto [into, room] = at(to, done);
    const auto [out, there] = at(from, done);
    const std::size_t now = std::min(room, there);
    if (into != out && into >= 0 && out >= 0) between += now;
    done += now;
  }
  return between;
}

}  // namespace dcgn::virtual_gpu
