// Windows of messages: the same number of them for ours, for the limits and for peers.
#pragma once

#include <algorithm>
#include <cstdint>

namespace dcgn::bench {

// Enough messages under way to hide what a window's end costs.
inline constexpr int usual_window = 64, most_window = 256;
// All messages of a window, each in memory of its own, are no more than this, or there is but one of them.
inline constexpr std::int64_t most_window_bytes = 1 << 30;

// How many messages of this size a window of `wanted` has.
inline int window_of(std::int64_t bytes, int wanted) {
  return static_cast<int>(std::clamp<std::int64_t>(most_window_bytes / bytes, 1, wanted));
}

}  // namespace dcgn::bench
