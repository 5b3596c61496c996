// References of the workloads with atomics, and of the solver.
#include "references.hpp"

#include <algorithm>
#include <cmath>

namespace dcgn::test {

using workloads::Snapshot;

Words breadth_first(const Snapshot& from) {
  const auto first = values_of<int>(from.buffers[0]), edges = values_of<int>(from.buffers[1]);
  std::vector<int> level(first.size() - 1, -1), frontier{0};
  level[0] = 0;
  for (int now = 0; !frontier.empty(); ++now) {
    std::vector<int> next;
    for (const int node : frontier)
      for (int e = first[static_cast<std::size_t>(node)]; e < first[static_cast<std::size_t>(node) + 1]; ++e) {
        const int to = edges[static_cast<std::size_t>(e)];
        if (level[static_cast<std::size_t>(to)] != -1) continue;
        level[static_cast<std::size_t>(to)] = now + 1;
        next.push_back(to);
      }
    frontier = next;
  }
  return {words_of(level)};
}

Words k_means(const Snapshot& from) {
  struct Point {
    float x, y, z, w;
  };
  const auto points = values_of<Point>(from.buffers[0]), centres = values_of<Point>(from.constants[0]);
  std::vector<int> nearest;
  std::vector<float> sums(centres.size());
  std::vector<std::uint32_t> counts(centres.size());
  for (const Point& p : points) {
    float least = 1e30F;
    std::size_t which = 0;
    for (std::size_t c = 0; c < centres.size(); ++c) {
      const float dx = p.x - centres[c].x, dy = p.y - centres[c].y, dz = p.z - centres[c].z, dw = p.w - centres[c].w;
      const float distance = std::fma(dw, dw, std::fma(dz, dz, std::fma(dx, dx, dy * dy)));
      if (distance < least) least = distance, which = c;
    }
    nearest.push_back(static_cast<int>(which));
    sums[which] += p.x;
    ++counts[which];
  }
  return {words_of(nearest), counts, words_of(sums)};
}

Words histogram(const Snapshot& from) {
  std::vector<std::uint32_t> bins(256);
  for (const std::byte value : from.buffers[0]) ++bins[static_cast<std::size_t>(value)];
  auto floats = values_of<float>(from.buffers[2]);
  for (float& value : floats) value *= 2;
  const float largest = *std::max_element(floats.begin(), floats.end());
  const std::uint64_t seen = 256 * static_cast<std::uint64_t>(from.sizes[0]);
  return {bins, words_of(std::vector{seen}), words_of(floats), words_of(std::vector{largest})};
}

namespace {

using Vector = std::vector<double>;

// By blocks of 256 threads: their own sums, those of warps by halves, those of blocks one after the other.
double dot(const Vector& x, const Vector& y, std::size_t blocks) {
  double all = 0;
  for (std::size_t block = 0; block < blocks; ++block) {
    double block_sum = 0;
    for (std::size_t warp = 0; warp < 8; ++warp) {
      double sums[32] = {};
      for (std::size_t lane = 0; lane < 32; ++lane)
        for (std::size_t i = 256 * block + 32 * warp + lane; i < x.size(); i += 256 * blocks)
          sums[lane] = std::fma(x[i], y[i], sums[lane]);
      for (std::size_t half = 16; half > 0; half /= 2)
        for (std::size_t lane = 0; lane < half; ++lane) sums[lane] += sums[lane + half];
      block_sum += sums[0];
    }
    all += block_sum;
  }
  return all;
}

}  // namespace

Words conjugate_gradient(const Snapshot& from) {
  const auto first = values_of<int>(from.buffers[0]), column = values_of<int>(from.buffers[1]);
  const auto value = values_of<double>(from.buffers[2]);
  auto x = values_of<double>(from.buffers[3]), r = values_of<double>(from.buffers[4]),
       p = values_of<double>(from.buffers[5]);
  Vector q(x.size());
  const auto blocks = static_cast<std::size_t>(from.sizes[0]);
  double old = dot(r, r, blocks);
  for (int step = 0; step < from.sizes[1]; ++step) {
    for (std::size_t row = 0; row < q.size(); ++row) {
      double sum = 0;
      for (auto e = static_cast<std::size_t>(first[row]); e < static_cast<std::size_t>(first[row + 1]); ++e)
        sum = std::fma(value[e], p[static_cast<std::size_t>(column[e])], sum);
      q[row] = sum;
    }
    const double factor = old / dot(p, q, blocks);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::fma(p[i], factor, x[i]);
    for (std::size_t i = 0; i < r.size(); ++i) r[i] = std::fma(q[i], -factor, r[i]);
    const double now = dot(r, r, blocks);
    for (std::size_t i = 0; i < p.size(); ++i) p[i] = std::fma(now / old, p[i], r[i]);
    old = now;
  }
  return {words_of(x), words_of(r), words_of(std::vector{old})};
}

}  // namespace dcgn::test
