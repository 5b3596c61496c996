// The calls of a grid, or several blocks of it: its collectives.
#include "collective/instances.hpp"

#if DCGN_COMPILED_HERE
namespace dcgn {
DCGN_INSTANTIATE_COLLECTIVES(gpu::BlocksScope)
}  // namespace dcgn
#endif
