// Which bodies are whose.
#pragma once

#include "apps/nbody/body.hpp"

#include <dcgn/host_device.hpp>
#include <dcgn/span.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dcgn::nbody {

// Bodies `first` to first + count - 1.
struct Range {
  int first, count;

  // The share of one of so many blocks.
  DCGN_HOST_DEVICE Range share(unsigned block, unsigned blocks) const {
    const std::int64_t all = count, begin = all * block / blocks, end = all * (block + 1) / blocks;
    return {first + static_cast<int>(begin), static_cast<int>(end - begin)};
  }
};

// Rank r advances counts[r] bodies from displacements[r] on. Kernels take it by value; the rank can read both arrays,
// which have an element for each rank.
struct Parts {
  Span<const std::int64_t> counts, displacements;
  int bodies;  // all of them
  bool alike;  // all counts are the same

  DCGN_HOST_DEVICE Range range(int rank) const {
    const auto r = static_cast<std::size_t>(rank);
    return {static_cast<int>(displacements[r]), static_cast<int>(counts[r])};
  }
  DCGN_HOST_DEVICE Span<Body> part(int rank, Body* all) const {
    const Range r = range(rank);
    return {all + r.first, static_cast<std::size_t>(r.count)};
  }
  DCGN_HOST_DEVICE Span<Body> whole(Body* all) const { return {all, static_cast<std::size_t>(bodies)}; }
};

// All ranks' parts: `bodies` in proportion to the ranks' weights, in order of rank.
class Partition {
 public:
  Partition(int bodies, const std::vector<double>& weights);
  Range range(int rank) const { return parts().range(rank); }
  // All counts, then all displacements.
  const std::vector<std::int64_t>& numbers() const { return numbers_; }
  Parts parts() const { return on(numbers_.data()); }
  // With a copy of the numbers.
  Parts on(const std::int64_t* numbers) const;

 private:
  int bodies_;
  std::vector<std::int64_t> numbers_;
};

}  // namespace dcgn::nbody
