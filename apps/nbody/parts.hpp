// Who has which bodies, and which ranks share memory.
#pragma once

#include <dcgn/host_device.hpp>
#include <dcgn/placement.hpp>

#include <cstdint>
#include <vector>

namespace dcgn::nbody {

// How positions reach all ranks: exchange_kernel.hpp.
enum class Exchange { broadcast, all_gather, direct };

// Rank r advances counts[r] bodies from displacements[r] on. Kernels have it by value; the two arrays are where the
// rank can read them.
struct Parts {
  const std::int64_t* counts;
  const std::int64_t* displacements;
  bool alike;
};

// All ranks' parts: `bodies` in proportion to the ranks' weights, in order of rank.
class Partition {
 public:
  Partition(int bodies, const std::vector<double>& weights);
  const std::vector<std::int64_t>& counts() const { return counts_; }
  const std::vector<std::int64_t>& displacements() const { return displacements_; }
  Parts parts() const { return on(counts_.data(), displacements_.data()); }
  // With copies of the two arrays.
  Parts on(const std::int64_t* counts, const std::int64_t* displacements) const;

 private:
  std::vector<std::int64_t> counts_, displacements_;
};

// lines: begin direct
// The memories of a job of nodes that are alike: one of each CPU rank, one of each GPU, whose slots share it.
struct Places {
  int nodes, cpus, gpus, slots;

  DCGN_HOST_DEVICE int count() const { return nodes * (cpus + gpus); }
  DCGN_HOST_DEVICE bool is_gpu(int place) const { return place % (cpus + gpus) >= cpus; }
  DCGN_HOST_DEVICE int ranks(int place) const { return is_gpu(place) ? slots : 1; }
  DCGN_HOST_DEVICE int first_rank(int place) const {
    const int local = place % (cpus + gpus);
    return place / (cpus + gpus) * (cpus + gpus * slots) + (local < cpus ? local : cpus + (local - cpus) * slots);
  }
  DCGN_HOST_DEVICE int place(int rank) const {
    const int each = cpus + gpus * slots, local = rank % each;
    return rank / each * (cpus + gpus) + (local < cpus ? local : cpus + (local - cpus) / slots);
  }
};

// Who sends to whom where each part goes once to each other place. In round d, from 1 on, a rank sends to the place d
// further on, to that of its ranks that is its own number there, and hears every so-manyth rank of the place d before.
struct Route {
  struct Sources {
    int next, end, step;
  };
  Places places;
  int here, mine, rounds;

  DCGN_HOST_DEVICE Route(const Places& all, int rank)
      : places(all), here(all.place(rank)), mine(rank - all.first_rank(here)), rounds(all.count()) {}
  DCGN_HOST_DEVICE int destination(int d) const {
    const int to = (here + d) % rounds;
    return places.first_rank(to) + mine % places.ranks(to);
  }
  DCGN_HOST_DEVICE Sources sources(int d) const {
    const int from = (here + rounds - d) % rounds, first = places.first_rank(from);
    return {first + mine, first + places.ranks(from), places.ranks(here)};
  }
};

// lines: end

inline Places places_of(const NodeShape& nodes) { return {nodes.count, nodes.cpus, nodes.gpus, nodes.slots}; }

}  // namespace dcgn::nbody
