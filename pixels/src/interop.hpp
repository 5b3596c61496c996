// Pixel buffer objects as memory of the CUDA device that the context draws with.
#pragma once

#include "pixels/src/staging.hpp"

#include <dcgn/device.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace dcgn::pixels {

// Why the current context's pixels cannot be had as memory of a CUDA device which `comm` reaches; empty where they can.
std::string interop_refusal(const Comm& comm);
// Throws Error(device), naming the driver's call that failed.
std::unique_ptr<Staging> make_interop_staging(const char* operation, std::int64_t capacity, ShaderCopier& copier);

}  // namespace dcgn::pixels
