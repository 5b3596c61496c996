// Steps of whole_program.cu about addresses of what each GPU has of its own, and the host's memory.
#include "whole_program.hpp"

#include <algorithm>
#include <array>

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

__global__ void add_to(int* data, int add) { data[thread_number()] += add; }
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

// A little outside of an array, where other arrays lie: what it reads there it does not use.
__global__ void add_neighbours(const volatile int* data, int* to, int n) {
  const int i = static_cast<int>(thread_number()), left = data[i - 1], right = data[i + 1];
  to[i] = (i == 0 ? 0 : left) + (i == n - 1 ? 0 : right);
}
void outside() {
  std::array<int*, 7> arrays;
  for (int*& one : arrays) one = allocate<int>(large);
  std::sort(arrays.begin(), arrays.end());
  CHECK(cudaMemset(arrays[3], 1, large * sizeof(int)));
  add_neighbours<<<blocks, 256>>>(arrays[3], arrays[1], large);
  const std::vector<int> all = read(arrays[1], large);
  for (int i = 0; i < large; ++i)
    expect(all[i] == (i == 0 || i == large - 1 ? 0x01010101 : 0x02020202), "reads outside of an array");
}

}  // namespace

Steps steps_of_addresses() {
  return {
      STEP(tables_of_functions), STEP(either_of_two),     STEP(system_atomics),
      STEP(atomics_behind),      STEP(atomics_in_packed), STEP(memory_of_host),
      STEP(heap_of_left),        STEP(outside),           STEP(unasked_shared_memory),
  };
}
