// Messages between two threads of a test, in order.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstring>
#include <mutex>
#include <queue>
#include <vector>

namespace dcgn::test {

class Mailbox {
 public:
  void put(const void* data, std::size_t bytes) {
    const auto* begin = static_cast<const unsigned char*>(data);
    const std::lock_guard lock(mutex_);
    messages_.emplace(begin, begin + bytes);
    changed_.notify_one();
  }
  void take(void* data, std::size_t bytes) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !messages_.empty(); });
    if (bytes) std::memcpy(data, messages_.front().data(), bytes);
    messages_.pop();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::queue<std::vector<unsigned char>> messages_;
};

}  // namespace dcgn::test
