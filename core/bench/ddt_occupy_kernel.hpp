// Others' work on a GPU: kernels one after the other, each of so many blocks for a while.
#pragma once

#include <dcgn/arch/clock.hpp>
#include <dcgn/arch/context.hpp>
#include <dcgn/arch/relax.hpp>
#include <dcgn/host_device.hpp>

#include <cstdint>

namespace dcgn::bench {

struct Occupy {
  static constexpr unsigned max_threads = 1024;

  // Computes for so long, and leaves something, so that it counts.
  DCGN_HOST_DEVICE void operator()(gpu::Context& ctx, std::uint64_t ns, float* sink) const {
    float x = static_cast<float>(ctx.thread_rank());
    for (const std::uint64_t begin = now_ns(); now_ns() - begin < ns;) {
      for (int i = 0; i < 64; ++i) x = x * 0.999f + 1;
#if !defined(__CUDA_ARCH__)
      relax();
#endif
    }
    if (ctx.thread_rank() == 0) sink[ctx.block_rank()] = x;
  }
};

}  // namespace dcgn::bench
