// Notices when a process of the job dies, and tells all when one stops the job, or what the ranks of each know, for its
// report: by a tree of TCP connections beside MPI, of which each process has one to its parent and at most eight to its
// children. So it works while MPI hangs.
#pragma once

#include "processes.hpp"
#include "sockets.hpp"

#include <dcgn/error.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
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

  // What a process knows, and which rank it is from; of those that are alike but for the rank one is passed on.
  struct Fact {
    std::array<std::uint64_t, 4> what;
    std::int64_t rank;
  };
  // Tells all others, each of which should then tell what it knows. Returns at once.
  void share(const std::vector<Fact>& facts);
  // Whether another process has, and this one has not.
  bool asked();
  // All that is known, once all processes have told theirs, or the job is being stopped, or it has lasted so long.
  std::vector<Fact> shared(std::chrono::milliseconds within);
  // What to say of one.
  static std::string not_answering(const std::string& process) {
    return process + " does not answer: it is stopped or gets no processor, or the network to its host is down";
  }

  // Asks the processes that this one has a connection to whether they are there; one that has not answered yet is not
  // asked again. Returns at once.
  void ask();
  // Those that have been asked so long ago and have not answered: stopped, or out of reach.
  std::vector<std::string> silent_for(std::chrono::duration<double> time);
  // Those that had not told theirs within a second when shared() returned, as far as it is not for another's silence
  // that they were not heard.
  std::vector<std::string> silent();

 private:
  struct Neighbour {
    int rank = -1;
    std::string name;
    Socket socket;
    bool leaves = false;
    std::string read;                                            // of a message that is not complete
    std::optional<std::chrono::steady_clock::time_point> asked;  // and not answered; under mutex_
  };

  void connect(Processes& processes);
  void wake() const;
  void watch();
  void hear(Neighbour& from);
  void tell(const std::string& message, const Neighbour* except);
  void tell_one(const Neighbour& to, std::int32_t code) const;
  void ask_all();
  void died(const Neighbour& who);
  void stopped_by(Code code, const std::string& reason, bool dead);
  bool hear_message(Neighbour& from);
  void pass_on(int process, const std::vector<Fact>& facts, const Neighbour* except);

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
  std::condition_variable told_;
  std::vector<Fact> to_share_;  // by this process, which has told what it knows where `has_shared_`
  bool has_shared_ = false, to_pass_ = false, no_more_ = false, to_ask_ = false;
  bool had_time_ = false;  // shared(), for all to answer
  std::set<int> who_shared_;
  std::map<std::array<std::uint64_t, 4>, std::int64_t> known_;
  std::atomic<bool> closing_{false}, leaving_{false};
  bool stopped_ = false, left_ = false;  // the watch's thread: nothing is news any more
  std::thread thread_;
};

}  // namespace dcgn::transport
