// What a row says of its samples.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

namespace dcgn::bench {

// The smallest sample that at least `percent` of all do not exceed (nearest rank). The samples are not in order, and at
// least one.
inline double percentile(std::vector<double> samples, double percent) {
  std::sort(samples.begin(), samples.end());
  const auto rank = static_cast<std::size_t>(std::ceil(percent / 100 * static_cast<double>(samples.size())));
  return samples[std::clamp<std::size_t>(rank, 1, samples.size()) - 1];
}

}  // namespace dcgn::bench
