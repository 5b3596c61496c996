#include "shared_work.hpp"

#include <sched.h>

namespace dcgn::device {

void SharedWork::offer() noexcept {
  SharedWork* none = nullptr;
  offered.compare_exchange_strong(none, this, std::memory_order_release, std::memory_order_relaxed);
}

void SharedWork::withdraw() noexcept {
  for (;;) {
    if (const Turn turn; turn) {
      SharedWork* own = this;
      offered.compare_exchange_strong(own, nullptr, std::memory_order_relaxed);
      return;
    }
    sched_yield();  // not relax(), which is where others help
  }
}

}  // namespace dcgn::device
