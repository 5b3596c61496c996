// Collectives of the CPU ranks of several processes.
#pragma once

#include "core/bench/coll.hpp"

namespace dcgn::bench {

// Of as many ranks as `work` has CPUs, the same number in each process: a job of all processes, who make the same
// calls. The first process has the figures, the other ones' are 0. Throws std::runtime_error where the ranks cannot be
// shared out.
Row measure_between_processes(const CollWork& work);

}  // namespace dcgn::bench
