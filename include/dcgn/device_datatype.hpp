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
  gpu::Datatype handle() const {
    return {leaves_.data(), static_cast<int>(leaves_.size()), bytes_, contiguous_, displacement_};
  }
  std::int64_t bytes() const noexcept { return bytes_; }  // when packed
  DeviceDatatype(DeviceDatatype&& other) noexcept
      : leaves_(std::move(other.leaves_)),
        bytes_(std::exchange(other.bytes_, 0)),
        contiguous_(std::exchange(other.contiguous_, true)),
        displacement_(other.displacement_),
        tables_(std::move(other.tables_)) {}
  DeviceDatatype& operator=(DeviceDatatype&& other) noexcept {
    std::swap(leaves_, other.leaves_);
    std::swap(bytes_, other.bytes_);
    std::swap(contiguous_, other.contiguous_);
    std::swap(displacement_, other.displacement_);
    std::swap(tables_, other.tables_);
    return *this;
  }

 private:
  DeviceBuffer<datatype::KernelLeaf> leaves_;
  std::int64_t bytes_;
  bool contiguous_ = true;  // without gaps, from `displacement_` on
  std::int64_t displacement_ = 0;
  std::vector<std::shared_ptr<const void>> tables_;  // that the leaves point to
};

}  // namespace dcgn
