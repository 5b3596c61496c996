#include "trace/ranges.hpp"

#if defined(DCGN_HAS_CUDA)
#include <nvtx3/nvToolsExt.h>

#include <cstdlib>
#endif

namespace dcgn::trace {

#if defined(DCGN_HAS_CUDA)

bool has_ranges(bool traced) { return traced || std::getenv("NVTX_INJECTION64_PATH"); }
void begin_range(const char* name) { nvtxRangePushA(name); }
void end_range() { nvtxRangePop(); }

#else

bool has_ranges(bool) { return false; }
void begin_range(const char*) {}
void end_range() {}

#endif

}  // namespace dcgn::trace
