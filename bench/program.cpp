#include "bench/program.hpp"

#include <dcgn/error.hpp>

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <thread>

namespace dcgn::bench {

std::string beside_this(const std::string& program) {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  return (self.parent_path() / program).string();
}

std::string quoted(const std::string& text) {
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

std::string mpirun(int processes) {
  if (::geteuid() == 0) {  // Open MPI asks root for consent
    ::setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 0);
    ::setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 0);
  }
  const char* program = std::getenv("DCGN_MPIRUN");
  return fmt::format("{} -n {} --bind-to none {}", program ? program : "mpirun", processes,
                     std::thread::hardware_concurrency() < static_cast<unsigned>(processes) ? "--oversubscribe " : "");
}

std::string output_of(const std::string& what, double seconds, const std::string& who,
                      std::initializer_list<int> fine) {
  // In the foreground, so that ^C reaches it; and it ends with this program, however that ends.
  const std::string command =
      fmt::format("exec setpriv --pdeathsig TERM timeout --foreground --kill-after=10 {:.0f} {}", seconds, what);
  std::FILE* pipe = ::popen(command.c_str(), "r");
  if (!pipe) throw Error(Code::io, "bench", who + "cannot run " + command);
  std::string text;
  std::array<char, 4096> piece;
  while (const std::size_t got = std::fread(piece.data(), 1, piece.size(), pipe)) text.append(piece.data(), got);
  const int status = ::pclose(pipe);
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  if (std::find(fine.begin(), fine.end(), code) == fine.end())
    throw Error(Code::io, "bench", fmt::format("{}exit code {} from: {}", who, code, command));
  return text;
}

nlohmann::ordered_json rows_of(const std::string& command, double seconds, const std::string& who) {
  const std::string text = output_of(command, seconds, who);
  try {
    // The libraries may print notices of their own, before the rows and after them.
    const std::size_t begin = std::min(text.find("[{"), text.size());
    return nlohmann::ordered_json::parse(text.substr(begin, text.find('\n', begin) - begin));
  } catch (const nlohmann::json::exception& e) {
    throw Error(Code::io, "bench", who + command + " printed no rows: " + e.what());
  }
}

}  // namespace dcgn::bench
