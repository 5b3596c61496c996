// The ranks of a measurement of collectives. Each kernel is compiled in a file of its own: it has the code of all
// collectives.
#pragma once

#include "core/bench/coll.hpp"
#include "core/bench/coll_part.hpp"

#include <cstdint>
#include <vector>

namespace dcgn {
class Comm;
class Job;
}  // namespace dcgn

namespace dcgn::bench {

// What so many ranks do, and how many floats each of their buffers has: aligned as what allocators give, never empty.
CollPlan plan_of(const CollWork& work, int ranks);
std::int64_t room_of(const CollPlan& plan, int ranks);
// In each repetition the rank that took longest.
void set_figures(Row& row, const std::vector<CollSamples>& ranks);

// A CPU rank's part. Throws what the calls of `comm` throw.
void take_part(Comm& comm, const CollPlan& plan, const CollBuffers& buffers);

// Gives a GPU of the job its kernel, for blocks of so many threads at most.
template <ScopeKind Kind, unsigned Threads = most_threads(Kind)>
void add_slots(Job& job, int gpu, const CollWork& work, const CollPlan& plan, const CollMemory& memory);

}  // namespace dcgn::bench
