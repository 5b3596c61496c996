// Messages between slots of two processes.
#pragma once

#include "bench/measure.hpp"
#include "bench/row.hpp"

#include <cstdint>

namespace dcgn::bench {

// Between the first GPU of this process and that of the other, by a block of 512 threads or one thread: a job of both
// processes, who make the same calls. The first process has the figures, and `wrong`
// of both; the other one's are 0.
Row measure_slots(Measure measure, std::int64_t bytes, int window, double seconds, bool by_block);

}  // namespace dcgn::bench
