// What a file that launches kernels includes, beside <dcgn/job.hpp> or <dcgn/device.hpp>.
#pragma once

#include <dcgn/arch/context.hpp>
#include <dcgn/gpu/comm.hpp>
#include <dcgn/gpu/kernel.hpp>
#include <dcgn/job.hpp>

namespace dcgn::detail {

// After a GPU's last kernel: what its slots still have to send goes out. A block for each slot.
struct FinishSlots {
  DCGN_HOST_DEVICE void operator()(gpu::Context& context, gpu::Comm comm) const {
    comm.slot(context.block_rank()).finish(gpu::this_warp(context));
  }
};

template <class Kernel, class... Args>
void add_kernel(Job& job, int gpu, const Launch& launch, const Kernel& kernel, const Args&... args) {
  const gpu::Comm comm = job.world().handle(gpu);
  job.add_gpu(gpu, launch, make_image(kernel, comm, args...), make_image(FinishSlots{}, comm));
}

}  // namespace dcgn::detail
