// The thread that hands to a CopyEngine what ranks inside kernels ask for (dcgn/message/copy_queue.hpp).
#pragma once

#include "copy_engine.hpp"

#include <dcgn/error.hpp>
#include <dcgn/message/copy_queue.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

namespace dcgn::transport {

// It looks for requests without a pause while copies are under way, and until none has come for a millisecond; then
// every 50 us, and less often as the silence lasts: what ends it waits for no more than a thousandth of it, nor for
// more than 500 us. It refuses copies from and to memory that is not pinned.
class CopyService {
 public:
  // queues[ranks] and posted[ranks] are zeroed host memory that the ranks reach, too; they, the engine and what the
  // requests name must outlive the service. What goes wrong is told to `on_error`, once, by the service's thread;
  // after that it starts no more copies.
  CopyService(CopyEngine& engine, const message::CopyQueue* queues, const std::uint32_t* posted, int ranks,
              std::function<void(const Error&)> on_error);
  CopyService(const CopyService&) = delete;
  CopyService& operator=(const CopyService&) = delete;
  // Looks no more; copies that have been started go on.
  ~CopyService();

  // Ends the thread. From now on the caller serves the ranks, by look(): in deterministic mode, where nothing may
  // happen beside the schedule.
  void take_over();
  // Starts what has been asked for since the last look, and says whether there was anything.
  bool look() noexcept;

 private:
  template <class Action>
  void guarded(Action&& action) noexcept;
  void look_until_closing();
  bool start_what_is_new();  // whether anything was

  CopyEngine& engine_;
  const message::CopyQueue* const queues_;
  const std::uint32_t* const posted_;
  const std::function<void(const Error&)> on_error_;
  std::vector<std::uint32_t> started_;  // by rank
  std::atomic<bool> closing_{false};
  bool failed_ = false;  // of whoever serves
  std::thread thread_;
};

}  // namespace dcgn::transport
