// The same work by other systems: programs beside the dcgn command, which print their rows.
#pragma once

#include "bench/row.hpp"
#include "bench/window.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace dcgn::bench {

// `name` is a peer here: mpi, nvshmem and torch, which run as processes, pinned to nothing; nccl and custom, which are
// one process. Anything else is an Error(configuration). `what` its program measures: "p2p", of two processes; "coll",
// coll_peer.hpp.

// Throws Error(io), saying what is missing, where the peer's program is not built; must be called before the work.
void find_peer(const std::string& name, const std::string& what = "p2p");
// Whether it is.
bool has_peer(const std::string& name, const std::string& what = "p2p");
// How it is begun, where it has a process a rank as so many of them.
std::string peer_command(const std::string& name, const std::string& what, int processes);

// What the peers can be asked for.
struct PeerPlan {
  std::vector<std::string> measures;  // "latency", "bandwidth", "bidirectional"
  std::vector<std::int64_t> sizes;
  int window = usual_window;  // as window_of() has it
  double seconds = 0.2;       // that a row should take
};

// The path that the peer's rows are of.
std::string path_of_peer(const std::string& name);

// The peer's rows of these measures: one or more of each at each size. Throws Error(io) where its program fails, prints
// anything else, or takes ten minutes more than it is to measure.
std::vector<Row> run_peer(const std::string& name, const PeerPlan& plan);

}  // namespace dcgn::bench
