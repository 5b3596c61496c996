// Named after the measurements, with which the package's place is known.
#include "tool/bench_python.hpp"

#include <dcgn/error.hpp>

#include <fmt/core.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace dcgn::tool {

namespace {

[[noreturn]] void fail(const std::string& who, const std::string& what, int error) {
  throw Error(Code::io, who, what + ": " + std::strerror(error));
}

// The folder that holds the package: beside the installed command, else in the source tree that it was built from.
std::string package_folder(const std::string& who, const std::string& file) {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::string installed = (self.parent_path() / DCGN_PYTHON_INSTALLED).lexically_normal().string();
  for (const std::string& folder : {installed, std::string(DCGN_PYTHON_SOURCE)})
    if (std::filesystem::exists(std::filesystem::path(folder) / "dcgn" / file, error)) return folder;
  throw Error(Code::io, who,
              fmt::format("there is no dcgn/{}: expected it in {} or {}", file, installed, DCGN_PYTHON_SOURCE));
}

void set_environment(const std::string& who, const std::string& module) {
  std::string path = package_folder(who, module.substr(module.find('.') + 1) + ".py");
  if (const char* others = std::getenv("PYTHONPATH"); others && *others) path += std::string(":") + others;
  // The package may be where nothing can or should be written.
  if (::setenv("PYTHONPATH", path.c_str(), 1) != 0 || ::setenv("PYTHONDONTWRITEBYTECODE", "1", 1) != 0)
    fail(who, "the environment cannot be set", errno);
}

// Returns where it fails, alone.
void execute(std::vector<std::string> words) {
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  ::execvp(argv[0], argv.data());
}

std::vector<std::string> command_of(const std::string& module, const std::vector<std::string>& words) {
  std::vector<std::string> all = {"python3", "-m", module};
  all.insert(all.end(), words.begin(), words.end());
  return all;
}

}  // namespace

void become_python(const std::string& who, const std::string& module, const std::vector<std::string>& words) {
  set_environment(who, module);
  execute(command_of(module, words));
  fail(who, "python3 cannot be run", errno);
}

int run_python(const std::string& who, const std::string& module, const std::vector<std::string>& words,
               const std::string& input) {
  set_environment(who, module);
  int ends[2];
  if (::pipe(ends) != 0) fail(who, "no pipe", errno);
  const std::vector<std::string> command = command_of(module, words);
  const pid_t child = ::fork();
  if (child < 0) fail(who, "no process", errno);
  constexpr int no_python = 127;
  if (child == 0) {
    ::dup2(ends[0], STDIN_FILENO);
    ::close(ends[0]);
    ::close(ends[1]);
    execute(command);
    ::_exit(no_python);
  }
  ::close(ends[0]);
  // A child that ends early says why itself.
  const auto before = std::signal(SIGPIPE, SIG_IGN);
  for (std::size_t sent = 0; sent < input.size();) {
    const ssize_t some = ::write(ends[1], input.data() + sent, input.size() - sent);
    if (some < 0 && errno == EINTR) continue;
    if (some <= 0) break;
    sent += static_cast<std::size_t>(some);
  }
  ::close(ends[1]);
  std::signal(SIGPIPE, before);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0)
    if (errno != EINTR) fail(who, "python3 cannot be waited for", errno);
  if (WIFEXITED(status) && WEXITSTATUS(status) == no_python)
    throw Error(Code::io, who, "python3 cannot be run: expected one in PATH");
  return WIFEXITED(status) ? WEXITSTATUS(status) : no_python;
}

}  // namespace dcgn::tool
