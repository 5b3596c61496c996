// A datatype in a device's memory, for kernels of that device.
#pragma once

#include <dcgn/datatype.hpp>
#include <dcgn/device.hpp>
#include <dcgn/gpu/datatype.hpp>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace dcgn {

// `count` of a type. Throws Error(invalid_size) for a negative count, Error(device) where there is no memory for it.
class DeviceDatatype {
 public:
  DeviceDatatype(const Device& device, const Datatype& type, std::int64_t count = 1);

  // For kernels, by value; valid as long as this object.
  gpu::Datatype handle() const { return {leaves_.data(), static_cast<int>(leaves_.size()), bytes_}; }
  std::int64_t bytes() const noexcept { return bytes_; }  // when packed
  DeviceDatatype(DeviceDatatype&& other) noexcept
      : leaves_(std::move(other.leaves_)), bytes_(std::exchange(other.bytes_, 0)), tables_(std::move(other.tables_)) {}
  DeviceDatatype& operator=(DeviceDatatype&& other) noexcept {
    std::swap(leaves_, other.leaves_);
    std::swap(bytes_, other.bytes_);
    std::swap(tables_, other.tables_);
    return *this;
  }

 private:
  DeviceBuffer<datatype::KernelLeaf> leaves_;
  std::int64_t bytes_;
  std::vector<std::shared_ptr<const void>> tables_;  // that the leaves point to
};

}  // namespace dcgn
