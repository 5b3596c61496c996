// A program of CUDA's runtime that knows of one GPU. Each step checks its results and prints what they sum to. Arguments:
// steps; all without.
#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#define CHECK(call)                                                                          \
  do {                                                                                       \
    const cudaError_t result = (call);                                                       \
    if (result != cudaSuccess) {                                                             \
      std::printf("line %d: %s: %s\n", __LINE__, #call, cudaGetErrorString(result));         \
      std::exit(1);                                                                          \
    }                                                                                        \
  } while (0)

static void expect(bool right, const char* what) {
  if (right) return;
  std::printf("wrong: %s\n", what);
  std::exit(1);
}

constexpr unsigned large = 1 << 22;  // words, 16 MiB
constexpr unsigned width = 2048, height = large / width;

__constant__ unsigned factor[4] = {3, 5, 7, 11};
__device__ unsigned offset = 100;
__device__ unsigned long long blocks_seen;

template <class T>
__global__ void add(const T* a, const T* b, T* c, unsigned n) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

__global__ void histogram(const unsigned char* data, unsigned n, unsigned* bins) {
  __shared__ unsigned mine[256];
  mine[threadIdx.x] = 0;
  __syncthreads();
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&mine[data[i]], 1);
  __syncthreads();
  atomicAdd(&bins[threadIdx.x], mine[threadIdx.x]);
  if (threadIdx.x == 0) atomicAdd(&blocks_seen, 1ull);
}

__global__ void scale(unsigned* data, unsigned pitch) {
  const unsigned x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  data[y * pitch + x] = data[y * pitch + x] * factor[y & 3] + offset;
}

// More shared memory than a launch gets without asking.
__global__ void reverse_blocks(unsigned* data) {
  extern __shared__ unsigned of_block[];
  constexpr unsigned each = 20000;
  unsigned* const mine = data + blockIdx.x * each;
  for (unsigned i = threadIdx.x; i < each; i += blockDim.x) of_block[i] = mine[i];
  __syncthreads();
  for (unsigned i = threadIdx.x; i < each; i += blockDim.x) mine[i] = of_block[each - 1 - i];
}

__global__ void reverse(const unsigned* from, unsigned* through, unsigned* to, unsigned n) {
  const auto grid = cooperative_groups::this_grid();
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) through[i] = from[i] + offset;
  grid.sync();
  if (i < n) to[i] = through[n - 1 - i];
}

template <class T>
std::uint64_t sum(const std::vector<T>& values) {
  std::uint64_t all = 1469598103934665603u;
  for (const T& value : values) {
    std::uint64_t bits = 0;
    memcpy(&bits, &value, sizeof value);
    all = (all ^ bits) * 1099511628211u;
  }
  return all;
}

static unsigned value_at(std::size_t i) { return static_cast<unsigned>(i * 2654435761u % 1000); }

template <class T>
struct Buffer {
  explicit Buffer(std::size_t its_count) : count(its_count) { CHECK(cudaMalloc(&data, count * sizeof(T))); }
  Buffer(std::size_t its_count, const std::function<T(std::size_t)>& value) : Buffer(its_count) {
    std::vector<T> values(count);
    for (std::size_t i = 0; i < count; ++i) values[i] = value(i);
    CHECK(cudaMemcpy(data, values.data(), count * sizeof(T), cudaMemcpyHostToDevice));
  }
  Buffer(const Buffer&) = delete;
  ~Buffer() { CHECK(cudaFree(data)); }
  std::vector<T> read() const {
    std::vector<T> values(count);
    CHECK(cudaMemcpy(values.data(), data, count * sizeof(T), cudaMemcpyDeviceToHost));
    return values;
  }
  std::size_t count;
  T* data = nullptr;
};

static void scale_here(std::vector<unsigned>& data, const unsigned* factors, unsigned its_offset) {
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = data[i] * factors[(i / width) & 3] + its_offset;
}
constexpr unsigned first_factors[4] = {3, 5, 7, 11};
static const dim3 plane(width / 256, height);

static std::uint64_t vector_add() {
  const unsigned n = large - 77;
  const Buffer<float> a(large, [](std::size_t i) { return 0.5f * static_cast<float>(value_at(i)); });
  const Buffer<float> b(large, [](std::size_t i) { return static_cast<float>(i % 100); }), c(large);
  CHECK(cudaMemset(c.data, 0, large * sizeof(float)));
  add<<<(n + 255) / 256, 256>>>(a.data, b.data, c.data, n);
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  const std::vector<float> all = c.read();
  for (unsigned i = 0; i < large; ++i)
    expect(all[i] == (i < n ? 0.5f * static_cast<float>(value_at(i)) + static_cast<float>(i % 100) : 0), "vector_add");
  return sum(all);
}

