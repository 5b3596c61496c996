// The calls of a thread: its messages.
#include "collective/instances.hpp"

#if DCGN_COMPILED_HERE
namespace dcgn {
DCGN_INSTANTIATE_MESSAGES(gpu::ThreadScope)
DCGN_INSTANTIATE_CHANNEL(gpu::ThreadScope)
DCGN_INSTANTIATE_MEETING(gpu::ThreadScope)
}  // namespace dcgn
#endif
