// Steps of whole_program.cu about addresses of what each GPU has of its own, the host's memory and captures.
#include "whole_program.hpp"

#include <atomic>
#include <thread>

namespace {

// First contents that lead to functions, which are the whole module's: they tell their block.
using Change = int (*)(int);
__device__ int add_block(int x) { return x + static_cast<int>(blockIdx.x); }
__device__ int times_block(int x) { return x * static_cast<int>(blockIdx.x); }
struct Shape {
  int side = 7;
  __device__ virtual int area() const = 0;
};
struct Square : Shape {
  __device__ int area() const override { return side * side + static_cast<int>(blockIdx.x); }
};
struct Entry {
  Change change;
  int* data;
};
struct __attribute__((packed)) Packed {
  char before;
  int* data;
  char behind;
};
__device__ int counter;
__constant__ Change table_a[2] = {add_block, times_block};
__device__ Change table_b[2] = {times_block, add_block};
__constant__ Change* const tables[2] = {table_a, table_b};
__device__ Change* const shared_tables[2] = {table_a, table_b};
__device__ Entry entries[2] = {{add_block, &counter}, {times_block, &counter}};
__constant__ Square square;
__device__ const Shape* to_square = &square;
__device__ Packed packed = {3, &counter, 4};

__global__ void apply_tables(int* to) {
  const unsigned i = thread_number();
  const int x = static_cast<int>(i % 5);
  to[i] =
      tables[i & 1][i >> 1 & 1](x) + shared_tables[i & 1][i >> 1 & 1](x) + to_square->area() + entries[i & 1].change(x);
  if (threadIdx.x == 0) atomicAdd(entries[i & 1].data, 1);
}
__global__ void count_packed() {
  if (threadIdx.x == 0) atomicAdd(packed.data, 1);
}
void tables_of_functions() {
  int* to = allocate<int>(large);
  count_packed<<<blocks, 32>>>();  // split
  apply_tables<<<blocks, 256>>>(to);
  const std::vector<int> all = read(to, large);
  for (int i = 0; i < large; ++i) {
    const int block = i / 256, x = i % 5, sum = x + block, product = x * block;
    const int by_table = (i & 1) == (i >> 1 & 1) ? sum : product;
    expect(all[i] == 2 * by_table + 49 + block + (i & 1 ? product : sum), "functions by way of tables");
  }
  int counted = 0;
  CHECK(cudaMemcpyFromSymbol(&counted, counter, sizeof counted));
  expect(counted == 2 * blocks, "addresses in tables and packed structs");
  void *address = nullptr, *held = nullptr;
  CHECK(cudaGetSymbolAddress(&address, table_b));
  CHECK(cudaMemcpyFromSymbol(&held, tables, sizeof held, sizeof held));
  expect(address == held, "the address of a table");
}

__device__ int global_numbers[2] = {11, 13};
__constant__ int constant_numbers[2] = {17, 19};
__constant__ const int* odd[2] = {global_numbers, global_numbers + 1};
__constant__ const int* even[2] = {constant_numbers, constant_numbers + 1};
__global__ void keep_either(const int** numbers) {
  const unsigned i = thread_number();
  const int** const table = i & 1 ? odd : even;
  numbers[i] = table[i >> 1 & 1];
}
__global__ void use_either(const int** numbers, int* to) {
  const unsigned i = gridDim.x * blockDim.x - 1 - thread_number();
  to[i] = *numbers[i];
}
void either_of_two() {
  const int** numbers = allocate<const int*>(large);
  int* to = allocate<int>(large);
  keep_either<<<blocks, 256>>>(numbers);
  use_either<<<blocks, 256>>>(numbers, to);
  const std::vector<int> all = read(to, large);
  for (int i = 0; i < large; ++i) expect(all[i] == (i & 1 ? 11 : 17) + (i & 2), "either of two tables");
}

// Atomics on memory of the host: of the system's scope, by a pointer in memory, by one of a packed struct.
struct __attribute__((packed)) Counts {
  char before;
  int* total;
};
__global__ void count_in_system(int* total) {
  if (threadIdx.x == 0) atomicAdd_system(total, 1);
}
__global__ void count_behind(int* const* total) {
  if (threadIdx.x == 0) atomicAdd_system(*total, 1);
}
__global__ void count_in_packed(Counts counts) {
  if (threadIdx.x == 0) atomicAdd(counts.total, 1);
}
int* on_host() {
  int* total = nullptr;
  CHECK(cudaMallocHost(&total, sizeof *total));
  *total = 0;
  return total;
}
void expect_counted(const int* total) {
  CHECK(cudaDeviceSynchronize());
  expect(*total == 20000, "atomics on memory of the host");
}
void system_atomics() {
  int* const total = on_host();
  count_in_system<<<20000, 32>>>(total);
  expect_counted(total);
}
void atomics_behind() {
  int* const total = on_host();
  int** const place = allocate<int*>(1);
  CHECK(cudaMemcpy(place, &total, sizeof total, cudaMemcpyHostToDevice));
  count_behind<<<20000, 32>>>(place);
  expect_counted(total);
}
void atomics_in_packed() {
  int* const total = on_host();
  count_in_packed<<<20000, 32>>>({1, total});
  expect_counted(total);
}

__global__ void fill_dynamic(int* to, int n) {
  extern __shared__ int words[];
  for (int i = static_cast<int>(threadIdx.x); i < n; i += static_cast<int>(blockDim.x)) words[i] = i;
  __syncthreads();
  if (threadIdx.x == 0) to[blockIdx.x] = words[n - 1];
}
void unasked_shared_memory() {
  constexpr int bytes = 64 << 10;
  int* to = allocate<int>(1000);
  fill_dynamic<<<1000, 256, bytes>>>(to, bytes / 4);
  expect(cudaGetLastError() == cudaErrorInvalidValue, "shared memory that was not asked for");
  CHECK(cudaFuncSetAttribute(fill_dynamic, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  fill_dynamic<<<1000, 256, bytes>>>(to, bytes / 4);
  for (const int last : read(to, 1000)) expect(last == bytes / 4 - 1, "shared memory that was asked for");
}

__global__ void hold_on(volatile int* flag) {
  while (*flag == 0) {
  }
}
__global__ void add_to(int* data, int add) { data[thread_number()] += add; }
__constant__ int weights[4] = {1, 2, 3, 4};
__global__ void add_words(int* to) {
  to[thread_number()] = weights[0] + 10 * weights[1] + 100 * weights[2] + 1000 * weights[3];
}
// Asynchronous writes of a constant do not wait; each reaches all GPUs.
void held_writes() {
  const cudaStream_t held = stream_of_its_own();
  int *flag = on_host(), *to = allocate<int>(large);
  void* address = nullptr;
  CHECK(cudaGetSymbolAddress(&address, weights));
  *static_cast<volatile int*>(flag) = 1;
  hold_on<<<1, 1, 0, held>>>(flag);
  add_words<<<blocks, 256, 0, held>>>(to);
  CHECK(cudaStreamSynchronize(held));
  *static_cast<volatile int*>(flag) = 0;
  hold_on<<<1, 1, 0, held>>>(flag);
  const auto at = [&](int word) { return reinterpret_cast<CUdeviceptr>(address) + 4 * word; };
  expect(of_driver<decltype(cuMemsetD32Async)>("cuMemsetD32Async")(at(1), 7, 1, held) == CUDA_SUCCESS, "a memset");
  expect(of_driver<decltype(cuMemsetD16Async)>("cuMemsetD16Async")(at(2), 0, 2, held) == CUDA_SUCCESS, "a memset");
  *static_cast<volatile int*>(flag) = 1;
  add_words<<<blocks, 256, 0, held>>>(to);
  CHECK(cudaStreamSynchronize(held));
  for (const int sum : read(to, large)) expect(sum == 1 + 70 + 4000, "writes of a constant");
}

// Memory may go while a stream is captured in relaxed mode.
void freed_in_capture() {
  const cudaStream_t stream = stream_of_its_own();
  int *data = allocate<int>(large), *other = allocate<int>(large), *third = allocate<int>(large);
  add_to<<<blocks, 256, 0, stream>>>(data, 1);
  CHECK(cudaDeviceSynchronize());
  cudaGraph_t graph;
  cudaGraphExec_t runs;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
  add_to<<<blocks, 256, 0, stream>>>(data, 2);
  CHECK(cudaFree(other));
  add_to<<<blocks, 256, 0, stream>>>(data, 3);
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&runs, graph, 0));
  CHECK(cudaGraphLaunch(runs, stream));
  CHECK(cudaStreamSynchronize(stream));
  CHECK(cudaFree(third));
  for (const int value : read(data, large)) expect(value == 6, "a capture during which memory was freed");
}

// The first whole launch of a module, while another thread captures its own stream.
__global__ void two_blocks(int* to) { to[thread_number()] = weights[0]; }
void captured_meanwhile() {
  const cudaStream_t stream = stream_of_its_own();
  int *data = allocate<int>(large), *to = allocate<int>(32);
  std::atomic<int> stage{0};
  const auto reach = [&](int next) {
    while (stage != next) std::this_thread::yield();
  };
  std::thread other([&] {
    add_to<<<blocks, 256, 0, cudaStreamPerThread>>>(data, 1);
    CHECK(cudaStreamSynchronize(cudaStreamPerThread));
    CHECK(cudaStreamBeginCapture(cudaStreamPerThread, cudaStreamCaptureModeThreadLocal));
    CHECK(cudaMemsetAsync(data, 0, large * sizeof(int), cudaStreamPerThread));
    stage = 1;
    reach(2);
    cudaGraph_t graph;
    cudaGraphExec_t runs;
    CHECK(cudaStreamEndCapture(cudaStreamPerThread, &graph));
    CHECK(cudaGraphInstantiate(&runs, graph, 0));
    CHECK(cudaGraphLaunch(runs, cudaStreamPerThread));
    CHECK(cudaStreamSynchronize(cudaStreamPerThread));
  });
  reach(1);
  two_blocks<<<1, 32, 0, stream>>>(to);
  CHECK(cudaStreamSynchronize(stream));
  stage = 2;
  other.join();
  for (const int value : read(to, 32)) expect(value == 1, "a whole launch during a capture");
  for (const int value : read(data, large)) expect(value == 0, "a capture during a whole launch");
}

// For `dcgn vgpu run --check`: what both launches write is there once.
void memory_of_host() {
  std::vector<int> mine(large);
  int *managed = nullptr, *registered = nullptr;
  CHECK(cudaMallocManaged(&managed, large * sizeof(int)));
  for (int i = 0; i < large; ++i) managed[i] = 0;
  CHECK(cudaHostRegister(mine.data(), large * sizeof(int), cudaHostRegisterMapped));
  CHECK(cudaHostGetDevicePointer(&registered, mine.data(), 0));
  add_to<<<blocks, 256>>>(managed, 1);
  add_to<<<blocks, 256>>>(registered, 2);
  CHECK(cudaDeviceSynchronize());
  for (int i = 0; i < large; ++i) expect(managed[i] == 1 && mine[i] == 2, "memory of the host");
  CHECK(cudaHostUnregister(mine.data()));
  CHECK(cudaFree(managed));
}

__global__ void read_left_lists(int* const* lists, int* to, int n) {
  const unsigned of = gridDim.x - 1 - blockIdx.x;
  for (int i = static_cast<int>(threadIdx.x); i < n; i += static_cast<int>(blockDim.x)) to[of * n + i] = lists[of][i];
}
void heap_of_left() {
  constexpr int n = 64, many = 1024;
  int **lists = allocate<int*>(large), *to = allocate<int>(large);
  make_left_lists(lists, many, n);
  read_left_lists<<<many, 32>>>(lists, to, n);
  const std::vector<int> all = read(to, n * many);
  for (int i = 0; i < n * many; ++i) expect(all[i] == i / n + i % n, "memory of malloc in a module that is left");
}

}  // namespace

Steps steps_of_addresses() {
  return {STEP(tables_of_functions), STEP(either_of_two),         STEP(system_atomics), STEP(atomics_behind),
          STEP(atomics_in_packed),   STEP(unasked_shared_memory), STEP(held_writes),    STEP(freed_in_capture),
          STEP(captured_meanwhile),  STEP(memory_of_host),        STEP(heap_of_left)};
}
