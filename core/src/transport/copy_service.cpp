#include "copy_service.hpp"

#include <dcgn/arch/atomic.hpp>
#include <dcgn/arch/relax.hpp>

#include <algorithm>
#include <chrono>
#include <exception>
#include <string>
#include <utility>

namespace dcgn::transport {

namespace {
using namespace std::chrono_literals;
constexpr auto awake_for = 1ms;
constexpr auto shortest_nap = 50us, longest_nap = 500us;
}  // namespace

CopyService::CopyService(CopyEngine& engine, const message::CopyQueue* queues, const std::uint32_t* posted, int ranks,
                         std::function<void(const Error&)> on_error)
    : engine_(engine),
      queues_(queues),
      posted_(posted),
      on_error_(std::move(on_error)),
      started_(static_cast<std::size_t>(ranks)),
      thread_([this] { guarded([this] { look_until_closing(); }); }) {}

CopyService::~CopyService() { take_over(); }

void CopyService::take_over() {
  closing_.store(true, std::memory_order_relaxed);
  if (thread_.joinable()) thread_.join();
}

bool CopyService::look() noexcept {
  bool any = false;
  if (!failed_) guarded([&] { any = start_what_is_new(); });
  return any;
}

template <class Action>
void CopyService::guarded(Action&& action) noexcept {
  try {
    action();
    return;
  } catch (const Error& error) {
    on_error_(error);
  } catch (const std::exception& error) {
    on_error_(Error(Code::device, "copy", error.what()));
  }
  failed_ = true;
}

void CopyService::look_until_closing() {
  using Clock = std::chrono::steady_clock;
  auto last = Clock::now();
  bool started = false;  // copies that may be under way; who waits for them will soon ask for more
  while (!closing_.load(std::memory_order_relaxed)) {
    if (start_what_is_new()) {
      last = Clock::now();
      started = true;
    } else if (const auto silence = Clock::now() - last; silence < awake_for) {
      relax();
      continue;
    } else if (started) {
      started = engine_.busy();
      last = Clock::now();
      continue;
    } else {
      std::this_thread::sleep_for(std::clamp<Clock::duration>(silence / 1000, shortest_nap, longest_nap));
    }
    detail::relax_reset_host();  // what comes next is another wait, and who sleeps wants no core
  }
}

bool CopyService::start_what_is_new() {
  const auto is_pageable = [this](std::uint64_t address) {
    return engine_.is_pageable(reinterpret_cast<const void*>(static_cast<std::uintptr_t>(address)));
  };
  bool any = false;
  for (std::size_t rank = 0; rank < started_.size(); ++rank) {
    const std::uint32_t posted = load_acquire(posted_[rank]);
    std::uint32_t& started = started_[rank];
    if (posted - started > message::copy_queue_length)
      throw Error(Code::out_of_resources, "copy",
                  std::to_string(posted - started) + " requests at once, expected at most " +
                      std::to_string(message::copy_queue_length),
                  static_cast<int>(rank));
    for (; started != posted; ++started) {
      message::CopyRequest request = queues_[rank].requests[started % message::copy_queue_length];
      if (is_pageable(request.to) || is_pageable(request.from)) {
        request.bytes = 0;
        request.value = ~request.value;
      }
      start_request(engine_, request);
      any = true;
    }
  }
  return any;
}

}  // namespace dcgn::transport
