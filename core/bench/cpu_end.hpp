// A CPU rank as an end of a measurement. Apart from the kernels, so that the host's compiler alone sees it.
#pragma once

#include "core/bench/window_kernel.hpp"

#include <dcgn/device.hpp>

#include <optional>

namespace dcgn {
class Comm;
}

namespace dcgn::bench {

// Rank 0 leads and fills in the samples, rank 1 follows. The buffers, but not the control words, are in the memory of
// `device` where one is given. Throws what the calls of `comm` throw.
void take_part(Comm& comm, const std::optional<Device>& device, const Buffers& buffers, const Plan& plan,
               Samples* samples);
void take_part(Comm& comm, const std::optional<Device>& device, const Buffers& buffers, const WindowPlan& plan,
               Samples* samples);

}  // namespace dcgn::bench
