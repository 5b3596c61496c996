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

enum class Launcher { none, mpirun, torchrun };

struct Peer {
  const char* name;
  const char* program;  // a part of its name: what it is written with
  const char* path;     // of its messages between two ranks
  const char* missing;  // what its program is built with
  // NVLink multicast can put the GPUs of a shared machine out of service. Where MPI only starts the processes, it needs
  // nothing that looks at the GPUs or at a network.
  const char* environment;
  Launcher launcher;
};

constexpr Peer peers[] = {
    {"custom", "cuda", "", "where CUDA is on", "", Launcher::none},
    {"mpi", "mpi", "cpu-cpu", "where MPI is found: scripts/install-packages mpi", "", Launcher::mpirun},
    {"nccl", "nccl", "device-device",
     "where CUDA is on and NCCL is found: in NCCL_ROOT or python3's package nvidia-nccl-cu13", "NCCL_NVLS_ENABLE=0 ",
     Launcher::none},
    {"nvshmem", "nvshmem", "slot-slot",
     "where CUDA is on and MPI and NVSHMEM are found: in NVSHMEM_ROOT or python3's package nvidia-nvshmem-cu13",
     "NVSHMEM_DISABLE_NVLS=1 NVSHMEM_REMOTE_TRANSPORT=none OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,vader,tcp ",
     Launcher::mpirun},
    {"torch", "torch", "", "where CUDA is on; it needs python3's package torch",
     "NCCL_NVLS_ENABLE=0 TORCH_SYMM_MEM_DISABLE_MULTICAST=1 OMP_NUM_THREADS=1 ", Launcher::torchrun},
};

const Peer& peer_of(const std::string& name) {
  for (const Peer& peer : peers)
    if (name == peer.name) return peer;
  throw Error(Code::configuration, "bench", "--peers " + name + ": expected custom, mpi, nccl, nvshmem or torch");
}

std::string program_of(const Peer& peer, const std::string& what) {
  return beside_this(
      fmt::format("dcgn_peer_{}_{}{}", peer.program, what, peer.launcher == Launcher::torchrun ? ".py" : ""));
}

std::string launcher_of(const Peer& peer, int processes) {
  switch (peer.launcher) {
    case Launcher::none: break;
    case Launcher::mpirun: return mpirun(processes);
    case Launcher::torchrun: return fmt::format("python3 -m torch.distributed.run --nproc-per-node {} ", processes);
  }
  return {};
}

}  // namespace

bool has_peer(const std::string& name, const std::string& what) {
  return ::access(program_of(peer_of(name), what).c_str(), R_OK) == 0;
}

void find_peer(const std::string& name, const std::string& what) {
  if (!has_peer(name, what))
    throw Error(Code::io, "bench",
                fmt::format("--peers {}: there is no {}; it is built {}, then configure and build again", name,
                            program_of(peer_of(name), what), peer_of(name).missing));
}

std::string peer_command(const std::string& name, const std::string& what, int processes) {
  const Peer& peer = peer_of(name);
  return fmt::format("{}{}{}", *peer.environment ? fmt::format("env {}", peer.environment) : "",
                     launcher_of(peer, processes), quoted(program_of(peer, what)));
}

std::string path_of_peer(const std::string& name) { return peer_of(name).path; }

std::vector<Row> run_peer(const std::string& name, const PeerPlan& plan) {
  const auto& [measures, sizes, window, seconds] = plan;
  const std::string who = "--peers " + name + ": ";
  const std::string command = fmt::format("{} --measures {} --seconds {} --window {} {}", peer_command(name, "p2p", 2),
                                          fmt::join(measures, ","), seconds, window, fmt::join(sizes, " "));
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