static std::uint64_t histograms() {
  constexpr unsigned n = 16 << 20, blocks = 256;
  const Buffer<unsigned char> data(n, [](std::size_t i) { return static_cast<unsigned char>(value_at(i)); });
  const Buffer<unsigned> bins(256);
  unsigned long long seen = 0;
  CHECK(cudaMemcpyToSymbol(blocks_seen, &seen, sizeof seen));
  std::uint64_t total = 0;
  for (int more = 0; more < 2; ++more) {
    for (int round = 0; round < 4; ++round) {
      CHECK(cudaMemset(bins.data, 0, 256 * sizeof(unsigned)));
      histogram<<<blocks, 256>>>(data.data, n, bins.data);
    }
    std::vector<unsigned> expected(256);
    for (std::size_t i = 0; i < n; ++i) ++expected[more && i < n / 2 ? 9 : static_cast<unsigned char>(value_at(i))];
    expect(bins.read() == expected, "histogram");
    total += sum(expected);
    CHECK(cudaMemset(data.data, 9, n / 2));
  }
  CHECK(cudaMemcpyFromSymbol(&seen, blocks_seen, sizeof seen));
  expect(seen == 8 * blocks, "blocks_seen");
  return total;
}

static std::uint64_t symbols() {
  const unsigned factors[2][4] = {{3, 5, 7, 11}, {2, 4, 6, 8}}, offsets[2] = {100, 42};
  const Buffer<unsigned> data(large, value_at);
  std::vector<unsigned> expected = data.read();
  for (int round = 0; round < 2; ++round) {
    CHECK(cudaMemcpyToSymbol(factor, factors[round], sizeof factors[round]));
    CHECK(cudaMemcpyToSymbolAsync(offset, &offsets[round], sizeof(unsigned), 0, cudaMemcpyHostToDevice, nullptr));
    scale<<<plane, 256>>>(data.data, width);
    scale_here(expected, factors[round], offsets[round]);
    expect(data.read() == expected, "symbols");
  }
  CHECK(cudaMemcpyToSymbol(factor, factors[0], sizeof factors[0]));
  CHECK(cudaMemcpyToSymbol(offset, &offsets[0], sizeof(unsigned)));
  return sum(expected);
}

