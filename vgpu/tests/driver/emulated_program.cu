// A program of CUDA's runtime for emulated GPUs: little work of many kinds. Each step checks its results and prints what
// they sum to. Arguments: steps; all without.
#include "emulated_program.hpp"

#include <cooperative_groups.h>

#include <chrono>
#include <cstdint>
#include <cstring>
#include <thread>

__global__ void twice(const int* from, int* to) { to[thread_number()] = 2 * from[thread_number()]; }

static unsigned memory_kinds() {
  int *pitched = nullptr, *managed = nullptr, *mapped = nullptr;
  size_t pitch = 0;
  constexpr int columns = 100, rows = 50;
  std::vector<int> from(columns * rows), to(columns * rows);
  for (int i = 0; i < columns * rows; ++i) from[i] = 7 * i;
  CHECK(cudaMallocPitch(&pitched, &pitch, columns * 4, rows));
  CHECK(cudaMemcpy2D(pitched, pitch, from.data(), columns * 4, columns * 4, rows, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy2D(to.data(), columns * 4, pitched, pitch, columns * 4, rows, cudaMemcpyDefault));
  expect(from == to, "rows");
  cudaPitchedPtr box;
  const cudaExtent extent{columns * 4, 10, 5};
  CHECK(cudaMalloc3D(&box, extent));
  CHECK(cudaMemset3D(box, 1, extent));
  cudaMemcpy3DParms back{};
  back.srcPtr = box;
  back.dstPtr = {to.data(), columns * 4, columns * 4, 10};
  back.extent = extent;
  back.kind = cudaMemcpyDeviceToHost;
  CHECK(cudaMemcpy3D(&back));
  for (const int value : to) expect(value == 0x01010101, "a box");
  CHECK(cudaMallocManaged(&managed, n * 4));
  CHECK(cudaHostAlloc(&mapped, n * 4, cudaHostAllocMapped));
  for (int i = 0; i < n; ++i) managed[i] = 1, mapped[i] = 2;
  add_number<<<blocks, 256>>>(managed, 3);
  add_number<<<blocks, 256>>>(mapped, 5);
  CHECK(cudaDeviceSynchronize());
  for (int i = 0; i < n; ++i) expect(managed[i] == i + 4 && mapped[i] == i + 7, "memory of the host");
  cudaPointerAttributes its;
  CHECK(cudaPointerGetAttributes(&its, mapped + 5));
  expect(its.type == cudaMemoryTypeHost && its.devicePointer == mapped + 5, "what is known of an address");
  CHECK(cudaPointerGetAttributes(&its, &its));
  expect(its.type == cudaMemoryTypeUnregistered, "what is not known");
  for (void* one : {static_cast<void*>(pitched), static_cast<void*>(managed), box.ptr}) CHECK(cudaFree(one));
  CHECK(cudaFreeHost(mapped));
  return from.back();
}

__constant__ int factors[4] = {1, 2, 3, 4};
__device__ int total;
__constant__ int* total_at = &total;
__global__ void count_blocks() {
  if (threadIdx.x == 0) atomicAdd(total_at, factors[blockIdx.x & 3]);
}
static unsigned variables() {
  int value = 0;
  const int others[2] = {20, 30};
  CHECK(cudaMemcpyToSymbol(total, &value, 4));
  CHECK(cudaMemcpyToSymbol(factors, others, 8, 4));
  count_blocks<<<64, 32>>>();
  CHECK(cudaMemcpyFromSymbol(&value, total, 4));
  expect(value == 16 * (1 + 20 + 30 + 4), "a constant that leads to a variable");
  void* address = nullptr;
  size_t bytes = 0;
  CHECK(cudaGetSymbolAddress(&address, factors));
  CHECK(cudaGetSymbolSize(&bytes, factors));
  expect(address && bytes == 16, "a symbol");
  return value;
}

__global__ void all_atomics(char* m) {
  const unsigned b = blockIdx.x;
  atomicAdd(reinterpret_cast<int*>(m), 1);
  atomicAdd(reinterpret_cast<unsigned long long*>(m + 64), 2ull);
  atomicAdd(reinterpret_cast<float*>(m + 128), 1.f);
  atomicAdd(reinterpret_cast<double*>(m + 192), 0.5);
  atomicMin(reinterpret_cast<int*>(m + 256), -static_cast<int>(b));
  atomicMax(reinterpret_cast<unsigned*>(m + 320), b);
  atomicOr(reinterpret_cast<unsigned*>(m + 384), 1u << (b & 31));
  atomicInc(reinterpret_cast<unsigned*>(m + 448), 999);
  auto* const exchanged = reinterpret_cast<unsigned*>(m + 512);
  for (unsigned old = *static_cast<volatile unsigned*>(exchanged), seen;; old = seen)
    if ((seen = atomicCAS(exchanged, old, old + 3)) == old) break;
}
static unsigned atomics() {
  char* const m = device<char>(4096);
  all_atomics<<<64, 64>>>(m);
  const std::vector<char> all = read(m, 4096);
  const auto at = [&](int offset, auto kind) {
    decltype(kind) value;
    std::memcpy(&value, all.data() + offset, sizeof value);
    return value;
  };
  expect(at(0, 0) == 4096 && at(64, 0ull) == 8192 && at(128, 0.f) == 4096 && at(192, 0.) == 2048, "sums");
  expect(at(256, 0) == -63 && at(320, 0u) == 63 && at(384, 0u) == ~0u, "least, most, bits");
  expect(at(448, 0u) == 96 && at(512, 0u) == 3 * 4096, "wrapped, exchanged");
  CHECK(cudaFree(m));
  return at(512, 0u);
}

__global__ void fill_shared(int* to, int words) {
  extern __shared__ int mine[];
  for (int i = threadIdx.x; i < words; i += blockDim.x) mine[i] = i + blockIdx.x;
  __syncthreads();
  if (threadIdx.x == 0) to[blockIdx.x] = mine[words - 1];
}
__global__ void between_threads(int* to) {
  int sum = thread_number();
  for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_xor_sync(~0u, sum, distance);
  to[thread_number()] = sum + __popc(__ballot_sync(~0u, threadIdx.x & 1));
}
static unsigned blocks_alone() {
  int most = 0, resident = 0;
  CHECK(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
  int* const to = device<int>(n);
  fill_shared<<<8, 64, most>>>(to, most / 4);
  expect(cudaGetLastError() == cudaErrorInvalidValue, "shared memory that was not asked for");
  CHECK(cudaFuncSetAttribute(fill_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, most));
  fill_shared<<<8, 64, most>>>(to, most / 4);
  CHECK(cudaGetLastError());
  const std::vector<int> ends = read(to, 8);
  for (int i = 0; i < 8; ++i) expect(ends[i] == most / 4 - 1 + i, "all shared memory");
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, fill_shared, 64, most));
  expect(resident == 1, "blocks at a time");
  between_threads<<<blocks, 256>>>(to);
  const std::vector<int> sums = read(to, n);
  for (int i = 0; i < n; ++i) expect(sums[i] == 32 * (i / 32 * 32) + 31 * 16 + 16, "sums of warps");
  CHECK(cudaFree(to));
  return most;
}

