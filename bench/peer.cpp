#include "bench/peer.hpp"

#include "bench/json.hpp"

#include <dcgn/error.hpp>

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>

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

std::string program_of(const Peer& peer) {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  return (self.parent_path() / peer.program).string();
}

// As one word of a shell's command.
std::string quoted(const std::string& text) {
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

std::string launcher() {
  if (::geteuid() == 0) {  // Open MPI asks root for consent
    ::setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 0);
    ::setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 0);
  }
  const char* mpirun = std::getenv("DCGN_MPIRUN");
  return fmt::format("{} -n 2 --bind-to none {}", mpirun ? mpirun : "mpirun",
                     std::thread::hardware_concurrency() < 2 ? "--oversubscribe " : "");
}

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
  // In the foreground, so that ^C reaches it; and it ends with this program, however that ends.
  const std::string command = fmt::format(
      "exec setpriv --pdeathsig TERM timeout --foreground --kill-after=10 {:.0f} {}{}{} --measures {} --seconds {} "
      "--window {} {}",
      600 + 2 * seconds * static_cast<double>(sizes.size() * measures.size()),
      *peer.environment ? fmt::format("env {}", peer.environment) : "", peer.launched ? launcher() : "",
      quoted(program_of(peer)), fmt::join(measures, ","), seconds, window, fmt::join(sizes, " "));
  std::FILE* pipe = ::popen(command.c_str(), "r");
  if (!pipe) throw Error(Code::io, "bench", who + "cannot run " + command);
  std::string text;
  std::array<char, 4096> piece;
  while (const std::size_t got = std::fread(piece.data(), 1, piece.size(), pipe)) text.append(piece.data(), got);
  const int status = ::pclose(pipe);
  if (status != 0)
    throw Error(Code::io, "bench",
                fmt::format("{}exit code {} from: {}", who, WIFEXITED(status) ? WEXITSTATUS(status) : -1, command));
  std::vector<Row> rows;
  try {
    // The libraries may print notices of their own, before the rows and after them.
    const std::size_t begin = std::min(text.find("[{"), text.size());
    const std::string array = text.substr(begin, text.find('\n', begin) - begin);
    for (const auto& row : nlohmann::ordered_json::parse(array)) rows.push_back(row_from(row));
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