static std::uint64_t streams() {
  cudaStream_t first, second;
  cudaEvent_t event;
  CHECK(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
  CHECK(cudaStreamCreate(&second));
  CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  unsigned* host = nullptr;
  CHECK(cudaMallocHost(&host, large * sizeof(unsigned)));
  for (unsigned i = 0; i < large; ++i) host[i] = value_at(i);
  std::vector<unsigned> expected(host, host + large);
  {
    const Buffer<unsigned> data(large), copy(large);
    CHECK(cudaMemcpyAsync(data.data, host, large * sizeof(unsigned), cudaMemcpyHostToDevice, first));
    for (int round = 0; round < 10; ++round) {
      scale<<<plane, 256, 0, first>>>(data.data, width);
      CHECK(cudaEventRecord(event, first));
      CHECK(cudaStreamWaitEvent(second, event));
      scale<<<plane, 256, 0, second>>>(data.data, width);
      CHECK(cudaEventRecord(event, second));
      CHECK(cudaStreamWaitEvent(first, event));
      for (int i = 0; i < 2; ++i) scale_here(expected, first_factors, 100);
    }
    CHECK(cudaMemcpyAsync(copy.data, data.data, large * sizeof(unsigned), cudaMemcpyDeviceToDevice, first));
    CHECK(cudaMemcpyAsync(host, copy.data, large * sizeof(unsigned), cudaMemcpyDeviceToHost, first));
    CHECK(cudaStreamSynchronize(first));
    expect(std::vector<unsigned>(host, host + large) == expected, "streams");
  }
  CHECK(cudaFreeHost(host));
  CHECK(cudaEventDestroy(event));
  CHECK(cudaStreamDestroy(first));
  CHECK(cudaStreamDestroy(second));
  return sum(expected);
}

static std::uint64_t malloc_async() {
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  std::vector<unsigned> all(large), few(256);
  for (unsigned round = 0; round < 3; ++round) {
    unsigned *data = nullptr, *bins = nullptr;
    CHECK(cudaMallocAsync(&data, large * sizeof(unsigned), stream));
    CHECK(cudaMallocAsync(&bins, 256 * sizeof(unsigned), stream));  // of the pool, which all GPUs reach
    CHECK(cudaMemsetAsync(data, static_cast<int>(round), large * sizeof(unsigned), stream));
    CHECK(cudaMemsetAsync(bins, 0, 256 * sizeof(unsigned), stream));
    histogram<<<256, 256, 0, stream>>>(reinterpret_cast<unsigned char*>(data), large * 4, bins);
    scale<<<plane, 256, 0, stream>>>(data, width);
    CHECK(cudaMemcpyAsync(all.data(), data, large * sizeof(unsigned), cudaMemcpyDeviceToHost, stream));
    CHECK(cudaMemcpyAsync(few.data(), bins, 256 * sizeof(unsigned), cudaMemcpyDeviceToHost, stream));
    CHECK(cudaFreeAsync(data, stream));
    CHECK(cudaFreeAsync(bins, stream));
    CHECK(cudaStreamSynchronize(stream));
    expect(few[round] == 4 * large && all[large - 1] == 0x01010101u * round * 11 + 100, "malloc_async");
  }
  CHECK(cudaStreamDestroy(stream));
  return sum(all);
}

static std::uint64_t pitched() {
  constexpr std::size_t columns = 1024, rows = 4000;
  unsigned* data = nullptr;
  std::size_t pitch = 0;
  CHECK(cudaMallocPitch(&data, &pitch, columns * sizeof(unsigned), rows));
  std::vector<unsigned> from(columns * rows), to(columns * rows);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = value_at(i);
  CHECK(cudaMemcpy2D(data, pitch, from.data(), columns * 4, columns * 4, rows, cudaMemcpyHostToDevice));
  scale<<<dim3(columns / 256, rows), 256>>>(data, static_cast<unsigned>(pitch / 4));
  CHECK(cudaMemcpy2D(to.data(), columns * 4, data, pitch, columns * 4, rows, cudaMemcpyDeviceToHost));
  for (std::size_t i = 0; i < from.size(); ++i)
    expect(to[i] == from[i] * first_factors[(i / columns) & 3] + 100, "pitched");
  CHECK(cudaMemset2D(data, pitch, 7, columns * 4, rows));
  CHECK(cudaMemcpy2D(to.data(), columns * 4, data, pitch, columns * 4, rows, cudaMemcpyDeviceToHost));
  for (const unsigned value : to) expect(value == 0x07070707, "memset of rows");
  CHECK(cudaFree(data));
  return sum(from);
}

static std::uint64_t pinned() {
  unsigned *mapped = nullptr, *host = nullptr;
  CHECK(cudaHostAlloc(&mapped, large * sizeof(unsigned), cudaHostAllocDefault));
  std::vector<unsigned> registered(large);
  CHECK(cudaHostRegister(registered.data(), large * sizeof(unsigned), cudaHostRegisterDefault));
  CHECK(cudaHostGetDevicePointer(&host, registered.data(), 0));
  for (unsigned i = 0; i < large; ++i) mapped[i] = registered[i] = value_at(i);
  add<<<large / 256, 256>>>(mapped, host, mapped, large);
  CHECK(cudaDeviceSynchronize());
  for (unsigned i = 0; i < large; ++i) expect(mapped[i] == 2 * value_at(i), "pinned");
  const std::uint64_t result = sum(std::vector<unsigned>(mapped, mapped + large));
  CHECK(cudaHostUnregister(registered.data()));
  CHECK(cudaFreeHost(mapped));
  return result;
}

static std::uint64_t cooperative() {
  constexpr unsigned n = 8192;
  const Buffer<unsigned> from(large, value_at), through(large), to(large);
  unsigned count = n;
  void* places[] = {const_cast<unsigned**>(&from.data), const_cast<unsigned**>(&through.data),
                    const_cast<unsigned**>(&to.data), &count};
  CHECK(cudaLaunchCooperativeKernel(reverse, dim3(n / 256), dim3(256), places, 0, nullptr));
  std::vector<unsigned> all = to.read();
  all.resize(n);
  for (unsigned i = 0; i < n; ++i) expect(all[i] == value_at(n - 1 - i) + 100, "cooperative");
  return sum(all);
}

static std::uint64_t graph() {
  const Buffer<unsigned> data(large, value_at);
  std::vector<unsigned> expected = data.read();
  cudaStream_t stream;
  cudaGraph_t recorded;
  cudaGraphExec_t exec;
  CHECK(cudaStreamCreate(&stream));
  scale<<<plane, 256, 0, stream>>>(data.data, width);
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  scale<<<plane, 256, 0, stream>>>(data.data, width);
  scale<<<plane, 256, 0, stream>>>(data.data, width);
  CHECK(cudaStreamEndCapture(stream, &recorded));
  CHECK(cudaGraphInstantiate(&exec, recorded, 0));
  for (int i = 0; i < 2; ++i) CHECK(cudaGraphLaunch(exec, stream));
  scale<<<plane, 256, 0, stream>>>(data.data, width);
  CHECK(cudaStreamSynchronize(stream));
  for (int i = 0; i < 6; ++i) scale_here(expected, first_factors, 100);
  expect(data.read() == expected, "graph");
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(recorded));
  CHECK(cudaStreamDestroy(stream));
  return sum(expected);
}

