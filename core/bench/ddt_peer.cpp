#include "bench/program.hpp"
#include "core/bench/ddt.hpp"

#include <dcgn/error.hpp>

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <map>

namespace dcgn::bench {

namespace {

using Kind = DdtShape::Kind;

struct DdtPeer {
  const char* place;
  std::vector<Kind> kinds;
  const char* program;
  const char* before;  // of its command
  const char* where;   // it is built
};

const std::map<std::string, DdtPeer> ddt_peers = {
    {"mpi",
     {"host",
      {Kind::contiguous, Kind::rows, Kind::triangle, Kind::stair, Kind::transpose, Kind::random, Kind::scatter},
      "dcgn_peer_mpi_ddt",
      "env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 ",
      "where MPI is found: scripts/install-packages mpi, then configure and build again"}},
    {"cuda",
     {"device",
      {Kind::contiguous, Kind::rows, Kind::triangle, Kind::stair, Kind::random},
      "dcgn_peer_cuda_ddt",
      "",
      "where CUDA is on"}},
    {"torch",
     {"device",
      {Kind::contiguous, Kind::rows, Kind::transpose},
      "dcgn_peer_torch_ddt.py",
      "python3 ",
      "where CUDA is on"}},
};

const DdtPeer& ddt_peer_of(const std::string& name) {
  const auto found = ddt_peers.find(name);
  if (found != ddt_peers.end()) return found->second;
  throw Error(Code::configuration, "bench", "--peers " + name + ": expected mpi, cuda or torch");
}

}  // namespace

bool ddt_has_peer(const std::string& name, const DdtShape& shape, const std::string& place) {
  const DdtPeer& peer = ddt_peer_of(name);
  // PyTorch has no elements of other sizes.
  if (name == "torch" && shape.kind == Kind::transpose && shape.first != 4 && shape.first != 8) return false;
  return place == peer.place && std::find(peer.kinds.begin(), peer.kinds.end(), shape.kind) != peer.kinds.end();
}

void find_ddt_peer(const std::string& name) {
  const DdtPeer& peer = ddt_peer_of(name);
  const std::string program = beside_this(peer.program);
  if (::access(program.c_str(), R_OK) != 0)
    throw Error(Code::io, "bench",
                fmt::format("--peers {}: there is no {}; it is built {}", name, program, peer.where));
}

std::vector<DdtRow> run_ddt_peer(const std::string& name, const std::vector<DdtShape>& shapes, std::int64_t bytes,
                                 double seconds) {
  const DdtPeer& peer = ddt_peer_of(name);
  std::string names;
  for (const DdtShape& shape : shapes) names += (names.empty() ? "" : ",") + shape.name;
  const std::string command = fmt::format("{}{} {} {} {}", peer.before, quoted(beside_this(peer.program)),
                                          bench::quoted(names), bytes, seconds);
  const std::string who = "--peers " + name + ": ";
  try {
    std::vector<DdtRow> rows;
    for (const auto& row : rows_of(command, 600, who)) rows.push_back(ddt_row_from(row));
    return rows;
  } catch (const nlohmann::json::exception& e) {
    throw Error(Code::io, "bench", who + command + " printed something else: " + e.what());
  }
}

}  // namespace dcgn::bench
