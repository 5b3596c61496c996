// What a device's clock shows beside the host's.
#pragma once

#include "base/clock_map.hpp"

#include <dcgn/device.hpp>

namespace dcgn::trace {

// A kernel answers the host some times with what now_ns() gives it; the shortest round trip bounds the error, together
// with the steps in which the clock goes. Of an emulated device, whose clock is the host's: no error. Throws what
// Device::launch() does.
base::Reading read_clock(const dcgn::Device& device);

}  // namespace dcgn::trace
