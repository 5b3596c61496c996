// One GPU made of several. The kernel knows nothing of that: its blocks are split over the devices, and its
// data have one address on all of them. Real GPUs take CUDA source, or PTX; emulated ones take a kernel object.
#include <dcgn/arch/context.hpp>
#include <dcgn/gpu/launch.hpp>
#include <dcgn/virtual_gpu.hpp>

#include <cstdio>
#include <vector>

constexpr int n = 1 << 20;

constexpr const char* source = R"(
extern "C" __global__ void smooth(const float* in, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i > 0 && i < n - 1) out[i] = 0.25f * in[i - 1] + 0.5f * in[i] + 0.25f * in[i + 1];
}
)";

struct Smooth {
  DCGN_HOST_DEVICE void operator()(dcgn::gpu::Context& ctx, const float* in, float* out, int count) const {
    const int i = static_cast<int>(ctx.block_rank() * ctx.num_threads() + ctx.thread_rank());
    if (i > 0 && i < count - 1) out[i] = 0.25f * in[i - 1] + 0.5f * in[i] + 0.25f * in[i + 1];
  }
};

int main() {
  std::vector<dcgn::Device> devices;
  devices.reserve(static_cast<std::size_t>(dcgn::Device::count()));
  for (int i = 0; i < dcgn::Device::count(); ++i) devices.emplace_back(i);
  if (devices.empty()) {
    std::puts("skipped: there is no GPU here, emulated or real");
    return 0;
  }
  if (devices.size() == 1) devices.push_back(devices.front());  // two parts that share it
  dcgn::VirtualGpu gpu(devices);
  const bool real = gpu.device(0).kind() == dcgn::DeviceKind::cuda;

  // Pages lie where the blocks run that use them, the default; place() would move them.
  auto* a = static_cast<float*>(gpu.allocate(n * sizeof(float)));
  auto* b = static_cast<float*>(gpu.allocate(n * sizeof(float)));
  std::vector<float> host(n);
  host[n / 2] = 1;  // on the border of two parts' chunks
  gpu.copy(a, host.data(), n * sizeof(float));
  gpu.copy(b, host.data(), n * sizeof(float));

  const dcgn::Launch shape{.grid = n / 256, .block = 256};
  dcgn::VirtualGpu::Stream stream(gpu);
  if (real) {
    const auto kernel = gpu.load_source("smooth.cu", source).kernel("smooth");
    gpu.launch(stream, kernel, shape, a, b, n);
    gpu.launch(stream, kernel, shape, b, a, n);
  } else {
    gpu.launch_object(stream, shape, Smooth{}, a, b, n);
    gpu.launch_object(stream, shape, Smooth{}, b, a, n);
  }
  gpu.copy(stream, host.data(), a, n * sizeof(float));
  stream.synchronize();

  const float expected[] = {0.0625f, 0.25f, 0.375f, 0.25f, 0.0625f};
  bool right = true;
  for (int k = 0; k < 5; ++k) right = right && host[n / 2 - 2 + k] == expected[k];
  std::printf("%d parts, %zu KiB of each buffer on the first: %s\n", gpu.parts(), gpu.bytes_on_parts(a)[0] / 1024,
              right ? "as one GPU computes it" : "WRONG");
  return right ? 0 : 1;
}
