// Tells the kernels of a GPU the phase, by a thread of its own: a copy to the GPU may have to wait for as long as
// kernels run there, where the driver holds up all calls while it has no room for another kernel that the program
// launches. Nobody who watches over the ranks may be held up with them.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

namespace dcgn::message {

class PhaseTeller {
 public:
  // `store` may take its time. Throws std::system_error where the system gives no thread.
  explicit PhaseTeller(std::function<void(std::uint32_t)> store);
  PhaseTeller(const PhaseTeller&) = delete;
  PhaseTeller& operator=(const PhaseTeller&) = delete;
  // Waits until it has been stored.
  ~PhaseTeller();

  // Returns at once; of several phases the last one is stored in any case.
  void tell(std::uint32_t phase);

 private:
  void work();

  const std::function<void(std::uint32_t)> store_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<std::uint32_t> news_;
  bool closing_ = false;
  std::thread thread_;
};

}  // namespace dcgn::message
