#include "exported_buffers.hpp"

#include <dcgn/error.hpp>

#include "device/copier.hpp"
#include "device/quietly.hpp"
#include "exported_layout.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

namespace dcgn::transport {

using message::ExportedMemory;

static_assert(sizeof(ExportedMemory::handle) == sizeof(Device::Exported));

ExportedBuffers::ExportedBuffers(const std::vector<Device>& devices, device::Copier& copier)
    : devices_(devices), copier_(copier) {}

ExportedBuffers::~ExportedBuffers() {
  for (const Opened& opened : opened_)
    if (opened.at) device::quietly([&] { devices_[static_cast<std::size_t>(opened.gpu)].close_exported(opened.at); });
}

bool ExportedBuffers::describe(const void* memory, std::uint64_t bytes, ExportedMemory& told) {
  const datatype::PackedPlace place = datatype::place_of(memory);
  std::byte* origin = place.memory;
  told.leaves = 0;
  std::shared_ptr<const datatype::Layout> layout;
  if (place.viewed) {
    if (place.viewed->parts.size() != 1 || place.begin != 0) return false;
    const datatype::Viewed::Part& part = place.viewed->parts.front();
    layout = part.layout;
    if (!write_layout(*layout, told)) return false;
    origin = part.buffer.memory();
  }
  device::Copier::Allocation allocation;
  if (!copier_.allocation_of(layout ? origin + layout->leaves.front().displacement : origin, allocation)) return false;
  const auto gpu = std::find_if(devices_.begin(), devices_.end(),
                                [&](const Device& device) { return device.index() == allocation.device; });
  if (gpu == devices_.end()) return false;
  told.origin = origin - allocation.begin;
  const datatype::Layout in_a_row;
  if (!is_within(layout ? *layout : in_a_row, told.origin, bytes, allocation.bytes)) return false;
  {
    const std::scoped_lock lock(mutex_);
    if (own_.size() > most_own) own_.clear();
    Own& own = own_[allocation.id];
    if (own.messages <= messages_before && ++own.messages <= messages_before) return false;
    if (!own.handle && !own.refused) {
      try {
        own.handle = gpu->export_memory(allocation.begin);
      } catch (const Error&) {  // memory of another kind than other processes can open: it goes in fragments
        own.refused = true;
      }
    }
    if (own.refused) return false;
    std::memcpy(told.handle, own.handle->data(), own.handle->size());
  }
  told.allocation = allocation.id;
  told.gpu = static_cast<std::uint64_t>(gpu - devices_.begin());
  told.bytes = allocation.bytes;
  return true;
}

std::byte* ExportedBuffers::open_allocation(const ExportedMemory& told, int process, int gpu) {
  std::size_t open = 0;
  for (const Opened& o : opened_) {
    if (o.process == process && o.gpu == gpu && o.allocation == told.allocation) return o.at;
    if (o.gpu == gpu) open += o.bytes;
  }
  const Device& device = devices_[static_cast<std::size_t>(gpu)];
  if (opened_.size() == most_opened || open + told.bytes > device.properties().memory_bytes / 4) return nullptr;
  Device::Exported handle;
  std::memcpy(handle.data(), told.handle, handle.size());
  Opened& opened = opened_.emplace_back(Opened{process, gpu, told.allocation, nullptr, 0});
  try {
    opened.at = static_cast<std::byte*>(device.open_exported(handle));
  } catch (const Error&) {  // it is not tried again: such messages go in fragments
    return nullptr;
  }
  opened.bytes = static_cast<std::size_t>(told.bytes);
  copier_.adopt(opened.at, opened.bytes, device.index());
  return opened.at;
}

const void* ExportedBuffers::open(const ExportedMemory& told, std::uint64_t bytes, int process, int gpu) {
  const std::shared_ptr<const datatype::Layout> layout = read_layout(told);
  if (!layout || !is_within(*layout, told.origin, bytes, told.bytes)) return nullptr;
  const std::scoped_lock lock(mutex_);
  std::byte* const begin = open_allocation(told, process, gpu);
  if (!begin) return nullptr;
  if (layout->leaves.empty()) return begin + told.origin;
  datatype::PackedView view(begin + told.origin, layout);
  const void* const address = view.data();
  views_.emplace(address, std::move(view));
  return address;
}

void ExportedBuffers::close(const void* address) {
  const std::scoped_lock lock(mutex_);
  views_.erase(address);
}

}  // namespace dcgn::transport