__global__ void reverse(const int* from, int* through, int* to) {
  through[thread_number()] = from[thread_number()] + 1;
  cooperative_groups::this_grid().sync();
  to[thread_number()] = through[gridDim.x * blockDim.x - 1 - thread_number()];
}
static unsigned cooperative() {
  constexpr int few = 2048;
  int *from = device<int>(n), *through = device<int>(n), *to = device<int>(n);
  add_number<<<blocks, 256>>>(from, 0);
  void* places[] = {&from, &through, &to};
  CHECK(cudaLaunchCooperativeKernel(reverse, few / 256, 256, places, 0, nullptr));
  const std::vector<int> all = read(to, few);
  for (int i = 0; i < few; ++i) expect(all[i] == few - i, "a grid that waits");
  expect(cudaLaunchCooperativeKernel(reverse, 100000, 256, places, 0, nullptr) == cudaErrorCooperativeLaunchTooLarge,
         "a grid that cannot be resident");
  expect(cudaGetLastError() == cudaErrorCooperativeLaunchTooLarge && cudaGetLastError() == cudaSuccess, "an error once");
  for (int* one : {from, through, to}) CHECK(cudaFree(one));
  return all[0];
}

static unsigned streams() {
  const cudaStream_t first = own_stream(), second = own_stream();
  cudaEvent_t begin, middle, end;
  for (cudaEvent_t* event : {&begin, &middle, &end}) CHECK(cudaEventCreate(event));
  int *from = device<int>(n), *to = device<int>(n), calls = 0;
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaEventRecord(begin, first));
  add_number<<<blocks, 256, 0, first>>>(from, 1);
  CHECK(cudaEventRecord(middle, first));
  CHECK(cudaStreamWaitEvent(second, middle));
  twice<<<blocks, 256, 0, second>>>(from, to);
  CHECK(cudaLaunchHostFunc(second, [](void* data) { ++*static_cast<int*>(data); }, &calls));
  CHECK(cudaEventRecord(end, second));
  CHECK(cudaEventSynchronize(end));
  float ms = -1;
  CHECK(cudaEventElapsedTime(&ms, begin, end));
  expect(calls == 1 && ms >= 0, "a call of the host, and a time");
  expect_all(to, 2, 2, "work in the order of events");
  add_number<<<blocks, 256, 0, first>>>(from, 0);
  while (cudaStreamQuery(first) == cudaErrorNotReady) {
  }
  expect_all(from, 1, 2, "work that was asked for");
  for (cudaEvent_t event : {begin, middle, end}) CHECK(cudaEventDestroy(event));
  for (cudaStream_t stream : {first, second}) CHECK(cudaStreamDestroy(stream));
  for (int* one : {from, to}) CHECK(cudaFree(one));
  return calls;
}

