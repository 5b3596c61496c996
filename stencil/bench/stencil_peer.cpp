#include "bench/program.hpp"
#include "stencil/bench/stencil.hpp"

#include <dcgn/error.hpp>

#include <fmt/format.h>
#include <unistd.h>

namespace dcgn::bench {

namespace {

std::string program_of(const std::string& name) { return beside_this("dcgn_peer_" + name + "_jacobi"); }

}  // namespace

void find_stencil_peer(const std::string& name) {
  if (::access(program_of(name).c_str(), X_OK) == 0) return;
  throw Error(Code::io, "bench",
              fmt::format("--peers {}: there is no {}; it is built where {}, then configure and build again", name,
                          program_of(name),
                          name == "mpi"    ? "MPI is found: scripts/install-packages mpi"
                          : name == "nccl" ? "CUDA is on and NCCL is found: in NCCL_ROOT or python3's package "
                                             "nvidia-nccl-cu13"
                                           : "CUDA is on and MPI and NVSHMEM are found: in NVSHMEM_ROOT or python3's "
                                             "package nvidia-nvshmem-cu13"));
}

StencilRow run_stencil_peer(const std::string& name, const StencilWork& work) {
  find_stencil_peer(name);
  const bool processes = name != "nccl";
  std::string command = processes ? mpirun(work.devices) : "env NCCL_NVLS_ENABLE=0 ";  // multicast: see peer.cpp
  command += fmt::format("{} --size {} --steps {}", quoted(program_of(name)), work.size.front(), work.steps);
  if (!processes) command += fmt::format(" --gpus {}", work.devices);
  const std::string who = "--peers " + name + ": ";
  try {
    StencilRow row = stencil_row_from(rows_of(command, 600, who).at(0));
    if (row.equation != work.equation || row.size != work.size || row.devices != work.devices)
      throw Error(Code::io, "bench", who + "a row that was not asked for, from: " + command);
    return row;
  } catch (const nlohmann::json::exception& e) {
    throw Error(Code::io, "bench", who + command + " printed no row: " + e.what());
  }
}

}  // namespace dcgn::bench
