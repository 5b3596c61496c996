#include "bench/peer.hpp"

#include "bench/json.hpp"

#include <dcgn/error.hpp>

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>

namespace dcgn::bench {

namespace {

std::string program() {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  return (self.parent_path() / "dcgn_peer_mpi_p2p").string();
}

// As one word of a shell's command.
std::string quoted(const std::string& text) {
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

}  // namespace

void find_mpi_peer() {
  if (::access(program().c_str(), X_OK) != 0)
    throw Error(Code::io, "bench",
                "--peers mpi: there is no " + program() +
                    "; it is built where MPI is found: scripts/install-packages mpi, then configure and build again");
}

std::vector<Row> run_mpi_peer(const std::vector<std::int64_t>& sizes, double seconds) {
  if (::geteuid() == 0) {  // Open MPI asks root for consent
    ::setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 0);
    ::setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 0);
  }
  const char* launcher = std::getenv("DCGN_MPIRUN");
  // In the foreground, so that ^C reaches it; and it ends with this program, however that ends.
  const std::string command = fmt::format(
      "exec setpriv --pdeathsig TERM timeout --foreground --kill-after=10 {:.0f} {} -n 2 --bind-to none {}{} {} {}",
      600 + 2 * seconds * static_cast<double>(sizes.size()), launcher ? launcher : "mpirun",
      std::thread::hardware_concurrency() < 2 ? "--oversubscribe " : "", quoted(program()), seconds,
      fmt::join(sizes, " "));
  std::FILE* pipe = ::popen(command.c_str(), "r");
  if (!pipe) throw Error(Code::io, "bench", "--peers mpi: cannot run " + command);
  std::string text;
  std::array<char, 4096> piece;
  while (const std::size_t got = std::fread(piece.data(), 1, piece.size(), pipe)) text.append(piece.data(), got);
  const int status = ::pclose(pipe);
  if (status != 0)
    throw Error(
        Code::io, "bench",
        fmt::format("--peers mpi: exit code {} from: {}", WIFEXITED(status) ? WEXITSTATUS(status) : -1, command));
  std::vector<Row> rows;
  try {
    for (const auto& row : nlohmann::ordered_json::parse(text)) rows.push_back(row_from(row));
  } catch (const nlohmann::json::exception& e) {
    throw Error(Code::io, "bench", "--peers mpi: " + command + " printed no rows: " + e.what());
  }
  if (rows.size() != sizes.size())
    throw Error(Code::io, "bench",
                fmt::format("--peers mpi: {} rows, expected {}, from: {}", rows.size(), sizes.size(), command));
  return rows;
}

}  // namespace dcgn::bench
