// The calls of a thread: its messages.
#include "message/engine/instances.hpp"

#if DCGN_COMPILED_HERE
namespace dcgn {
DCGN_INSTANTIATE_MESSAGES(gpu::ThreadScope)
DCGN_INSTANTIATE_MEETING(gpu::ThreadScope)
}  // namespace dcgn
#endif
