// Streams of other libraries' arrays, by the CUDA driver, which is loaded where one is met.
#pragma once

#include <cstdint>

namespace dcgn::python {

inline constexpr std::uintptr_t legacy_stream = 1;  // CU_STREAM_LEGACY

// Waits until a CUstream has done what it was given. Throws Error(device) where the driver says no, or is not there.
void synchronize_stream(std::uintptr_t stream);

}  // namespace dcgn::python
