// Threads that do the same for several parts at the same time. A launch costs the thread that makes it two microseconds
// or so, and one thread would make them one after the other.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace dcgn::virtual_gpu {

class Crew {
 public:
  // So many threads besides the one that calls run(). They watch for work for half a millisecond after the last, giving
  // way to others, and then sleep.
  explicit Crew(int helpers);
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;
  ~Crew();

  // Calls work(0) here and work(1), work(2), ... by the helpers, and returns when all have returned. Throws what one of
  // them has thrown. By one thread at a time.
  void run(const std::function<void(int)>& work);

 private:
  void serve(std::size_t helper);
  void wait_for_round(std::uint64_t seen);
  void call(const std::function<void(int)>& work, std::size_t who) noexcept;

  const std::function<void(int)>* work_ = nullptr;
  std::vector<std::exception_ptr> failures_;
  alignas(128) std::atomic<std::uint64_t> round_{0};
  alignas(128) std::atomic<std::size_t> at_work_{0};
  alignas(128) std::atomic<int> asleep_{0};
  std::atomic<bool> closing_{false};
  std::mutex mutex_;
  std::condition_variable woken_;
  std::vector<std::thread> threads_;
};

}  // namespace dcgn::virtual_gpu