__global__ void hold(volatile int* flag, int* to) {
  while (*flag == 0) {
  }
  *to = 7;
}
// What waits keeps no other thread from letting it go on; and what nobody waits for is done.
static unsigned threads() {
  int *flag = nullptr, *to = nullptr, *data = device<int>(n);
  CHECK(cudaMallocHost(&flag, 2 * sizeof(int)));
  to = flag + 1;
  *flag = *to = 0;
  const cudaStream_t held = own_stream(), other = own_stream();
  CHECK(cudaDeviceSynchronize());
  hold<<<1, 1, 0, held>>>(flag, to);
  std::thread waits([&] { CHECK(cudaStreamSynchronize(held)); });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  add_number<<<blocks, 256, 0, other>>>(data, 3);
  CHECK(cudaStreamSynchronize(other));
  *static_cast<volatile int*>(flag) = 1;
  waits.join();
  expect(*to == 7, "what a thread waited for");
  *to = 0;
  hold<<<1, 1, 0, held>>>(flag, to);
  const auto began = std::chrono::steady_clock::now();
  while (*static_cast<volatile int*>(to) == 0)
    expect(std::chrono::steady_clock::now() - began < std::chrono::seconds(30), "what nobody waits for");
  CHECK(cudaDeviceSynchronize());
  expect_all(data, 3, 1, "what another thread did");
  CHECK(cudaFreeHost(flag));
  CHECK(cudaFree(data));
  return 7;
}

