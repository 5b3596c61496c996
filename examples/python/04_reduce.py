"""Step 4: CPU ranks and slots in one reduction; and one of objects, in a communicator of the CPU ranks."""

import numpy as np

import dcgn

PI = """
struct Pi {  // each slot sums up its share of the series, its threads one term after the other
  DCGN_HOST_DEVICE void operator()(dcgn::gpu::Context& ctx, dcgn::gpu::Comm comm, int terms) const {
    const dcgn::gpu::Slot me = comm.slot(ctx.block_rank());
    double sum = 0;
    for (int i = me.rank() * terms + static_cast<int>(ctx.lane()); i < (me.rank() + 1) * terms; i += 32)
      sum += (i % 2 ? -4.0 : 4.0) / (2 * i + 1);
    for (unsigned step = 16; step > 0; step /= 2) sum += ctx.shuffle_xor(sum, step);
    double* total = ctx.shared<double>();
    if (ctx.thread_rank() == 0) *total = sum;
    ctx.sync_block();
    me.all_reduce(dcgn::gpu::this_block(ctx), *total, dcgn::Sum{});
    me.split(dcgn::gpu::this_block(ctx), -1, 0);  // the CPU ranks want one of their own
  }
};
"""
TERMS = 100_000


def main(comm: dcgn.Comm) -> None:
    i = np.arange(comm.rank * TERMS, (comm.rank + 1) * TERMS)
    total = np.array([(np.where(i % 2, -4.0, 4.0) / (2 * i + 1)).sum()])
    comm.Allreduce(dcgn.IN_PLACE, total)
    cpus = comm.Split(0, comm.rank)
    longest = cpus.reduce((len(comm.place), comm.place), max)
    if cpus.rank == 0:
        print(f"pi by {comm.size} ranks: {total[0]:.6f}; the last CPU rank is {longest[1]}")


dcgn.run(main, cpus=2, gpus=1, slots=4, kernel=dcgn.Kernel(PI, "Pi"), kernel_args=(TERMS,), shared_bytes=8)
