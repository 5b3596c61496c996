#include "bench/peer.hpp"

#include "bench/json.hpp"
#include "bench/program.hpp"

#include <dcgn/error.hpp>

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <string>

namespace dcgn::bench {

namespace {

struct Peer {
  const char* name;
  const char* path;
  const char* program;
  const char* missing;  // what its program is built with
  // NVLink multicast can put the GPUs of a shared machine out of service. Where MPI only starts the processes, it needs
  // nothing that looks at the GPUs or at a network.
  const char* environment;
  bool launched;  // by mpirun
};

constexpr Peer peers[] = {
    {"mpi", "cpu-cpu", "dcgn_peer_mpi_p2p", "MPI is found: scripts/install-packages mpi", "", true},
    {"nccl", "device-device", "dcgn_peer_nccl_p2p",
     "CUDA is on and NCCL is found: in NCCL_ROOT or python3's package nvidia-nccl-cu13", "NCCL_NVLS_ENABLE=0 ", false},
    {"nvshmem", "slot-slot", "dcgn_peer_nvshmem_p2p",
     "CUDA is on and MPI and NVSHMEM are found: in NVSHMEM_ROOT or python3's package nvidia-nvshmem-cu13",
     "NVSHMEM_DISABLE_NVLS=1 NVSHMEM_REMOTE_TRANSPORT=none OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,vader,tcp ", true},
};

const Peer& peer_of(const std::string& name) {
  for (const Peer& peer : peers)
    if (name == peer.name) return peer;
  throw Error(Code::configuration, "bench", "--peers " + name + ": expected mpi, nccl or nvshmem");
}

std::string program_of(const Peer& peer) { return beside_this(peer.program); }

}  // namespace

bool has_peer(const std::string& name) { return ::access(program_of(peer_of(name)).c_str(), X_OK) == 0; }

void find_peer(const std::string& name) {
  if (!has_peer(name))
    throw Error(Code::io, "bench",
                fmt::format("--peers {}: there is no {}; it is built where {}, then configure and build again", name,
                            program_of(peer_of(name)), peer_of(name).missing));
}

std::string path_of_peer(const std::string& name) { return peer_of(name).path; }

std::vector<Row> run_peer(const std::string& name, const PeerPlan& plan) {
  const auto& [measures, sizes, window, seconds] = plan;
  const Peer& peer = peer_of(name);
  const std::string who = "--peers " + name + ": ";
  const std::string command =
      fmt::format("{}{}{} --measures {} --seconds {} --window {} {}",
                  *peer.environment ? fmt::format("env {}", peer.environment) : "", peer.launched ? mpirun(2) : "",
                  quoted(program_of(peer)), fmt::join(measures, ","), seconds, window, fmt::join(sizes, " "));
  const double limit_s = 600 + 2 * seconds * static_cast<double>(sizes.size() * measures.size());
  std::vector<Row> rows;
  const nlohmann::ordered_json printed = rows_of(command, limit_s, who);
  try {
    for (const auto& row : printed) rows.push_back(row_from(row));
  } catch (const nlohmann::json::exception& e) {
    throw Error(Code::io, "bench", who + command + " printed no rows: " + e.what());
  }
  for (const Row& row : rows)
    if (std::find(measures.begin(), measures.end(), row.measure) == measures.end() ||
        std::find(sizes.begin(), sizes.end(), row.bytes) == sizes.end())
      throw Error(Code::io, "bench",
                  fmt::format("{}a row of {} at {} bytes that was not asked for, from: {}", who, row.measure, row.bytes,
                              command));
  for (const std::string& measure : measures)
    for (const std::int64_t bytes : sizes)
      if (std::none_of(rows.begin(), rows.end(),
                       [&](const Row& row) { return row.measure == measure && row.bytes == bytes; }))
        throw Error(Code::io, "bench",
                    fmt::format("{}no row of {} at {} bytes, from: {}", who, measure, bytes, command));
  return rows;
}

}  // namespace dcgn::bench
