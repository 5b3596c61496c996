// Copies among emulated GPUs and the host, whose memory is one: done when a call returns, staged or not.
#pragma once

#include "../copier.hpp"

#include <cstddef>
#include <memory>
#include <vector>

namespace dcgn::device {

std::unique_ptr<Copier> make_emulated_copier(const std::vector<Device>& devices, bool p2p, std::size_t kept);

}  // namespace dcgn::device
