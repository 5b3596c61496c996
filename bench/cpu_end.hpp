// A CPU rank as an end of a measurement. Apart from the kernels, so that the host's compiler alone sees it.
#pragma once

#include "bench/ping_kernel.hpp"

namespace dcgn {
class Comm;
}

namespace dcgn::bench {

// Rank 0 leads and fills in the samples, rank 1 follows. Throws what the calls of `comm` throw.
void take_part(Comm& comm, const Buffers& buffers, const Plan& plan, Samples* samples);

}  // namespace dcgn::bench
