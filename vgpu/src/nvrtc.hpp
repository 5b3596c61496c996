// CUDA source to PTX, by NVRTC.
#pragma once

#include <string>
#include <vector>

namespace dcgn::virtual_gpu {

// Loads NVRTC at first use, from where the loader finds it or /usr/local/cuda. No GPU is needed. Throws
// Error(unsupported) where there is none, which names what was tried; Error(configuration) with the compiler's first
// error where `text` does not compile.
std::string compile(const std::string& name, const std::string& text, const std::vector<std::string>& options);

}  // namespace dcgn::virtual_gpu
