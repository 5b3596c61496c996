// The first cell of a part that is not finite.
#pragma once

#include <dcgn/device.hpp>
#include <dcgn/stencil/stage.hpp>

#include <cstdint>

namespace dcgn::stencil {

// Its number, with x fastest, or -1 where all are. `reals` are of `real_bytes` bytes each, 4 or 8, and `reals_each` of
// them make a cell; `array` is the address of cell 0, in memory of the device or, where none is given, of the host.
std::int64_t first_not_finite(const Part& part, const void* array, int real_bytes, int reals_each,
                              const Device* device);

}  // namespace dcgn::stencil
