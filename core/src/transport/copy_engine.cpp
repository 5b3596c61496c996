#include "copy_engine.hpp"

#include "datatype/packed_view.hpp"
#include "exported_buffers.hpp"
#include "typed_copies.hpp"

#include <dcgn/error.hpp>

#include <algorithm>
#include <string>

namespace dcgn::transport {

namespace {
void check_bytes(const void* memory, std::size_t bytes) {
  if (!memory && bytes) throw Error(Code::null_buffer, "copy", "null pointer with " + std::to_string(bytes) + " bytes");
}
}  // namespace

CopyEngine::CopyEngine(const std::vector<Device>& devices, bool p2p, std::size_t kept)
    : devices_(devices),
      copier_(device::make_copier(devices, p2p, kept)),
      typed_(std::make_unique<TypedCopies>(devices, p2p, *copier_)),
      exported_(std::make_unique<ExportedBuffers>(devices, *copier_)) {}
CopyEngine::~CopyEngine() = default;

bool CopyEngine::is_device_memory(const void* memory) const {
  return datatype::is_view(memory) || (memory && copier_->is_device_memory(memory));
}

int CopyEngine::gpu_of(const void* memory) const {
  const int device = datatype::is_view(memory) ? typed_->device_of(memory) : copier_->device_of(memory);
  const auto found =
      std::find_if(devices_.begin(), devices_.end(), [&](const Device& d) { return d.index() == device; });
  return device < 0 || found == devices_.end() ? -1 : static_cast<int>(found - devices_.begin());
}

bool CopyEngine::is_pageable(const void* memory) const {
  if (datatype::is_view(memory)) return typed_->is_pageable(memory);
  return memory && copier_->is_pageable(memory);
}

bool CopyEngine::kernels_can_read(const void* memory, int device) const {
  return memory && !datatype::is_view(memory) && copier_->kernels_can_read(memory, device);
}

void CopyEngine::copy(void* to, const void* from, std::size_t bytes) const {
  check_bytes(to, bytes);
  check_bytes(from, bytes);
  if (bytes == 0) return;
  if (datatype::is_view(to) || datatype::is_view(from))
    typed_->copy(to, from, bytes);
  else
    copier_->copy(to, from, bytes);
}

void CopyEngine::start(void* to, const void* from, std::size_t bytes, std::uint32_t* done, std::uint32_t value) const {
  check_bytes(to, bytes);
  check_bytes(from, bytes);
  check_bytes(done, sizeof *done);
  if (bytes && (datatype::is_view(to) || datatype::is_view(from)))
    typed_->start(to, from, bytes, done, value);
  else
    copier_->start(to, from, bytes, done, value);
}

void CopyEngine::adopt(const void* memory, std::size_t bytes, int gpu) {
  copier_->adopt(memory, bytes, devices_[static_cast<std::size_t>(gpu)].index());
}

void CopyEngine::enter() const { copier_->enter(); }

bool CopyEngine::busy() const { return copier_->busy(); }

device::CopyRecords CopyEngine::take_records() const {
  device::CopyRecords records = copier_->take_records();
  for (device::CopyRecord& r : records.kept) {
    const auto found =
        std::find_if(devices_.begin(), devices_.end(), [&](const Device& d) { return d.index() == r.device; });
    r.device = static_cast<int>(found - devices_.begin());
  }
  return records;
}

void start_request(const CopyEngine& engine, const message::CopyRequest& request) {
  // Addresses come as numbers, because kernels and host need not agree on more than these.
  const auto at = [](std::uint64_t address) { return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address)); };
  engine.start(at(request.to), at(request.from), request.bytes, static_cast<std::uint32_t*>(at(request.done)),
               request.value);
}

}  // namespace dcgn::transport
