// The step of the GPU-as-slave N-body: forces on a GPU's part, by all of its blocks, and the leapfrog. The forces are
// those of apps/nbody.
#pragma once

#include "apps/nbody/forces.hpp"

#include <dcgn/gpu/kernel.hpp>

#include <cstdint>

namespace dcgn::bench::peer {

// lines: begin
struct NbodyStep {
  static constexpr unsigned max_threads = 512, blocks_per_multiprocessor = 1;

  DCGN_HOST_DEVICE void operator()(gpu::Context& ctx, const nbody::Body* now, nbody::Body* next,
                                   nbody::Velocity* velocities, int bodies, int first, int part, float softening2,
                                   nbody::Leapfrog leapfrog) const {
    const auto block = static_cast<std::int64_t>(ctx.block_rank()),
               blocks = static_cast<std::int64_t>(ctx.num_blocks());
    const int begin = static_cast<int>(part * block / blocks);
    const int count = static_cast<int>(part * (block + 1) / blocks) - begin;
    const int mine = first + begin;
    nbody::compute_forces<false>(ctx, now, bodies, mine, count, softening2, [&](int b, const nbody::Force& f) {
      const nbody::Body body = now[mine + b];
      nbody::Velocity& v = velocities[mine + b];
      leapfrog.kick_before(v, f);
      leapfrog.kick_after(v, f);
      next[mine + b] = leapfrog.moved(body, v);
    });
  }
};

// One block for each multiprocessor, as the slots have it.
inline Launch nbody_launch(bool real, int multiprocessors) {
  const unsigned threads = real ? 512 : 64;
  return {.grid = real ? static_cast<unsigned>(multiprocessors) : 2,
          .block = threads,
          .shared_bytes = nbody::force_shared_bytes(threads),
          .resident = false};
}
// lines: end

}  // namespace dcgn::bench::peer