// A graph made node by node.
static std::uint64_t graph_nodes() {
  const Buffer<unsigned> data(large, value_at);
  std::vector<unsigned> expected = data.read();
  unsigned pitch = width;
  void* places[] = {const_cast<unsigned**>(&data.data), &pitch};
  cudaKernelNodeParams node{};
  node.func = reinterpret_cast<void*>(&scale);
  node.gridDim = plane;
  node.blockDim = dim3(256);
  node.kernelParams = places;
  cudaGraph_t made;
  cudaGraphNode_t added;
  cudaGraphExec_t exec;
  CHECK(cudaGraphCreate(&made, 0));
  CHECK(cudaGraphAddKernelNode(&added, made, nullptr, 0, &node));
  CHECK(cudaGraphInstantiate(&exec, made, 0));
  CHECK(cudaGraphLaunch(exec, nullptr));
  scale_here(expected, first_factors, 100);
  expect(data.read() == expected, "graph_nodes");
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(made));
  return sum(expected);
}

static std::uint64_t shared_memory() {
  constexpr unsigned each = 20000, blocks = 200;
  const Buffer<unsigned> data(each * blocks, value_at);
  CHECK(cudaFuncSetAttribute(reverse_blocks, cudaFuncAttributeMaxDynamicSharedMemorySize, each * 4));
  cudaFuncAttributes attributes;
  CHECK(cudaFuncGetAttributes(&attributes, reverse_blocks));
  int resident = 0;
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, reverse_blocks, 256, each * 4));
  expect(resident > 0 && attributes.maxThreadsPerBlock >= 256, "what is known of a kernel");
  reverse_blocks<<<blocks, 256, each * 4>>>(data.data);
  CHECK(cudaGetLastError());
  reverse_blocks<<<1, 256, each * 4>>>(data.data);  // whole
  CHECK(cudaGetLastError());
  const std::vector<unsigned> all = data.read();
  for (unsigned i = 0; i < each * blocks; ++i)
    expect(all[i] == value_at(i < each ? i : i / each * each + each - 1 - i % each), "shared_memory");
  return sum(all);
}

// Two threads of the host, each with its stream.
static std::uint64_t threads() {
  std::vector<unsigned> results[2];
  const auto work = [&](int which) {
    CHECK(cudaSetDevice(0));
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    const Buffer<unsigned> data(large, [&](std::size_t i) { return value_at(i) + static_cast<unsigned>(which); });
    for (int round = 0; round < 50; ++round) scale<<<plane, 256, 0, stream>>>(data.data, width);
    CHECK(cudaStreamSynchronize(stream));
    results[which] = data.read();
    CHECK(cudaStreamDestroy(stream));
  };
  std::thread other(work, 1);
  work(0);
  other.join();
  for (int which = 0; which < 2; ++which) {
    std::vector<unsigned> expected(large);
    for (std::size_t i = 0; i < large; ++i) expected[i] = value_at(i) + static_cast<unsigned>(which);
    for (int round = 0; round < 50; ++round) scale_here(expected, first_factors, 100);
    expect(results[which] == expected, "threads");
  }
  return sum(results[0]) ^ sum(results[1]);
}

static std::uint64_t pointers() {
  const Buffer<unsigned> data(large, value_at);
  cudaPointerAttributes found;
  CHECK(cudaPointerGetAttributes(&found, data.data + 3 * (large / 4)));
  expect(found.type == cudaMemoryTypeDevice && found.device == 0, "a pointer's attributes");
  CHECK(cudaMemcpy(data.data + large / 2, data.data, large / 2 * sizeof(unsigned), cudaMemcpyDefault));
  return sum(data.read());
}

int main(int argc, char** argv) {
  const std::map<std::string, std::uint64_t (*)()> all = {
      {"vector_add", &vector_add},   {"histogram", &histograms}, {"symbols", &symbols},         {"streams", &streams},
      {"malloc_async", &malloc_async}, {"pitched", &pitched},    {"pinned", &pinned},           {"cooperative", &cooperative},
      {"graph", &graph},             {"graph_nodes", &graph_nodes}, {"shared_memory", &shared_memory},
      {"threads", &threads},         {"pointers", &pointers}};
  std::vector<std::string> steps(argv + 1, argv + argc);
  if (steps.empty())
    for (const auto& [name, step] : all) steps.push_back(name);
  for (const std::string& step : steps)
    if (step == "list")
      for (const auto& [name, its] : all) std::printf("%s\n", name.c_str());
    else
      std::printf("%s %016llx\n", step.c_str(), static_cast<unsigned long long>(all.at(step)()));
  return 0;
}
