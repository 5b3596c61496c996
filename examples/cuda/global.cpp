// CUDA only: the paper's figure 1 as it was written there (Stuart and Owens 2009, section 3.1), a plain
// __global__ function. The program launches it with <<<>>> on streams of its own and passes it a world's handle;
// between them, rank 0 and rank 1 are two GPUs, or two slots of one. 02_slots.cpp has it for any device.
#include <dcgn/dcgn.hpp>

#include <cstdio>
#include <cstdlib>

__global__ void ping_pong(dcgn::gpu::Comm comm, unsigned slot, int* answer) {
  dcgn::gpu::Context ctx;  // what a function object is handed
  const dcgn::gpu::Slot me = comm.slot(slot);
  const dcgn::gpu::ThreadScope thread = dcgn::gpu::this_thread();
  if (threadIdx.x == 0) {
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
  // The last kernel of a slot sees to it that what it has sent arrives. (A job does it for you.)
  me.finish(dcgn::gpu::this_block(ctx));
}

void check(cudaError_t result) {
  if (result == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", cudaGetErrorName(result), cudaGetErrorString(result));
  std::exit(1);
}

int main() {
  if (dcgn::Device::count() == 0 || dcgn::Device(0).kind() != dcgn::DeviceKind::cuda) {
    std::printf("skipped: no CUDA device\n");
    return 0;
  }
  const int gpus = dcgn::Device::count() > 1 ? 2 : 1;
  dcgn::World world({.nodes = {{.gpus = gpus, .slots = 2 / gpus}}});
  const dcgn::DeviceBuffer<int> answer(world.device(0), 1);  // where rank 0 is

  // The first kernel waits for the second one: each has a stream of its own, and whatever the driver does at leisure
  // (streams, memory) comes before either.
  cudaStream_t streams[2];
  for (int rank = 0; rank < 2; ++rank) {
    check(cudaSetDevice(world.device(world.placement().place(rank).device).index()));
    check(cudaStreamCreateWithFlags(&streams[rank], cudaStreamNonBlocking));
  }
  for (int rank = 0; rank < 2; ++rank) {
    const dcgn::Place place = world.placement().place(rank);
    check(cudaSetDevice(world.device(place.device).index()));
    ping_pong<<<1, 32, 0, streams[rank]>>>(world.handle(place.device), place.slot, answer.data());
    check(cudaGetLastError());
  }
  for (const cudaStream_t stream : streams) {
    check(cudaStreamSynchronize(stream));
    check(cudaStreamDestroy(stream));
  }

  int x = 0;
  answer.download(&x);
  std::printf("ping-pong of %d GPU%s: 41 came back as %d\n", gpus, gpus == 1 ? "" : "s", x);
  if (world.aborted()) std::fprintf(stderr, "%s\n", world.report().c_str());
  return x == 42 ? 0 : 1;
}
