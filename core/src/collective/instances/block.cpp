// The calls of a block: its collectives.
#include "collective/instances.hpp"

#if DCGN_COMPILED_HERE
namespace dcgn {
DCGN_INSTANTIATE_COLLECTIVES(gpu::BlockScope)
}  // namespace dcgn
#endif
