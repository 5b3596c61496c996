#include <dcgn/virtual_gpu.hpp>

#include "vgpu/src/gpu.hpp"
#include "vgpu/src/nvrtc.hpp"

#include <dcgn/error.hpp>

namespace dcgn {

using virtual_gpu::Gpu, virtual_gpu::Kernel, virtual_gpu::Module;

VirtualGpu::VirtualGpu(const std::vector<Device>& devices, const virtual_gpu::Options& options)
    : gpu_(std::make_shared<Gpu>(devices, options)) {}
VirtualGpu::VirtualGpu(VirtualGpu&&) noexcept = default;
VirtualGpu& VirtualGpu::operator=(VirtualGpu&&) noexcept = default;
VirtualGpu::~VirtualGpu() = default;

int VirtualGpu::parts() const noexcept { return gpu_->parts(); }
const Device& VirtualGpu::device(int part) const {
  if (part < 0 || part >= parts())
    throw Error(Code::configuration, "VirtualGpu",
                "part " + std::to_string(part) + " does not exist, expected 0.." + std::to_string(parts() - 1));
  return gpu_->device(part);
}
virtual_gpu::Options& VirtualGpu::options() noexcept { return gpu_->options; }
const virtual_gpu::Statistics& VirtualGpu::statistics() const noexcept { return gpu_->statistics; }

void* VirtualGpu::allocate(std::size_t bytes, const Placement& placement) {
  return gpu_->allocate_placed(bytes, placement);
}
void VirtualGpu::free(void* buffer) { gpu_->free(buffer); }
std::size_t VirtualGpu::page_bytes() const noexcept { return gpu_->machine().page_bytes(); }
virtual_gpu::PlacementCost VirtualGpu::place(void* buffer, const Placement& placement) {
  return gpu_->place_for_user(buffer, placement);
}
std::vector<std::size_t> VirtualGpu::bytes_on_parts(const void* buffer) const { return gpu_->bytes_on_parts(buffer); }

void VirtualGpu::copy(void* to, const void* from, std::size_t bytes) {
  gpu_->copy(own_stream(), to, from, bytes);
  synchronize();
}
void VirtualGpu::fill(void* memory, unsigned char value, std::size_t bytes) {
  gpu_->fill(own_stream(), memory, value, bytes);
  synchronize();
}
void VirtualGpu::copy(Stream& stream, void* to, const void* from, std::size_t bytes) {
  gpu_->copy(stream, to, from, bytes);
}
void VirtualGpu::fill(Stream& stream, void* memory, unsigned char value, std::size_t bytes) {
  gpu_->fill(stream, memory, value, bytes);
}

Module VirtualGpu::load_ptx(const std::string& name, const std::string& text) { return gpu_->load(name, text); }

Module VirtualGpu::load_source(const std::string& name, const std::string& text,
                               const std::vector<std::string>& options) {
  const DeviceProperties& first = device(0).properties();
  const bool emulated = first.kind == DeviceKind::emulated;  // which interprets PTX of any architecture
  std::vector<std::string> all{
      "--gpu-architecture=compute_" +
      (emulated ? "90" : std::to_string(first.compute_major) + std::to_string(first.compute_minor))};
  all.insert(all.end(), options.begin(), options.end());
  return gpu_->load(name, virtual_gpu::compile(name, text, all));
}

void VirtualGpu::launch(Stream& stream, const Kernel& kernel, const Launch& launch,
                        const std::vector<virtual_gpu::Argument>& arguments) {
  gpu_->launch(stream, kernel, launch, arguments);
}
void VirtualGpu::launch(Stream& stream, const Launch& launch, const virtual_gpu::ImageOfPart& image) {
  gpu_->launch(stream, launch, image);
}

virtual_gpu::Graph VirtualGpu::record(const std::function<void(Stream&)>& work) { return gpu_->record(work); }
void VirtualGpu::launch(Stream& stream, const virtual_gpu::Graph& graph) { gpu_->launch(stream, graph); }

std::vector<VirtualGpu::Placement> VirtualGpu::sample(const std::vector<void*>& buffers, std::uint64_t blocks,
                                                      const Kernel& kernel, const Launch& launch,
                                                      const std::vector<virtual_gpu::Argument>& arguments) {
  return gpu_->sample(buffers, blocks, kernel, launch, arguments);
}

void VirtualGpu::synchronize() { own_stream().synchronize(); }
VirtualGpu::Stream& VirtualGpu::own_stream() noexcept { return gpu_->own_stream(); }

const void* VirtualGpu::address_on_part(int part, const void* address) const { return gpu_->on_part(part, address); }

}  // namespace dcgn
