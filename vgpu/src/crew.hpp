// Threads that do the same for several parts at the same time. A launch costs the thread that makes it two microseconds
// or so, and one thread would make them one after the other.
#pragma once

#include <dcgn/error.hpp>

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace dcgn::virtual_gpu {

class Crew {
 public:
  using Work = std::function<void(int)>;

  // So many threads besides the one that calls run(). They watch for work for half a millisecond after the last, giving
  // way to others, and then sleep.
  explicit Crew(int helpers);
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;
  // Threads that are still at work after a deadline are left to it.
  ~Crew();

  // Calls work(0) here and work(1), work(2), ... by the helpers, and returns when all have returned. Throws what one of
  // them has thrown; Error(deadline) where a helper has not returned so many seconds after work(0) has, and at each
  // call after that. Then helpers may go on using what `work` holds, which has to be its own. By one thread at a time.
  void run(std::shared_ptr<const Work> work, double deadline_s);

 private:
  void wait_for_helpers(double deadline_s);

  struct Shared;  // with the threads, so that one that is left has it still

  std::shared_ptr<Shared> shared_;
  std::vector<std::thread> threads_;
};

// "WHAT for 60 s, expected it sooner: ..."
Error deadline_error(const std::string& what, double deadline_s);

}  // namespace dcgn::virtual_gpu
