#include "apps/nbody/parts.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace dcgn::nbody {

Partition::Partition(int bodies, const std::vector<double>& weights) {
  const double all = std::accumulate(weights.begin(), weights.end(), 0.0);
  double before = 0;
  std::int64_t begin = 0;
  for (std::size_t r = 0; r < weights.size(); ++r) {
    before += weights[r];
    const std::int64_t end = r + 1 == weights.size() ? bodies : std::llround(bodies * (before / all));
    counts_.push_back(end - begin);
    displacements_.push_back(begin);
    begin = end;
  }
}

Parts Partition::on(const std::int64_t* counts, const std::int64_t* displacements) const {
  const auto [least, most] = std::minmax_element(counts_.begin(), counts_.end());
  return {counts, displacements, *least == *most};
}

}  // namespace dcgn::nbody
