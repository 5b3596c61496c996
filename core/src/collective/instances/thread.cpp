// The calls of a thread: its collectives.
#include "collective/instances.hpp"

#if DCGN_COMPILED_HERE
namespace dcgn {
DCGN_INSTANTIATE_COLLECTIVES(gpu::ThreadScope)
}  // namespace dcgn
#endif
