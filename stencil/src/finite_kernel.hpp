// The first cell of a part that is not finite.
#pragma once

#include <dcgn/device.hpp>
#include <dcgn/stencil/stage.hpp>

#include <cstdint>
#include <memory>
#include <optional>

namespace dcgn::stencil {

class FiniteSearch {
 public:
  // Of parts in memory of the device or, where none is given, of the host.
  explicit FiniteSearch(const std::optional<Device>& device);
  FiniteSearch(FiniteSearch&&) noexcept;
  ~FiniteSearch();

  // The number of the cell, with x fastest, or -1 where all are finite. `reals` are of `real_bytes` bytes each, 4 or 8,
  // and `reals_each` of them make a cell; `array` is the address of cell 0.
  std::int64_t first(const Part& part, const void* array, int real_bytes, int reals_each);

 private:
  struct OnDevice;
  std::unique_ptr<OnDevice> on_device_;  // kept from search to search; null on the host
};

}  // namespace dcgn::stencil
