// The emulated GPU as a Backend: host memory, threads for streams and blocks.
#pragma once

#include "../backend.hpp"

#include <memory>

namespace dcgn::device {

// DCGN_EMULATED_SMS: its multiprocessors, 1 to 256, 16 where unset. Throws Error(configuration) for any other value.
std::unique_ptr<Backend> make_emulated_device(int index);

}  // namespace dcgn::device
