// The calls of a warp: its messages.
#include "message/engine/instances.hpp"

#if DCGN_COMPILED_HERE
namespace dcgn {
DCGN_INSTANTIATE_MESSAGES(gpu::WarpScope)
DCGN_INSTANTIATE_MEETING(gpu::WarpScope)
}  // namespace dcgn
#endif
