// Names of kernels, as people write them.
#pragma once

#include <string>

namespace dcgn::virtual_gpu {

// A mangled name as C++ spells it, without result, parameters and unnamed namespaces: "step", "fill<float, 2>". Others
// stay as they are.
std::string plain_name(const std::string& name);

}  // namespace dcgn::virtual_gpu
