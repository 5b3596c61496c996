// Notices when a process of the job dies, and tells all when one stops the job: by a tree of TCP connections beside
// MPI, of which each process has one to its parent and at most eight to its children. So it works while MPI hangs.
#pragma once

#include "processes.hpp"
#include "sockets.hpp"

#include <dcgn/error.hpp>

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace dcgn::transport {

class ProcessWatch {
 public:
  // `on_stop` is called once at most, by the watch's thread: with what another process gave to stop(), or where one has
  // died with its name (`dead`). Made by all processes together. Throws Error(device) where they cannot be connected.
  ProcessWatch(Processes& processes, std::function<void(Code, const std::string&, bool dead)> on_stop);
  ProcessWatch(const ProcessWatch&) = delete;
  ProcessWatch& operator=(const ProcessWatch&) = delete;
  ~ProcessWatch();

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

  const int rank_;
  const std::function<void(Code, const std::string&, bool)> on_stop_;
  const Socket wake_;
  std::vector<Neighbour> neighbours_;
  std::mutex mutex_;
  std::string to_tell_;
  std::atomic<bool> closing_{false}, leaving_{false};
  bool stopped_ = false, left_ = false;  // the watch's thread: nothing is news any more
  std::thread thread_;
};

}  // namespace dcgn::transport
