// The calls of a block: its messages.
#include "message/engine/instances.hpp"

#if DCGN_COMPILED_HERE
namespace dcgn {
DCGN_INSTANTIATE_MESSAGES(gpu::BlockScope)
DCGN_INSTANTIATE_MEETING(gpu::BlockScope)
}  // namespace dcgn
#endif
