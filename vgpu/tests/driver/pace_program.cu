// Loads of several kinds, of which pace.sh looks how long a step takes with and without `dcgn vgpu run`.
//   pace_program LOAD [SECONDS]        prints "LOAD MS": milliseconds of a step, the middle one of those of the second half
// `pace_program list` has the names. Each load checks its results in the end.
#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <vector>

#define CHECK(call)                                                                  \
  do {                                                                               \
    const cudaError_t result = (call);                                               \
    if (result != cudaSuccess) {                                                     \
      std::printf("line %d: %s: %s\n", __LINE__, #call, cudaGetErrorString(result)); \
      std::exit(1);                                                                  \
    }                                                                                \
  } while (0)

static void expect(bool right, const char* what) {
  if (right) return;
  std::printf("wrong: %s\n", what);
  std::exit(1);
}

template <class T>
static T* allocate(std::size_t count) {
  T* memory = nullptr;
  CHECK(cudaMalloc(&memory, count * sizeof(T)));
  CHECK(cudaMemset(memory, 0, count * sizeof(T)));
  return memory;
}
template <class T>
static T first(const T* memory) {
  T value;
  CHECK(cudaMemcpy(&value, memory, sizeof value, cudaMemcpyDeviceToHost));
  return value;
}

__device__ std::size_t thread_number() { return std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; }
__global__ void add_one(float* data, std::size_t n) {
  if (const std::size_t i = thread_number(); i < n) data[i] += 1;
}
__global__ void triad(float* to, const float* a, const float* b, std::size_t n) {
  if (const std::size_t i = thread_number(); i < n) to[i] = a[i] + 3 * b[i];
}
__global__ void compute(float* data, int rounds) {
  float x = data[thread_number()];
  for (int i = 0; i < rounds; ++i) x = x * 0.999f + 0.001f;
  data[thread_number()] = x;
}
__global__ void sum_of(const float* data, std::size_t n, float* total) {
  __shared__ float mine[256];
  float x = 0;
  for (std::size_t i = thread_number(); i < n; i += std::size_t{gridDim.x} * blockDim.x) x += data[i];
  mine[threadIdx.x] = x;
  __syncthreads();
  for (unsigned half = 128; half != 0; half /= 2) {
    if (threadIdx.x < half) mine[threadIdx.x] += mine[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) atomicAdd(total, mine[0]);
}
__global__ void sweep(float* a, float* b, std::size_t n, int rounds) {
  const auto grid = cooperative_groups::this_grid();
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = thread_number(); i < n; i += std::size_t{gridDim.x} * blockDim.x)
      b[i] = 0.5f * (a[i] + a[(i + 1) % n]) + 1;
    grid.sync();
    float* const other = a;
    a = b, b = other;
  }
}

static unsigned blocks_for(std::size_t n) { return static_cast<unsigned>((n + 255) / 256); }
static void synchronize() { CHECK(cudaDeviceSynchronize()); }

using Step = std::function<void()>;
struct Load {
  Step step;
  std::function<void(int steps)> check = [](int) {};
};

