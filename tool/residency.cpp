#include "tool/residency.hpp"

#include <dcgn/gpu/comm.hpp>
#include <dcgn/gpu/launch.hpp>

namespace dcgn::tool {

namespace {

// The least that a slot does.
struct Greet {
  DCGN_HOST_DEVICE void operator()(gpu::Context& ctx, gpu::Comm comm) const {
    comm.slot(ctx.block_rank()).barrier(gpu::this_block(ctx));
  }
};

}  // namespace

int resident_blocks(Device device, int threads) {
  return device.max_resident_blocks({.grid = 1, .block = static_cast<unsigned>(threads)}, Greet{}, gpu::Comm());
}

}  // namespace dcgn::tool