// A copy between GPUs waits for both, and both wait for it. Nothing is done where there is one, or where a thread has a
// default stream of its own, which waits for no other.
static unsigned two_devices() {
  int count = 0;
  CHECK(cudaGetDeviceCount(&count));
#if defined(CUDA_API_PER_THREAD_DEFAULT_STREAM)
  count = 1;
#endif
  if (count < 2) return 2;
  int *memory[2], *other = nullptr;
  cudaStream_t stream[2];
  for (const int its : {1, 0}) {
    CHECK(cudaSetDevice(its));
    memory[its] = device<int>(n);
    if (its == 0) other = device<int>(n);
    stream[its] = own_stream();
    CHECK(cudaDeviceSynchronize());
  }
  for (const cudaMemcpyKind kind : {cudaMemcpyDeviceToDevice, cudaMemcpyDefault}) {
    for (const int its : {1, 0}) {
      CHECK(cudaSetDevice(its));
      CHECK(cudaMemsetAsync(memory[its], 0, n * sizeof(int), stream[its]));
      add_number<<<blocks, 256, 0, stream[its]>>>(memory[its], 5 + its);
    }
    CHECK(cudaMemcpy(other, memory[1], n * sizeof(int), kind));
    CHECK(cudaMemcpy(memory[1], memory[0], n * sizeof(int), kind));
    CHECK(cudaSetDevice(1));
    add_number<<<blocks, 256, 0, stream[1]>>>(memory[1], 0);
    CHECK(cudaStreamSynchronize(stream[1]));
    expect_all(memory[1], 5, 2, "a copy from the current GPU");
    CHECK(cudaSetDevice(0));
    expect_all(other, 6, 1, "a copy from another GPU");
  }
  return 2;
}

static unsigned graphs() {
  const cudaStream_t stream = own_stream();
  int *from = device<int>(n), *to = device<int>(n), *within = nullptr, more = 2;
  cudaGraph_t recorded, made;
  cudaGraphExec_t runs;
  cudaGraphNode_t first, last;
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  CHECK(cudaMallocAsync(&within, n * sizeof(int), stream));
  CHECK(cudaMemsetAsync(within, 0, n * sizeof(int), stream));
  add_number<<<blocks, 256, 0, stream>>>(within, 1);
  twice<<<blocks, 256, 0, stream>>>(within, to);
  CHECK(cudaStreamEndCapture(stream, &recorded));
  CHECK(cudaGraphInstantiate(&runs, recorded, 0));
  for (int i = 0; i < 2; ++i) {
    CHECK(cudaGraphLaunch(runs, stream));
    CHECK(cudaFreeAsync(within, stream));  // what the graph allocates each time
  }
  CHECK(cudaGraphLaunch(runs, stream));
  CHECK(cudaStreamSynchronize(stream));
  CHECK(cudaFree(within));
  expect_all(to, 2, 2, "a graph that was recorded");
  CHECK(cudaGraphExecDestroy(runs));

  CHECK(cudaGraphCreate(&made, 0));
  void* places[] = {&from, &more};
  cudaKernelNodeParams kernel{};
  kernel.func = reinterpret_cast<void*>(add_number);
  kernel.gridDim = blocks;
  kernel.blockDim = 256;
  kernel.kernelParams = places;
  cudaMemsetParams fill{};
  fill.dst = from;
  fill.elementSize = 4;
  fill.value = 5;
  fill.width = n;
  fill.height = 1;
  CHECK(cudaGraphAddKernelNode(&last, made, nullptr, 0, &kernel));
  CHECK(cudaGraphAddMemsetNode(&first, made, nullptr, 0, &fill));
  CHECK(cudaGraphAddDependencies(made, &first, &last, nullptr, 1));
  CHECK(cudaGraphInstantiate(&runs, made, 0));
  CHECK(cudaGraphLaunch(runs, stream));
  CHECK(cudaStreamSynchronize(stream));
  expect_all(from, 7, 1, "a graph made of nodes");
  more = 10;
  CHECK(cudaGraphExecKernelNodeSetParams(runs, last, &kernel));
  CHECK(cudaGraphLaunch(runs, stream));
  CHECK(cudaStreamSynchronize(stream));
  expect_all(from, 15, 1, "a node that was changed");
  CHECK(cudaGraphExecDestroy(runs));
  for (cudaGraph_t graph : {recorded, made}) CHECK(cudaGraphDestroy(graph));
  for (int* one : {from, to}) CHECK(cudaFree(one));
  return more;
}


