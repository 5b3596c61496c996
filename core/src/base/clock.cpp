#include <dcgn/arch/clock.hpp>
#include <dcgn/message/trace_log.hpp>

#include <chrono>
#include <fstream>
#include <string>

namespace dcgn::detail {

std::uint64_t now_host() {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
          .count());
}

namespace {
// Whether the time-stamp counters of all cores are one clock, of one pace, as far as the system knows.
[[maybe_unused]] bool system_counts_ticks() {
  std::string source;
  return std::ifstream("/sys/devices/system/clocksource/clocksource0/current_clocksource") >> source && source == "tsc";
}
}  // namespace

std::uint64_t ticks_host() {
#if defined(__x86_64__)
  static const bool counted = system_counts_ticks();
  if (counted) return __builtin_ia32_rdtsc();
#endif
  return now_host();
}

}  // namespace dcgn::detail
