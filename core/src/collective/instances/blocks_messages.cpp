// The calls of a grid, or several blocks of it: its messages.
#include "collective/instances.hpp"

#if DCGN_COMPILED_HERE
namespace dcgn {
DCGN_INSTANTIATE_MESSAGES(gpu::BlocksScope)
DCGN_INSTANTIATE_CHANNEL(gpu::BlocksScope)
}  // namespace dcgn
#endif
