// CUDA only: a conversation in a CUDA graph. The launch is captured once and replayed; the slot is a rank all
// the while, so each replay goes on where the one before it stopped. What the kernel must remember is in device memory.
#include <dcgn/dcgn.hpp>

#include <cstdio>
#include <cstdlib>

constexpr int rounds = 4;  // of each replay
constexpr int replays = 100;

struct Memory {
  int next;   // the number that should come
  int wrong;  // how often another one came
};

__global__ void answer(dcgn::gpu::Comm comm, Memory* memory) {
  dcgn::gpu::Context ctx;
  const dcgn::gpu::Slot me = comm.slot(0);
  const dcgn::gpu::WarpScope warp = dcgn::gpu::this_warp(ctx);
  for (int i = 0; i < rounds; ++i) {
    int x = -1;  // each lane has its own x; the first one's is what the calls use
    me.recv(warp, x, 0);
    if (ctx.lane() == 0) {
      if (x != memory->next) ++memory->wrong;
      ++memory->next;
    }
    x = 2 * x;
    me.send(warp, x, 0);
  }
  me.finish(warp);
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
  dcgn::World world({.nodes = {{.cpus = 1, .gpus = 1, .slots = 1}}});
  const dcgn::Device device = world.device(0);
  const dcgn::DeviceBuffer<Memory> memory(device, 1);
  device.fill(memory.data(), 0, memory.size_bytes());

  check(cudaSetDevice(device.index()));
  cudaStream_t stream = nullptr;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t replay = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  // Thread-local, so that other threads of the program may go on using CUDA meanwhile.
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  answer<<<1, 32, 0, stream>>>(world.handle(0), memory.data());  // the handle goes into the graph by value
  check(cudaGetLastError());
  check(cudaStreamEndCapture(stream, &graph));
  check(cudaGraphInstantiate(&replay, graph, 0));

  int wrong = 0;
  {
    dcgn::Comm me = world.attach(0);  // this thread is rank 0, the slot is rank 1
    for (int i = 0; i < replays; ++i) {
      check(cudaGraphLaunch(replay, stream));
      for (int k = 0; k < rounds; ++k) {
        const int sent = i * rounds + k;
        int x = -1;
        me.send(sent, 1);
        me.recv(x, 1);
        wrong += x != 2 * sent;
      }
    }
    check(cudaStreamSynchronize(stream));
  }
  check(cudaGraphExecDestroy(replay));
  check(cudaGraphDestroy(graph));
  check(cudaStreamDestroy(stream));

  Memory seen{};
  memory.download(&seen);
  std::printf("%d replays: the slot received %d numbers, %d wrong; %d wrong answers\n", replays, seen.next, seen.wrong,
              wrong);
  return seen.next == replays * rounds && seen.wrong == 0 && wrong == 0 ? 0 : 1;
}
