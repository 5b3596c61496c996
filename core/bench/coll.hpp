// Collectives, called in running kernels by slots of some GPUs, by CPU ranks, or by both together: how long one takes.
//
// A measurement is a job of its own, whose ranks call one after the other. Throws what Job does.
#pragma once

#include "bench/collective.hpp"
#include "bench/row.hpp"
#include "core/bench/p2p.hpp"

#include <cstdint>
#include <string>

namespace dcgn::bench {

// Who takes part: CPU ranks, then the slots of each GPU.
struct CollRanks {
  int cpus = 0, gpus = 0, slots = 1;

  int count() const { return cpus + gpus * slots; }
  bool operator==(const CollRanks&) const = default;
};
// "8 GPUs", "8 GPUs x 132 slots", "4 CPUs", "1 CPU + 2 GPUs".
std::string name_of(const CollRanks& ranks);

struct CollWork {
  Collective op = Collective::all_reduce;
  CollRanks ranks{};
  Scope scope{};           // of slots
  std::int64_t bytes = 8;  // the size: one that sizes_of() gives
  double seconds = 0.2;    // that the timed calls should take
};

// The scope that a user would choose for this size.
Scope usual_scope(std::int64_t bytes);

// The time of one call: in each repetition what the calls took the rank that took longest, by their number. GB/s are
// the size by the median.
Row measure_collective(const CollWork& work);

}  // namespace dcgn::bench
