// Memory of several CUDA devices at one address: the driver's virtual memory management.
#pragma once

#include "cuda_driver.hpp"

#include <array>
#include <cstddef>
#include <vector>

namespace dcgn::device {

// What sizes and offsets are multiples of. Throws Error(unsupported) where one of the devices has no such memory.
std::size_t page_bytes_of(const std::vector<int>& devices);

// Memory of one device, without an address.
class PhysicalMemory {
 public:
  // Throws Error(device) where there is not enough.
  PhysicalMemory(int device, std::size_t bytes);
  PhysicalMemory(PhysicalMemory&& other) noexcept;
  PhysicalMemory& operator=(PhysicalMemory&& other) noexcept;
  ~PhysicalMemory();

  CUmemGenericAllocationHandle handle() const { return handle_; }
  std::size_t bytes() const { return bytes_; }

 private:
  CUmemGenericAllocationHandle handle_ = 0;
  std::size_t bytes_ = 0;
};

// Addresses, the same on all devices.
class AddressRange {
 public:
  // Before and behind it, `gap` bytes of addresses are no memory's; where there are not so many, a page behind it.
  explicit AddressRange(std::size_t bytes, std::size_t gap = 0);
  AddressRange(const AddressRange&) = delete;
  AddressRange& operator=(const AddressRange&) = delete;
  ~AddressRange();

  void* address() const { return reinterpret_cast<void*>(address_); }
  // Gives memory an address, in the order in which it is to lie, until all has one; then `devices` may use it.
  void map(const std::vector<PhysicalMemory>& memory, const std::vector<int>& devices);
  // Has this memory lie before and behind it as well, in the gaps, once all has an address. Without gaps, does nothing.
  void guard(const PhysicalMemory& memory, const std::vector<int>& devices);
  bool is_guarded() const { return guard_bytes_ != 0; }
  // They may use it, too, from now on.
  void share(const std::vector<int>& devices);
  // Takes it off again. No kernel may use it.
  void unmap();

 private:
  std::array<CUdeviceptr, 2> guards(std::size_t bytes) const { return {address_ - bytes, address_ + inside_}; }

  const std::size_t inside_;
  std::size_t bytes_;  // with the gaps
  CUdeviceptr begin_ = 0, address_ = 0;
  std::size_t mapped_ = 0, guard_bytes_ = 0;  // of one guard
  const bool has_gaps_;
};

}  // namespace dcgn::device
