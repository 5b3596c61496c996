// Notices when a process of the job dies, and tells all when one stops the job: by a tree of TCP connections beside
// MPI, of which each process has one to its parent and at most eight to its children. So it works while MPI hangs.
#pragma once

#include "processes.hpp"
#include "sockets.hpp"

#include <dcgn/error.hpp>

#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace dcgn::transport {

class ProcessWatch {
 public:
  using OnStop = std::function<void(Code, const std::string&, bool dead)>;

  // Made by all processes together. Throws Error(device) where they cannot be connected.
  explicit ProcessWatch(Processes& processes);
  ProcessWatch(const ProcessWatch&) = delete;
  ProcessWatch& operator=(const ProcessWatch&) = delete;
  ~ProcessWatch();

  // Called once at most, by the watch's thread, or by this call where it has happened already: with what another
  // process gave to stop(), or where one has died with its name (`dead`). What processes gather is broken off then
  // anyway. Null: nothing more is called when this returns.
  void call_on_stop(OnStop on_stop);

  // Tells all others. Returns at once.
  void stop(Code code, const std::string& reason);
  // This process has come to the end: it is no news when it goes.
  void leave();

 private:
  struct Neighbour {
    int rank = -1;
    std::string name;
    Socket socket;
    bool leaves = false;
    std::string read;  // of a message that is not complete
  };

  void connect(Processes& processes);
  void wake() const;
  void watch();
  void hear(Neighbour& from);
  void tell(const std::string& message, const Neighbour* except);
  void died(const Neighbour& who);
  void stopped_by(Code code, const std::string& reason, bool dead);

  struct Verdict {
    Code code;
    std::string reason;
    bool dead;
  };

  Processes& processes_;
  const int rank_;
  std::mutex calling_;
  OnStop on_stop_;
  std::optional<Verdict> verdict_;
  const Socket wake_;
  std::vector<Neighbour> neighbours_;
  std::mutex mutex_;
  std::string to_tell_;
  std::atomic<bool> closing_{false}, leaving_{false};
  bool stopped_ = false, left_ = false;  // the watch's thread: nothing is news any more
  std::thread thread_;
};

}  // namespace dcgn::transport
