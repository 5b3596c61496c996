// A CPU thread and a running kernel play ping-pong: the README's program.
#include <dcgn/dcgn.hpp>

#include <cstdio>

struct Pong {
  DCGN_HOST_DEVICE void operator()(dcgn::gpu::Context& ctx, dcgn::gpu::Comm comm, int rounds) const {
    const dcgn::gpu::Slot me = comm.slot(ctx.block_rank());
    const dcgn::gpu::BlockScope block = dcgn::gpu::this_block(ctx);
    int* x = ctx.shared<int>();
    for (int i = 0; i < rounds; ++i) {
      me.recv(block, *x, 0);                // every thread of the block makes the call
      if (ctx.thread_rank() == 0) *x += 1;  // one of them answers
      me.send(block, *x, 0);
    }
  }
};

int main() {
  constexpr int rounds = 1000;
  dcgn::Job job({.nodes = {{.cpus = 1, .gpus = 1, .slots = 1}}});  // rank 0: the CPU; rank 1: the slot

  job.cpu([](dcgn::Comm& comm) {
    int x = 0;
    for (int i = 0; i < rounds; ++i) {
      comm.send(x, 1);
      comm.recv(x, 1);
    }
    std::printf("after %d rounds: %d\n", rounds, x);
    if (x != rounds) throw dcgn::Error(dcgn::Code::kernel_failed, "ping-pong", "lost count");
  });
  job.gpu({.grid = dcgn::one_block_per_slot, .block = 32, .shared_bytes = sizeof(int)}, Pong{}, rounds);
  job.run();
}
