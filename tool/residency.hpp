// How many blocks of an ordinary kernel a device holds at once: what bounds its slots, one block each.
#pragma once

#include <dcgn/device.hpp>

namespace dcgn::tool {

int resident_blocks(Device device, int threads);

}  // namespace dcgn::tool
