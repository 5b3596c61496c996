// Traces made by hand, for tests.
#pragma once

#include "trace/document.hpp"

#include <cstdint>

namespace dcgn::test {

// Two CPU ranks that send a message to and fro.
trace::Document ping_pong(int rounds);

struct StencilShape {
  int gpus = 2, slots = 4;  // slots of each GPU; a rank each, in a ring
  int nodes = 1;
  int steps = 20, reduce_every = 5;
  int slow_rank = 2;
};

// Ranks that compute, exchange halos with both neighbours and add something up every few steps; one is slow. Devices
// have a kernel each and a few copies.
trace::Document stencil(const StencilShape& shape, std::uint32_t seed = 1);

}  // namespace dcgn::test
