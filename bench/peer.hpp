// The same work by other systems: programs beside the dcgn command, which print their rows.
#pragma once

#include "bench/row.hpp"

#include <cstdint>
#include <vector>

namespace dcgn::bench {

// Throws Error(io), saying what is missing, where MPI's peer is not built; must be called before the work.
void find_mpi_peer();

// Runs dcgn_peer_mpi_p2p as two processes, pinned to nothing. A row for each size. Throws Error(io) where that fails,
// or takes ten minutes more than it is to measure.
std::vector<Row> run_mpi_peer(const std::vector<std::int64_t>& sizes, double seconds);

}  // namespace dcgn::bench
