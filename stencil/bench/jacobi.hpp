// Jacobi's iteration on a periodic plane of floats, each cell the mean of its four neighbours: what all forms of it,
// ours and the peers', begin with, and how what they end with is checked.
#pragma once

#include <dcgn/host_device.hpp>

#include <cstdint>
#include <vector>

namespace dcgn::bench {

// Multiples of 1/1024, so that the first steps are exact however they are computed.
DCGN_HOST_DEVICE inline float jacobi_start(std::int64_t x, std::int64_t y) {
  const auto mixed = static_cast<std::uint64_t>(x) * 73856093u ^ static_cast<std::uint64_t>(y) * 19349663u;
  return static_cast<float>(mixed >> 3 & 1023) / 1024;
}

// How many cells of rows first .. first + count - 1 of an n x n plane are not what `steps` steps make of the start,
// computed here in a band of rows that the rest of the plane has not reached yet.
inline std::uint64_t count_wrong_jacobi(std::int64_t n, int steps, std::int64_t first, std::int64_t count,
                                        const float* rows) {
  const auto wrapped = [n](std::int64_t i) { return (i % n + n) % n; };
  const std::int64_t height = count + 2 * steps;
  std::vector<float> now(static_cast<std::size_t>(n * height)), next(now.size());
  for (std::int64_t y = 0; y < height; ++y)
    for (std::int64_t x = 0; x < n; ++x)
      now[static_cast<std::size_t>(y * n + x)] = jacobi_start(x, wrapped(first - steps + y));
  for (int step = 1; step <= steps; ++step) {
    for (std::int64_t y = step; y < height - step; ++y) {
      const float* row = &now[static_cast<std::size_t>(y * n)];
      for (std::int64_t x = 0; x < n; ++x)
        next[static_cast<std::size_t>(y * n + x)] =
            ((row[wrapped(x - 1)] + row[wrapped(x + 1)]) + (row[x - n] + row[x + n])) * 0.25f;
    }
    now.swap(next);
  }
  std::uint64_t wrong = 0;
  for (std::int64_t i = 0; i < count * n; ++i) wrong += !(rows[i] == now[static_cast<std::size_t>(steps * n + i)]);
  return wrong;
}

}  // namespace dcgn::bench
