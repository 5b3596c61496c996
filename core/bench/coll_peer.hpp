// Collectives by other systems: programs beside the dcgn command, which print their rows.
#pragma once

#include "bench/peer.hpp"
#include "core/bench/coll.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace dcgn::bench {

// What find_peer() is asked for.
inline constexpr const char* collectives_of_peers = "coll";

// nccl and custom: one process, a rank a GPU; torch and nvshmem: a process a GPU; mpi: a process a rank, host memory.
std::vector<std::string> coll_peers();

// Whether the peer makes any of these calls beside these ranks of ours.
bool coll_peer_has(const std::string& name, const CollRanks& ranks, const std::vector<Collective>& ops);

// What the peers can be asked for.
struct CollPeerPlan {
  std::vector<Collective> ops;
  std::vector<std::int64_t> sizes;  // from which sizes_of() has those of a collective
  int ranks = 2;
  double seconds = 0.2;  // that a row should take
};

// The peer's rows, one or more for each collective and each size that it can do; sizes that take it long are left out.
// Throws Error(io) where its program fails, prints anything else, or takes ten minutes more than it is to measure.
std::vector<Row> run_coll_peer(const std::string& name, const CollPeerPlan& plan);

}  // namespace dcgn::bench
