// Latency and bandwidth between two ranks of any kinds, and what the memory allows.
#pragma once

#include "bench/row.hpp"

#include <cstdint>

namespace dcgn::bench {

enum class Path { cpu_cpu, cpu_slot, slot_slot };
enum class Scope { thread, warp, block };

// One row: a job of two ranks. `scope` and `threads` (of a slot's block) matter where there are slots. Throws what Job
// does.
Row measure(Path path, Scope scope, std::int64_t bytes, int threads, double seconds);

// The limit beside it: a copy of that many bytes, once over, between such memories.
Row measure_limit(Path path, std::int64_t bytes, double seconds);

const char* name_of(Path path);
const char* name_of(Scope scope);

}  // namespace dcgn::bench
