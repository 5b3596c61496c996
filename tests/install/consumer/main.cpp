// Fills memory of an emulated GPU and reads it back; and makes something of each other module that there is.
#include <dcgn/device.hpp>
#include <dcgn/gpu/launch.hpp>
#include <dcgn/version.hpp>
#if defined(HAS_PIXELS)
#include <dcgn/pixels.hpp>
#include <dcgn/pixels/context.hpp>
#endif
#if defined(HAS_MEMNET)
#include <dcgn/simulated_network.hpp>
#endif
#if defined(HAS_STENCIL)
#include <dcgn/stencil.hpp>
#endif
#if defined(HAS_VGPU)
#include <dcgn/virtual_gpu.hpp>
#endif

#include <array>
#include <cstdio>
#include <cstdlib>

struct Fill {
  DCGN_HOST_DEVICE void operator()(dcgn::gpu::Context& ctx, int* out) const {
    out[ctx.block_rank() * ctx.num_threads() + ctx.thread_rank()] = static_cast<int>(ctx.thread_rank()) + 1;
  }
};

int main() {
  setenv("DCGN_EMULATED_GPUS", "1", 1);
  const dcgn::Device device(0);
  const dcgn::DeviceBuffer<int> buffer(device, 8);
  dcgn::Stream stream(device);
  device.launch(stream, {.grid = 2, .block = 4}, Fill{}, buffer.data());
  stream.synchronize();
  std::array<int, 8> host{};
  buffer.download(host.data());
  const bool right = host == std::array<int, 8>{1, 2, 3, 4, 1, 2, 3, 4};
  std::printf("Decagon %s: %s\n", dcgn::version.data(), right ? "right" : "wrong");
#if defined(HAS_STENCIL)
  std::printf("a grid of %lld cells\n",
              static_cast<long long>(dcgn::Grid(dcgn::GridShape{.extents = {8, 8}}, 1).cells()));
#endif
#if defined(HAS_VGPU)
  const dcgn::VirtualGpu gpu({device, device});
  std::printf("a virtual GPU\n");
#endif
#if defined(HAS_PIXELS)
  std::printf("%d devices of EGL, by default %s\n", dcgn::pixels::Context::devices(),
              to_string(dcgn::pixels::Options{}.path).c_str());
#endif
#if defined(HAS_MEMNET)
  dcgn::SimulatedNetwork network("[topology]\nkind = \"mesh\"\nextents = [2, 2]\n");
  network.inject({.source = 0, .destination = 3});
  while (!network.idle()) network.step();
  std::printf("a simulated network of %d nodes, %lld packet delivered\n", network.terminals(),
              static_cast<long long>(network.counters().delivered_packets));
#endif
  return right ? 0 : 1;
}
