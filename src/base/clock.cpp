#include <dcgn/gpu/clock.hpp>

#include <chrono>

namespace dcgn::detail {

std::uint64_t now_host() {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
          .count());
}

}  // namespace dcgn::detail
