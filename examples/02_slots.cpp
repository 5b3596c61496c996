// Step 2: the same between slots, inside a kernel that goes on running. It is the paper's figure 1; its sections 3.1
// and 3.2 say why a GPU's ranks are slots.
#include <dcgn/dcgn.hpp>

#include <cstdio>

// A kernel is a function object. On a GPU it is compiled by nvcc, on an emulated one it is this C++; it reads who it is
// from the context. Its calls are those of a CPU rank, but that each says first which threads make it.
struct PingPong {
  DCGN_HOST_DEVICE void operator()(dcgn::gpu::Context& ctx, dcgn::gpu::Comm comm, int rounds, int* answer) const {
    if (ctx.thread_rank() != 0) return;                      // the first thread of each block makes the calls
    const dcgn::gpu::Slot me = comm.slot(ctx.block_rank());  // one block a slot: this block is the rank of its slot
    const dcgn::gpu::ThreadScope thread = dcgn::gpu::this_thread();
    const int other = 1 - me.rank();
    int x = 0;
    for (int i = 0; i < rounds; ++i) {
      if (me.rank() == 0) {
        me.send(thread, x, other);
        me.recv(thread, x, other);
      } else {
        me.recv(thread, x, other);
        x += 1;
        me.send(thread, x, other);
      }
    }
    if (me.rank() == 0) *answer = x;
  }
};

int main() {
  constexpr int rounds = 100;
  // Two GPUs with a slot each; where there is but one, its two slots.
  const int gpus = dcgn::Device::count() > 1 ? 2 : 1;
  dcgn::Job job({.nodes = {{.gpus = gpus, .slots = 2 / gpus}}});
  const dcgn::DeviceBuffer<int> answer(job.world().device(0), 1);  // where rank 0 is
  job.gpu({.grid = dcgn::one_block_per_slot, .block = 32}, PingPong{}, rounds, answer.data());
  job.run();

  int x = 0;
  answer.download(&x);  // the kernel has ended, so the host may look
  std::printf("two slots, %d rounds in one kernel: %d\n", rounds, x);
  return x == rounds ? 0 : 1;
}
