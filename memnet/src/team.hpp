// Threads that do rounds of work together, over and over, without being started anew.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace dcgn::memnet {

class Team {
 public:
  // Throws Error(configuration) where so many threads cannot be started. In each round `work(i)` is called once for
  // each i below `members`, for 0 by the thread that calls run().
  Team(int members, std::function<void(int)> work);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  // One round. Throws what a member's work threw, after all have ended.
  void run();

 private:
  void serve(int member);
  void end();
  void do_work(int member) noexcept;

  std::function<void(int)> work_;
  std::atomic<std::uint32_t> round_{0};
  std::atomic<int> busy_{0};  // members that have not ended the round
  bool ends_ = false;         // read after round_
  std::mutex mutex_;
  std::exception_ptr error_;
  std::vector<std::thread> threads_;
};

}  // namespace dcgn::memnet
