// What the first process's host clock shows beside this one's.
#pragma once

#include "base/clock_map.hpp"
#include "transport/processes.hpp"

namespace dcgn::trace {

// Where the clock of this process comes from: processes of one host, which share its monotonic clock, have the same.
std::uint64_t clock_source();

// By all processes together. They gather some times: nobody is through before all have begun, and the shortest of the
// times bound by how much the clocks differ.
base::Reading read_first_clock(transport::Processes& processes);

}  // namespace dcgn::trace
