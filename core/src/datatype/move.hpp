// Moves packed bytes between two layouts, or a layout and a buffer without gaps, by the threads of a device.
#pragma once

#include <dcgn/device.hpp>

#include "datatype/layout.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dcgn::datatype {

// Bytes from `begin` on of what a layout packs; without a layout, of a buffer without gaps.
struct Side {
  const Layout* layout;
  std::byte* memory;
  std::int64_t begin;
};

struct Transfer {
  Side from, to;
  std::int64_t bytes;
};

// In the stream's order, in as few launches as may be; the memory of all sides must be such as the device's kernels
// reach. Kernels of so many blocks at most, where that is not 0: the rest of the device is left to others. The layouts
// may go once this returns.
void move(const Device& device, Stream& stream, const std::vector<Transfer>& transfers, int most_blocks = 0);

}  // namespace dcgn::datatype
