// The stream of an emulated GPU: work in order, done by a thread of its own, or by a fiber where it was given by one.
#pragma once

#include "../backend.hpp"

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace dcgn::device {

class EmulatedStream final : public StreamState {
 public:
  explicit EmulatedStream(Backend& device) : device_(device) {}
  ~EmulatedStream() override;

  // Work that was given after a failed kernel and before this call is not done, as on a faulted GPU.
  void synchronize() override;
  bool idle() override;
  void* native() noexcept override { return nullptr; }
  std::function<void()> record(const std::function<void()>& work) override { return work; }

  void copy(void* to, const void* from, std::size_t bytes) override;
  void fill(void* memory, unsigned char value, std::size_t bytes) override;
  void launch(const Launch& launch, const dcgn::detail::KernelImage& image) override;

 private:
  void give(std::function<void()> work);
  void wait_until_idle();
  bool served_by_fiber();
  void serve();                                       // the thread
  void serve_until_idle();                            // the fiber
  void do_first(std::unique_lock<std::mutex>& lock);  // of the queue, with the lock given up meanwhile

  Backend& device_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> queue_;
  std::uint64_t undone_ = 0;
  std::exception_ptr failure_;
  bool fiber_serves_ = false;
  bool closing_ = false;
  std::thread thread_;
};

}  // namespace dcgn::device
