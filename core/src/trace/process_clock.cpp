#include "trace/process_clock.hpp"

#include <dcgn/arch/clock.hpp>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace dcgn::trace {

std::uint64_t clock_source() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  std::array<char, 64> space{};  // containers may have a time of their own
  if (::readlink("/proc/self/ns/time", space.data(), space.size() - 1) < 0) space[0] = 0;
  return std::hash<std::string>{}(boot + space.data());
}

base::Reading read_first_clock(transport::Processes& processes) {
  constexpr int rounds = 24;
  struct Times {
    std::int64_t began, through;  // this round; the one before
  };
  const auto now = [] { return static_cast<std::int64_t>(now_ns()); };
  std::int64_t least = std::numeric_limits<std::int64_t>::min(), most = std::numeric_limits<std::int64_t>::max();
  Times mine{}, before{}, first_before{};
  for (int round = 0; round <= rounds; ++round) {
    mine.began = now();
    const std::vector<Times> all = processes.all_gather(mine);
    mine.through = now();
    // The first process's clock is ahead of this one's by so much at least, and at most.
    if (round) {
      least = std::max(least, first_before.began - all[static_cast<std::size_t>(processes.rank())].through);
      most = std::min(most, all.front().through - before.began);
    }
    before = mine;
    first_before = all.front();
  }
  const std::int64_t ahead = least + (most - least) / 2, here = now();
  const bool first = processes.rank() == 0;
  return {static_cast<std::uint64_t>(here), static_cast<std::uint64_t>(first ? here : here + ahead),
          first ? 0 : static_cast<std::uint64_t>(most - least) / 2 + 1};
}

}  // namespace dcgn::trace
