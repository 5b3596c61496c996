// A datatype in a device's memory, for kernels of that device.
#pragma once

#include <dcgn/datatype.hpp>
#include <dcgn/device.hpp>
#include <dcgn/gpu/datatype.hpp>

#include <cstdint>
#include <memory>
#include <vector>

namespace dcgn {

// `count` of a type. Throws Error(invalid_size) for a negative count, Error(device) where there is no memory for it.
class DeviceDatatype {
 public:
  DeviceDatatype(const Device& device, const Datatype& type, std::int64_t count = 1);

  // For kernels, by value; valid as long as this object.
  gpu::Datatype handle() const { return {leaves_.data(), static_cast<int>(leaves_.size()), bytes_}; }
  std::int64_t bytes() const noexcept { return bytes_; }  // when packed

 private:
  DeviceBuffer<datatype::KernelLeaf> leaves_;
  std::int64_t bytes_;
  std::vector<std::shared_ptr<const void>> tables_;  // that the leaves point to
};

}  // namespace dcgn
