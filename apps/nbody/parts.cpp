#include "apps/nbody/parts.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace dcgn::nbody {

Partition::Partition(int bodies, const std::vector<double>& weights) : bodies_(bodies), numbers_(2 * weights.size()) {
  const double all = std::accumulate(weights.begin(), weights.end(), 0.0);
  double before = 0;
  std::int64_t begin = 0;
  for (std::size_t r = 0; r < weights.size(); ++r) {
    before += weights[r];
    const std::int64_t end = r + 1 == weights.size() ? bodies : std::llround(bodies * (before / all));
    numbers_[r] = end - begin;
    numbers_[weights.size() + r] = begin;
    begin = end;
  }
}

Parts Partition::on(const std::int64_t* numbers) const {
  const std::size_t ranks = numbers_.size() / 2;
  const auto [least, most] =
      std::minmax_element(numbers_.begin(), numbers_.begin() + static_cast<std::ptrdiff_t>(ranks));
  return {{numbers, ranks}, {numbers + ranks, ranks}, bodies_, *least == *most};
}

}  // namespace dcgn::nbody
