// The table of mpi_calls.hpp without an MPI: over TCP, for processes that torchrun has started.
#pragma once

#include "transport/mpi_calls.hpp"

namespace dcgn::transport {

// init() throws Error as bootstrap() does.
const MpiCalls& tcp_calls();

}  // namespace dcgn::transport
