// The calls of a grid, or several blocks of it: its messages.
#include "message/engine/instances.hpp"

#if DCGN_COMPILED_HERE
namespace dcgn {
DCGN_INSTANTIATE_MESSAGES(gpu::BlocksScope)
}  // namespace dcgn
#endif
