// A virtual GPU beneath a program that does not know of it: its streams are the program's, and so are some of its
// launches.
#include "vgpu/src/gpu.hpp"

#include <dcgn/error.hpp>

#include <algorithm>
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

void* Gpu::whole_function(const Kernel& kernel) const {
  return kernel.code_->whole_binary(kernel.index_).native(kernel.index_, 0);
}

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

void Gpu::repeat(Stream& stream, const std::vector<LoadedCode::PlaceOnPart>& places, std::size_t bytes) {
  Parts& parts_of_stream = *stream.parts_;
  parts_of_stream.use(0);
  parts_of_stream.order();
  for (std::size_t other = 1; other < places.size(); ++other) {
    const auto [part, address] = places[other];
    device(part).copy(parts_of_stream.use(part), address, places.front().address, bytes);
  }
  parts_of_stream.gather();
}

void Gpu::note_written(const void* memory) {
  if (Buffer* buffer = buffer_with(memory)) written(*buffer);
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
