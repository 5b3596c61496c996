// The calls of a warp: its collectives.
#include "collective/instances.hpp"

#if DCGN_COMPILED_HERE
namespace dcgn {
DCGN_INSTANTIATE_COLLECTIVES(gpu::WarpScope)
}  // namespace dcgn
#endif
