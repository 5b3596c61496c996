// Three emulated GPUs where there is no real one: for one file of each test program.
#pragma once

#include <cstdlib>

namespace dcgn::test {

// In a build that drives CUDA devices, those of the machine are used.
#if !defined(__CUDACC__)
[[maybe_unused]] static const int three_emulated_gpus = setenv("DCGN_EMULATED_GPUS", "3", 0);
#endif

}  // namespace dcgn::test
