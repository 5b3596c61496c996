// Step 1: who is who. A job of two CPU kernels and two slots on each of two GPUs: six ranks, all alike.
//
// Every rank sends its number to rank 0, which receives from whoever comes first.
#include <dcgn/dcgn.hpp>

#include <cstdio>

struct Hello {
  DCGN_HOST_DEVICE void operator()(dcgn::gpu::Context& ctx, dcgn::gpu::Comm comm) const {
    // One block a slot: this block is the rank of its slot, and all of its threads take part in the call.
    const dcgn::gpu::Slot me = comm.slot(ctx.block_rank());
    me.send(dcgn::gpu::this_block(ctx), me.rank(), 0);
  }
};

int main() {
  dcgn::Job job({.nodes = {{.cpus = 2, .gpus = 2, .slots = 2}}});

  job.cpu([](dcgn::Comm& comm) {
    if (comm.rank() != 0) {
      comm.send(comm.rank(), 0);
      return;
    }
    for (int i = 1; i < comm.size(); ++i) {
      int number = 0;
      const dcgn::Status status = comm.recv(number, dcgn::any_source);
      std::printf("rank 0 heard from rank %d\n", status.source);
      if (number != status.source) throw dcgn::Error(dcgn::Code::kernel_failed, "hello", "a wrong number came");
    }
  });
  job.gpu({.grid = dcgn::one_block_per_slot, .block = 64}, Hello{});

  const dcgn::Report report = job.run();
  std::printf("%s", to_string(report).c_str());
}