__device__ int* lists[64];
__global__ void make_lists() {
  if (threadIdx.x == 0) lists[blockIdx.x] = static_cast<int*>(malloc(32 * sizeof(int)));
  __syncthreads();
  lists[blockIdx.x][threadIdx.x] = thread_number();
}
__global__ void read_lists(int* to) {
  to[thread_number()] = lists[blockIdx.x][threadIdx.x];
  __syncthreads();
  if (threadIdx.x == 0) free(lists[blockIdx.x]);
}
struct Shape {
  __device__ virtual int area(int) const = 0;
};
struct Square : Shape {
  __device__ int area(int x) const override { return x * x; }
};
struct Strip : Shape {
  __device__ int area(int x) const override { return 3 * x; }
};
__global__ void make_shapes(Shape** shapes) {
  shapes[0] = new Square();
  shapes[1] = new Strip();
}
__global__ void use_shapes(Shape** shapes, int* to) { to[thread_number()] = shapes[thread_number() & 1]->area(5); }
static unsigned objects() {
  int* const to = device<int>(n);
  make_lists<<<64, 32>>>();
  read_lists<<<64, 32>>>(to);
  const std::vector<int> all = read(to, 64 * 32);
  for (int i = 0; i < 64 * 32; ++i) expect(all[i] == i, "memory of malloc");
  Shape** const shapes = device<Shape*>(2);
  make_shapes<<<1, 1>>>(shapes);
  use_shapes<<<blocks, 256>>>(shapes, to);
  const std::vector<int> areas = read(to, n);
  for (int i = 0; i < n; ++i) expect(areas[i] == (i & 1 ? 15 : 25), "virtual functions");
  return areas[0];
}

unsigned managed();  // in emulated_managed.cu: modules that have managed variables are not split

// A variable's address as an argument, beside a kernel that is split in time.
__device__ unsigned given_total;
__global__ void add_index(unsigned* to, unsigned* total) {
  to[blockIdx.x * blockDim.x + threadIdx.x] += 1;
  if (total && threadIdx.x == 0) atomicAdd(total, 1);
}
static unsigned variable_given() {
  constexpr unsigned its_blocks = 1024, rounds = 60;
  unsigned *const to = device<unsigned>(2 << 20), *total = nullptr, found = 0;
  CHECK(cudaMemset(to, 0, 8 << 20));
  CHECK(cudaGetSymbolAddress(reinterpret_cast<void**>(&total), given_total));
  for (unsigned round = 0; round < rounds; ++round) {
    add_index<<<its_blocks, 64>>>(to, round % 2 == 0 ? nullptr : total);
    CHECK(cudaDeviceSynchronize());
  }
  CHECK(cudaMemcpyFromSymbol(&found, given_total, sizeof found));
  expect(found == its_blocks * rounds / 2, "a variable by its address");
  CHECK(cudaMemcpy(&found, to + its_blocks * 64 - 1, sizeof found, cudaMemcpyDeviceToHost));
  expect(found == rounds, "what is beside it");
  return found;
}
int main(int argc, char** argv) {
  Steps all = {STEP(memory_kinds), STEP(managed), STEP(variables), STEP(atomics), STEP(blocks_alone), STEP(cooperative),
               STEP(streams),      STEP(threads), STEP(two_devices), STEP(graphs), STEP(objects), STEP(variable_given)};
  all.merge(steps_of_errors());
  std::vector<std::string> steps(argv + 1, argv + argc);
  if (steps.empty())
    for (const auto& [name, step] : all)
      if (name.find("fault") == std::string::npos && name != "trap") steps.push_back(name);
  for (const std::string& step : steps) std::printf("%s %u\n", step.c_str(), all.at(step)());
  return 0;
}
