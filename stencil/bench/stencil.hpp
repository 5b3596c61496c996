// Stencils measured: Cahn-Hilliard by midpoint steps and Jacobi's iteration, of floats, over some devices, by Decagon's
// modes and by what a user would write without it. The paper's figures 4 to 6 and table 1 anew (Playne and Hawick
// 2011).
#pragma once

#include "stencil/bench/stencil_row.hpp"

#include <dcgn/stencil/stepper.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace dcgn::bench {

struct StencilWork {
  std::string equation;            // "cahn-hilliard", "jacobi"
  std::vector<std::int64_t> size;  // 2 or 3 extents, periodic; of Jacobi two that are equal
  int devices = 1;                 // a rank each
  bool gpus = true;                // else CPU ranks
  Mode mode = Mode::automatic;
  Exchange exchange = Exchange::each_stage;
  std::int64_t steps = 0;  // that are timed, in ten runs
};

// Ours. `wrong` counts cells near the parts' borders, after the first few steps, that are not those of one CPU rank.
// Throws what Grid, Stepper and Job do.
StencilRow measure_stencil(const StencilWork& work);

// What plain copies within memory reach, in GB/s read and written: of the first GPU, or of one thread of the host.
double copy_gb_per_s(bool gpus);

// The largest square or cube, a multiple of `unit` along each side, of which the devices can do a step. Throws
// Error(unsupported) where they are no real GPUs: memory of a host is not tried to its end.
std::int64_t largest_size(const StencilWork& work, std::int64_t unit);

// Throws Error(io), saying what is missing, where the peer's program for Jacobi is not built: "mpi", "nccl", "nvshmem".
void find_stencil_peer(const std::string& name);
// The same work by a peer. Throws Error(io) where its program fails.
StencilRow run_stencil_peer(const std::string& name, const StencilWork& work);

}  // namespace dcgn::bench
