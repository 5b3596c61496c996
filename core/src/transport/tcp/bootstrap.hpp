// How processes that were started without MPI find each other: rank 0 listens beside MASTER_PORT, the others connect to
// MASTER_ADDR and say where they can be reached, and rank 0 tells all of them. The variables are those that torchrun
// sets.
#pragma once

#include "transport/sockets.hpp"

#include <cstdint>
#include <vector>

namespace dcgn::transport {

struct Bootstrap {
  int rank = 0;
  Socket listener;  // where this process can be reached
  std::uint64_t token = 0;
  std::vector<Address> addresses;  // [rank], in network order
};

// torch keeps a store of its own at MASTER_PORT; this is at the first free one of so many ports that follow.
inline constexpr int bootstrap_ports = 16;

// By all processes together. Throws Error: configuration where the variables make no sense or do not agree,
// deadline where the others do not come within so many seconds.
Bootstrap bootstrap(int rank, int size, double within_s);

}  // namespace dcgn::transport
