// The other way in. A program that starts its own threads and launches its own kernels opens a world and passes
// its handle to them. A slot outlives a kernel: the second launch goes on where the first one ended.
#include <dcgn/dcgn.hpp>

#include <cstdio>
#include <thread>

// Adds up what it receives, `count` messages of it, in device memory.
struct Accumulate {
  DCGN_HOST_DEVICE void operator()(dcgn::gpu::Context& ctx, dcgn::gpu::Comm comm, int count, long* total) const {
    const dcgn::gpu::Slot me = comm.slot(0);
    if (ctx.thread_rank() != 0) return;
    for (int i = 0; i < count; ++i) {
      int x = 0;
      me.recv(dcgn::gpu::this_thread(), x, 0);
      *total += x;
    }
  }
};

int main() {
  dcgn::World world({.nodes = {{.cpus = 1, .gpus = 1, .slots = 1}}});
  const dcgn::Device device = world.device(0);
  const dcgn::DeviceBuffer<long> total(device, 1);
  device.fill(total.data(), 0, total.size_bytes());

  std::thread sender([&world] {
    dcgn::Comm me = world.attach(0);  // this thread is rank 0 until `me` is destroyed
    for (int i = 1; i <= 100; ++i) me.send(i, 1);
  });

  dcgn::Stream stream(device);
  device.launch(stream, {.grid = 1, .block = 32}, Accumulate{}, world.handle(0), 60, total.data());
  device.launch(stream, {.grid = 1, .block = 32}, Accumulate{}, world.handle(0), 40, total.data());
  stream.synchronize();
  sender.join();

  long sum = 0;
  total.download(&sum);
  std::printf("received in two kernels: %ld\n", sum);
  return sum == 5050 ? 0 : 1;
}
