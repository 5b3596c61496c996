// Step 6: the two programs that the paper shows (Stuart and Owens 2009), in today's spelling: the ping-pong of two CPU
// kernels of figure 3, and the ping-pong of two GPUs of figure 1. Sections 3.1 and 3.2 say why a GPU's ranks are slots.
#include <dcgn/dcgn.hpp>

#include <cstdio>

// Figure 3, below: `if (dcgn::getRank() == 0) { dcgn::send(1, &x, sizeof(int)); dcgn::recv(1, ...); }` and so on.
void cpu_ping_pong(dcgn::Comm& comm) {
  int x = 0;
  if (comm.rank() == 0) {
    x = 41;
    comm.send(x, 1);
    comm.recv(x, 1);
    std::printf("CPU ping-pong: 41 came back as %d\n", x);
    if (x != 42) throw dcgn::Error(dcgn::Code::kernel_failed, "ping-pong", "a wrong number came back");
  } else if (comm.rank() == 1) {
    comm.recv(x, 0);
    x += 1;
    comm.send(x, 0);
  }
}

// Figure 1: one thread of a block makes the calls for the block's slot, then all of its threads meet. The paper's
// messages had to be in global memory; today any memory will do, such as this thread's own.
struct GpuPingPong {
  DCGN_HOST_DEVICE void operator()(dcgn::gpu::Context& ctx, dcgn::gpu::Comm comm, int* answer) const {
    const dcgn::gpu::Slot me = comm.slot(ctx.block_rank());
    const dcgn::gpu::ThreadScope thread = dcgn::gpu::this_thread();
    if (ctx.thread_rank() == 0) {
      if (me.rank() == 0) {
        int x = 41;
        me.send(thread, x, 1);
        me.recv(thread, x, 1);
        *answer = x;
      } else if (me.rank() == 1) {
        int x = 0;
        me.recv(thread, x, 0);
        x += 1;
        me.send(thread, x, 0);
      }
    }
    ctx.sync_block();
  }
};

int main() {
  dcgn::Job cpus({.nodes = {{.cpus = 2}}});
  cpus.cpu(cpu_ping_pong);
  cpus.run();

  // Two GPUs with a slot each; where there is but one, its two slots.
  const int gpus = dcgn::Device::count() > 1 ? 2 : 1;
  dcgn::Job job({.nodes = {{.gpus = gpus, .slots = 2 / gpus}}});
  const dcgn::DeviceBuffer<int> answer(job.world().device(0), 1);  // where rank 0 is
  job.gpu({.grid = dcgn::one_block_per_slot, .block = 32}, GpuPingPong{}, answer.data());
  job.run();
  int x = 0;
  answer.download(&x);
  std::printf("GPU ping-pong: 41 came back as %d\n", x);
  return x == 42 ? 0 : 1;
}
