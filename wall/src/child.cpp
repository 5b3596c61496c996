#include "wall/src/child.hpp"

#include <dcgn/error.hpp>

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

namespace dcgn::wall {

Child::Child(const std::vector<std::string>& command, const std::function<void()>& prepare) {
  std::vector<char*> words;
  words.reserve(command.size() + 1);
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  int failed[2];  // closed by exec, or the reason why there was none
  if (pipe2(failed, O_CLOEXEC) != 0) throw Error(Code::io, "wall", std::string("no pipe: ") + std::strerror(errno));
  const pid_t parent = getpid();
  process_ = fork();
  if (process_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    prepare();
    execvp(words[0], words.data());
    const int error = errno;
    static_cast<void>(!write(failed[1], &error, sizeof error));
    _exit(127);
  }
  close(failed[1]);
  int error = process_ < 0 ? errno : 0;
  if (process_ > 0 && read(failed[0], &error, sizeof error) != sizeof error) error = 0;
  close(failed[0]);
  if (error == 0) return;
  if (process_ > 0) waitpid(process_, nullptr, 0);
  process_ = 0;
  throw Error(Code::io, "wall", command[0] + ": " + std::strerror(error) + ": expected a program that can be run");
}

Child::~Child() {
  if (process_ == 0) return;
  kill(process_, SIGTERM);
  if (ended(2000)) return;
  kill(process_, SIGKILL);
  waitpid(process_, nullptr, 0);
}

bool Child::ended(int within_ms) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(within_ms);
  while (process_ != 0) {
    const pid_t found = waitpid(process_, &status_, WNOHANG);
    if (found == process_ || (found < 0 && errno == ECHILD)) process_ = 0;
    if (process_ == 0 || std::chrono::steady_clock::now() >= until) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return process_ == 0;
}

bool Child::killed() const { return WIFSIGNALED(status_); }
int Child::exit_code() const { return WIFEXITED(status_) ? WEXITSTATUS(status_) : -1; }

std::string Child::how() const {
  if (killed()) return "signal " + std::to_string(WTERMSIG(status_)) + " (" + strsignal(WTERMSIG(status_)) + ")";
  return "exit code " + std::to_string(exit_code());
}

void Child::end(int signal) {
  if (process_ != 0) kill(process_, signal);
}

}  // namespace dcgn::wall
