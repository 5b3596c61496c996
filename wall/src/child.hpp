// A process that ends with the wall.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace dcgn::wall {

class Child {
 public:
  Child() = default;
  // Runs the program of that name (looked for in PATH) after `prepare`, which may set descriptors and variables; it
  // must do what is allowed between fork and exec only. Throws Error(io) where there is no such program.
  Child(const std::vector<std::string>& command, const std::function<void()>& prepare);
  Child(Child&& o) noexcept : process_(std::exchange(o.process_, 0)), status_(o.status_) {}
  Child& operator=(Child&& o) noexcept {
    std::swap(process_, o.process_);
    std::swap(status_, o.status_);
    return *this;
  }
  ~Child();  // ends it, by force after a moment

  pid_t process() const { return process_; }
  // Whether it has ended by itself, at the latest in so many milliseconds.
  bool ended(int within_ms = 0);
  // "exit code 3", "signal 9 (Killed)"; once it has ended.
  std::string how() const;
  bool killed() const;
  int exit_code() const;
  void end(int signal);

 private:
  pid_t process_ = 0;  // 0: none, or no more
  int status_ = 0;
};

}  // namespace dcgn::wall
