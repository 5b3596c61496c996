// Copies among CUDA devices and the host by the copy engines.
#pragma once

#include "../copier.hpp"

#include <cstddef>
#include <memory>
#include <vector>

namespace dcgn::device {

// With p2p, enables peer access between all devices that can have it.
std::unique_ptr<Copier> make_cuda_copier(const std::vector<Device>& devices, bool p2p, std::size_t kept);

}  // namespace dcgn::device
