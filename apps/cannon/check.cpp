#include "apps/cannon/cannon.hpp"
#include "apps/cannon/matrix.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace dcgn::cannon {

double Outcome::flop_per_s(int size) const {
  std::vector<double> sorted = product_s;
  std::ranges::sort(sorted);
  return 2.0 * size * size * size / sorted[sorted.size() / 2];
}

std::int64_t count_wrong(int size, const std::vector<float>& c) {
  const auto n = static_cast<std::size_t>(size);
  std::vector<bool> wrong(n);
  for (std::uint32_t vector = 0; vector < 2; ++vector) {
    std::vector<std::int64_t> x(n), bx(n);
    for (std::size_t i = 0; i < n; ++i) {
      std::uint64_t bits = (i + 1) * 0x9e3779b97f4a7c15 + vector * 0xd1342543de82ef95;
      bits = (bits ^ bits >> 29) * 0xbf58476d1ce4e5b9;
      x[i] = static_cast<std::int64_t>((bits >> 32) % 2001) - 1000;
    }
    const auto times = [&](Which which, int row, const std::vector<std::int64_t>& v) {
      std::int64_t sum = 0;
      for (int k = 0; k < size; ++k)
        sum += static_cast<std::int64_t>(element(which, size, row, k)) * v[static_cast<std::size_t>(k)];
      return sum;
    };
    for (int row = 0; row < size; ++row) bx[static_cast<std::size_t>(row)] = times(Which::b, row, x);
    for (int row = 0; row < size; ++row) {
      const float* const line = c.data() + static_cast<std::size_t>(row) * n;
      std::int64_t sum = 0;
      for (std::size_t k = 0; k < n; ++k) {
        const bool whole = std::abs(line[k]) < 0x1p24f && line[k] == std::trunc(line[k]);
        if (!whole) wrong[static_cast<std::size_t>(row)] = true;
        sum += whole ? static_cast<std::int64_t>(line[k]) * x[k] : 0;
      }
      if (sum != times(Which::a, row, bx)) wrong[static_cast<std::size_t>(row)] = true;
    }
  }
  return std::count(wrong.begin(), wrong.end(), true);
}

}  // namespace dcgn::cannon