static Load small_kernels() {
  constexpr std::size_t n = 1 << 16;
  float* const data = allocate<float>(n);
  return {[=] {
            for (int i = 0; i < 1000; ++i) add_one<<<blocks_for(n), 256>>>(data, n);
            synchronize();
          },
          [=](int steps) { expect(first(data) == std::min(1000.0f * steps, 16777216.0f), "small kernels"); }};
}
static Load small_synchronized() {
  constexpr std::size_t n = 1 << 20;
  float* const data = allocate<float>(n);
  return {[=] {
    for (int i = 0; i < 100; ++i) {
      add_one<<<blocks_for(n), 256>>>(data, n);
      synchronize();
    }
  }};
}
static Load streaming() {
  constexpr std::size_t n = std::size_t{1} << 28;  // 1 GiB each
  float *const to = allocate<float>(n), *const a = allocate<float>(n), *const b = allocate<float>(n);
  add_one<<<blocks_for(n), 256>>>(b, n);
  return {[=] {
            for (int i = 0; i < 10; ++i) triad<<<blocks_for(n), 256>>>(to, a, b, n);
            synchronize();
          },
          [=](int) { expect(first(to) == 3 && first(to + n - 1) == 3, "streaming"); }};
}
static Load grid_barriers() {
  constexpr std::size_t n = 16 << 20;  // 64 MiB each
  float *a = allocate<float>(n), *b = allocate<float>(n);
  int multiprocessors = 0;
  CHECK(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0));
  return {[=] {
    std::size_t count = n;
    int rounds = 50;
    float *from = a, *to = b;
    void* arguments[] = {&from, &to, &count, &rounds};
    CHECK(cudaLaunchCooperativeKernel(reinterpret_cast<void*>(&sweep), multiprocessors, 256, arguments, 0, nullptr));
    synchronize();
  }};
}
static Load computing() {
  constexpr std::size_t n = 4 << 20;
  float* const data = allocate<float>(n);
  return {[=] {
    for (int i = 0; i < 4; ++i) compute<<<blocks_for(n), 256>>>(data, 4000);
    synchronize();
  }};
}
// Launches on and on, and waits for none of them until the end.
static Load running_ahead() {
  constexpr std::size_t n = std::size_t{1} << 28;  // 1 GiB
  float* const data = allocate<float>(n);
  return {[=] {
            for (int i = 0; i < 100; ++i) add_one<<<blocks_for(n), 256>>>(data, n);
          },
          [=](int steps) {
            const float sum = 100.0f * static_cast<float>(steps);
            expect(first(data) == sum && first(data + n - 1) == sum, "running ahead");
          }};
}
static Load many_streams() {
  constexpr std::size_t n = 1 << 20, count = 8;
  std::vector<cudaStream_t> streams(count);
  for (cudaStream_t& stream : streams) CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  float* const data = allocate<float>(n * count);
  synchronize();
  return {[=] {
            for (int i = 0; i < 20; ++i)
              for (std::size_t s = 0; s < count; ++s)
                add_one<<<blocks_for(n), 256, 0, streams[s]>>>(data + s * n, n);
            for (const cudaStream_t stream : streams) CHECK(cudaStreamSynchronize(stream));
          },
          [=](int steps) { expect(first(data + n) == std::min(20.0f * steps, 16777216.0f), "many streams"); }};
}
// A step as of a solver: it computes, and reads a part of the result back.
static Load copies_back() {
  constexpr std::size_t n = 16 << 20;
  float *const to = allocate<float>(n), *const a = allocate<float>(n), *const b = allocate<float>(n);
  float* host = nullptr;
  CHECK(cudaMallocHost(&host, n * sizeof(float)));
  return {[=] {
            for (int i = 0; i < 5; ++i) triad<<<blocks_for(n), 256>>>(to, a, b, n);
            add_one<<<blocks_for(n), 256>>>(a, n);
            CHECK(cudaMemcpy(host, to, n * sizeof(float), cudaMemcpyDeviceToHost));
          },
          [=](int steps) { expect(host[n - 1] == static_cast<float>(steps - 1), "copies back"); }};
}
static Load reductions() {
  constexpr std::size_t n = std::size_t{1} << 26;
  float *const data = allocate<float>(n), *const total = allocate<float>(1);
  add_one<<<blocks_for(n), 256>>>(data, n);
  return {[=] {
            float sum = 0;
            CHECK(cudaMemset(total, 0, sizeof(float)));
            sum_of<<<1024, 256>>>(data, n, total);
            CHECK(cudaMemcpy(&sum, total, sizeof sum, cudaMemcpyDeviceToHost));
            expect(sum == static_cast<float>(n), "a sum");
          }};
}
// Sizes grow until they are 256 MiB, which the second half of the steps have.
static Load growing() {
  constexpr std::size_t most = std::size_t{1} << 26;
  float *const to = allocate<float>(most), *const a = allocate<float>(most), *const b = allocate<float>(most);
  auto* const count = new int(0);  // of this process
  return {[=] {
    const std::size_t n = std::min(most, std::size_t{1} << (16 + std::min(10, ++*count / 20)));
    for (int i = 0; i < 10; ++i) triad<<<blocks_for(n), 256>>>(to, a, b, n);
    synchronize();
  }};
}
// Memory for each step, as libraries take it.
static Load allocations() {
  constexpr std::size_t n = 4 << 20;
  return {[=] {
    float* data = nullptr;
    CHECK(cudaMalloc(&data, n * sizeof(float)));
    for (int i = 0; i < 4; ++i) add_one<<<blocks_for(n), 256>>>(data, n);
    CHECK(cudaFree(data));
  }};
}

int main(int argc, char** argv) {
  const std::map<std::string, Load (*)()> all = {
      {"allocations", &allocations}, {"computing", &computing},         {"copies_back", &copies_back},
      {"growing", &growing},         {"grid_barriers", &grid_barriers}, {"many_streams", &many_streams},
      {"reductions", &reductions},   {"running_ahead", &running_ahead}, {"small_kernels", &small_kernels},
      {"streaming", &streaming},     {"small_synchronized", &small_synchronized}};
  const std::string name = argc > 1 ? argv[1] : "list";
  if (name == "list") {
    for (const auto& [known, load] : all) std::printf("%s\n", known.c_str());
    return 0;
  }
  using Clock = std::chrono::steady_clock;
  const auto seconds_since = [](Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
  };
  const double seconds = argc > 2 ? std::atof(argv[2]) : 4;
  const Load load = all.at(name)();
  CHECK(cudaDeviceSynchronize());
  std::vector<double> steps;
  for (const auto begin = Clock::now(); seconds_since(begin) < seconds || steps.size() < 10;) {
    const auto before = Clock::now();
    load.step();
    steps.push_back(1e3 * seconds_since(before));
  }
  load.check(static_cast<int>(steps.size()));
  std::vector<double> later(steps.begin() + static_cast<std::ptrdiff_t>(steps.size() / 2), steps.end());
  std::nth_element(later.begin(), later.begin() + static_cast<std::ptrdiff_t>(later.size() / 2), later.end());
  std::printf("%s %.4f\n", name.c_str(), later[later.size() / 2]);
  return 0;
}
