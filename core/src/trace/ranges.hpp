// Ranges in a profiler's timeline (NVTX), one in the other, of the calling thread.
#pragma once

namespace dcgn::trace {

// Whether somebody may look: a profiler has started the program, or a trace is recorded. Never without CUDA.
bool has_ranges(bool traced);
void begin_range(const char* name);
void end_range();

}  // namespace dcgn::trace
