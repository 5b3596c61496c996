"""
Step 3: slots of a GPU, emulated where there is none, run a kernel that is given as source. Rank 0 sends each a number, rank
1 adds up the squares that come back. By `mpirun -n 2 python 03_kernel.py` there are as many again, in another process.
"""

from array import array

import dcgn

SQUARE = """
struct Square {
  DCGN_HOST_DEVICE void operator()(dcgn::gpu::Context& ctx, dcgn::gpu::Comm comm) const {
    const dcgn::gpu::Slot me = comm.slot(ctx.block_rank());
    const dcgn::gpu::BlockScope block = dcgn::gpu::this_block(ctx);
    double* x = ctx.shared<double>();
    me.recv(block, *x, 0);
    if (ctx.thread_rank() == 0) *x *= *x;
    ctx.sync_block();
    me.send(block, *x, 1);
  }
};
"""


def main(comm: dcgn.Comm) -> None:
    slots = [r for r in range(comm.size) if r % 6 >= 2]  # behind the two CPU ranks of each process
    if comm.rank == 0:
        for slot in slots:
            comm.Send(array("d", [slot]), slot)
    if comm.rank == 1:
        square, total = array("d", [0]), 0.0
        for _ in slots:
            comm.Recv(square)
            total += square[0]
        print(f"the sum of {len(slots)} squares is {total:.0f}")


dcgn.run(main, cpus=2, gpus=1, slots=4, kernel=dcgn.Kernel(SQUARE, "Square"), shared_bytes=8)
