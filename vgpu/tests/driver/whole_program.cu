// A program of CUDA's runtime that knows of one GPU, and does what a split launch may get wrong: memory and functions
// that one GPU alone reaches, arrays given from outside of their memory, pieces written by many streams. Each step
// checks its results. Arguments: steps; all without.
#include "whole_program.hpp"

#include <chrono>
#include <cstring>
#include <new>
#include <thread>

__global__ void number(int* data, int n, int add) {
  if (const int i = static_cast<int>(thread_number()); i < n) data[i] += i + add;
}
__global__ void delay(long long ns) {
  unsigned long long begin, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
  do asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  while (now - begin < ns);
}
// All blocks read all over the array, so that copies of it pay.
__global__ void twice(const int* from, int* to, int n) {
  for (int i = static_cast<int>(thread_number()); i < n; i += static_cast<int>(gridDim.x * blockDim.x))
    to[i] = 2 * from[i];
}
static void expect_numbers(const int* data, int add, const char* what) {
  const std::vector<int> all = read(data, large);
  for (int i = 0; i < large; ++i) expect(all[i] == i + add, what);
}

// Each stream writes its piece of one array at a time of its own, and reads it then.
static void pieces(bool copied) {
  constexpr int streams = 20, each = large / streams / 256 * 256;
  cudaStream_t its[streams];
  for (cudaStream_t& stream : its) stream = stream_of_its_own();
  int *from = allocate<int>(large), *to = allocate<int>(large), *host = nullptr;
  CHECK(cudaMallocHost(&host, large * sizeof(int)));
  CHECK(cudaDeviceSynchronize());
  for (int round = 1; round <= 4; ++round) {
    for (int i = 0; i < large; ++i) host[i] = round * i;
    CHECK(cudaMemset(from, 0, large * sizeof(int)));
    CHECK(cudaDeviceSynchronize());
    for (int s = 0; s < streams; ++s) {
      int* const mine = from + s * each;
      if (s % 5) delay<<<1, 1, 0, its[s]>>>(1000000ll * s);
      if (copied)
        CHECK(cudaMemcpyAsync(mine, host + s * each, each * sizeof(int), cudaMemcpyHostToDevice, its[s]));
      else
        number<<<each / 256, 256, 0, its[s]>>>(mine, each, round + s * each);
    }
    for (int again = 0; again < 2; ++again)
      for (int s = 0; s < streams; ++s) twice<<<64, 256, 0, its[s]>>>(from + s * each, to + s * each, each);
    CHECK(cudaDeviceSynchronize());
    const std::vector<int> all = read(to, streams * each);
    for (int i = 0; i < streams * each; ++i) expect(all[i] == 2 * (copied ? round * i : i + round), "pieces");
  }
}
static void pieces_copied() { pieces(true); }
static void pieces_written() { pieces(false); }

__global__ void add_from(int* element_0, long long first, int n) {
  const long long i = first + thread_number();
  if (i < first + n) element_0[i] += 1;
}
static void element_0_outside() {
  int *data = allocate<int>(large), *to = allocate<int>(large), *other = allocate<int>(large);
  for (const long long first : {large + 100ll, 10ll * large, -3ll * large})
    for (int round = 0; round < 3; ++round) {
      const int before = read(data, 1)[0];
      for (int again = 0; again < 4; ++again) twice<<<64, 256>>>(data, to, large);
      add_from<<<blocks, 256>>>(data - first, first, large);
      twice<<<64, 256>>>(data, to, large);
      const std::vector<int> all = read(to, large);
      for (int i = 0; i < large; ++i) expect(all[i] == 2 * (before + 1), "an array from outside of its memory");
    }
  for (const int value : read(other, large)) expect(value == 0, "another array");
}

__device__ int counter;
__constant__ int* to_counter = &counter;
__global__ void count() {
  if (threadIdx.x == 0) atomicAdd(to_counter, 1);
}
static void address_in_constant() {
  count<<<1000, 32>>>();
  CHECK(cudaDeviceSynchronize());
  int value = 0;
  CHECK(cudaMemcpyFromSymbol(&value, counter, sizeof value));
  expect(value == 1000, "the address of a variable in a constant");
}

__constant__ int coefficients[4] = {2, 3, 5, 7};
__device__ const char* names[] = {"north", "east", "south", "west"};
__global__ void keep_addresses(const int** numbers, const char** texts) {
  const unsigned i = thread_number();
  numbers[i] = &coefficients[i % 4];
  texts[i] = i % 2 ? "odd" : "even";
}
__global__ void use_addresses(const int** numbers, const char** texts, int* to) {
  const unsigned i = gridDim.x * blockDim.x - 1 - thread_number();
  to[i] = *numbers[i] + texts[i][0] + names[i % 4][0];
}
static void addresses_stored() {
  const int** numbers = allocate<const int*>(large);
  const char** texts = allocate<const char*>(large);
  int* to = allocate<int>(large);
  keep_addresses<<<blocks, 256>>>(numbers, texts);
  use_addresses<<<blocks, 256>>>(numbers, texts, to);
  const std::vector<int> all = read(to, large);
  for (int i = 0; i < large; ++i)
    expect(all[i] == "\2\3\5\7"[i % 4] + (i % 2 ? 'o' : 'e') + "nesw"[i % 4], "addresses of constants and texts");
}

__device__ int* lists[1024];
__global__ void make_lists(int n) {
  __shared__ int* mine;
  if (threadIdx.x == 0) lists[blockIdx.x] = mine = static_cast<int*>(malloc(n * sizeof(int)));
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) mine[i] = static_cast<int>(blockIdx.x) + i;
}
__global__ void read_lists(int* to, int n) {
  const unsigned of = gridDim.x - 1 - blockIdx.x;
  for (int i = threadIdx.x; i < n; i += blockDim.x) to[of * n + i] = lists[of][i];
}
__global__ void read_list(const int* list, int* to) { to[thread_number()] = list[threadIdx.x]; }
__global__ void end_lists() {
  if (threadIdx.x == 0) free(lists[blockIdx.x]);
}
static void heap() {
  constexpr int n = 64, many = 1024;
  int* to = allocate<int>(n * many);
  make_lists<<<many, 32>>>(n);
  read_lists<<<many, 32>>>(to, n);
  std::vector<int> all = read(to, n * many);
  for (int i = 0; i < n * many; ++i) expect(all[i] == i / n + i % n, "memory of malloc");
  int* last = nullptr;
  CHECK(cudaMemcpyFromSymbol(&last, lists, sizeof last, (many - 1) * sizeof last));
  read_list<<<many, n>>>(last, to);
  all = read(to, n * many);
  for (int i = 0; i < n * many; ++i) expect(all[i] == many - 1 + i % n, "memory of malloc as an argument");
  end_lists<<<many, 32>>>();
  CHECK(cudaDeviceSynchronize());
}

struct Shape {
  int side;
  __device__ explicit Shape(int its_side) : side(its_side) {}
  __device__ virtual int area(int more) const = 0;
};
struct Square : Shape {
  using Shape::Shape;
  __device__ int area(int more) const override { return side * side + more; }
};
struct Strip : Shape {
  using Shape::Shape;
  __device__ int area(int more) const override { return 3 * side + more; }
};
__global__ void make_shapes(char* memory, Shape** shapes, int n) {
  if (const int i = static_cast<int>(thread_number()); i < n) {
    void* const at = memory + 32 * i;
    shapes[i] = i % 2 ? static_cast<Shape*>(new (at) Square(i)) : new (at) Strip(i);
  }
}
__global__ void use_shapes(Shape** shapes, int n, int* to) {
  const int i = static_cast<int>(thread_number());
  to[i] = shapes[i % n]->area(i % 5);
}
static void virtual_functions() {
  constexpr int n = 300;
  char* memory = allocate<char>(32 * n);
  Shape** shapes = allocate<Shape*>(n);
  int* to = allocate<int>(large);
  for (const int first : {1, 10}) {  // by one block, which is whole anyway, and by several
    make_shapes<<<first, (n + first - 1) / first>>>(memory, shapes, n);
    use_shapes<<<blocks, 256>>>(shapes, n, to);
    const std::vector<int> all = read(to, large);
    for (int i = 0; i < large; ++i) {
      const int side = i % n;
      expect(all[i] == (side % 2 ? side * side : 3 * side) + i % 5, "virtual functions");
    }
  }
}

using Change = int (*)(int);
__device__ int halve(int x) { return x / 2; }
__device__ int negate(int x) { return -x; }
__device__ Change chosen = halve, free_choice;
__constant__ Change table[2] = {halve, negate};
__global__ void choose() { free_choice = negate; }
__global__ void apply(Change given, int* to) {
  const int i = static_cast<int>(thread_number());
  to[i] = given(i) + chosen(i) + free_choice(i) + table[i & 1](i);
}
static void function_pointers() {
  int* to = allocate<int>(large);
  Change given = nullptr;
  CHECK(cudaMemcpyFromSymbol(&given, chosen, sizeof given));
  choose<<<1, 1>>>();
  for (int round = 0; round < 2; ++round) {
    apply<<<blocks, 256>>>(given, to);
    const std::vector<int> all = read(to, large);
    for (int i = 0; i < large; ++i) {
      const int first = round ? -i : i / 2;
      expect(all[i] == 2 * first - i + (i & 1 ? -i : i / 2), "function pointers");
    }
    CHECK(cudaMemcpyFromSymbol(&given, free_choice, sizeof given));
    CHECK(cudaMemcpyToSymbol(chosen, &given, sizeof given));
  }
}

static void mapped() {
  CHECK(cudaFree(nullptr));
  constexpr std::size_t bytes = large * sizeof(int);
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  CUmemAccessDesc access{};
  access.location = properties.location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  CUmemGenericAllocationHandle memory = 0;
  CUdeviceptr address = 0;
  expect(of_driver<decltype(cuMemCreate)>("cuMemCreate")(&memory, bytes, &properties, 0) == CUDA_SUCCESS, "create");
  expect(of_driver<decltype(cuMemAddressReserve)>("cuMemAddressReserve")(&address, bytes, 0, 0, 0) == CUDA_SUCCESS,
         "reserve");
  expect(of_driver<decltype(cuMemMap)>("cuMemMap")(address, bytes, 0, memory, 0) == CUDA_SUCCESS, "map");
  expect(of_driver<decltype(cuMemSetAccess)>("cuMemSetAccess")(address, bytes, &access, 1) == CUDA_SUCCESS, "access");
  int* const data = reinterpret_cast<int*>(address);
  CHECK(cudaMemset(data, 0, bytes));
  number<<<blocks, 256>>>(data, large, 1);
  expect_numbers(data, 1, "mapped memory");
}

static void of_graph() {
  const cudaStream_t stream = stream_of_its_own();
  int *data = nullptr, *second = nullptr;
  cudaGraph_t graph;
  cudaGraphExec_t runs;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  CHECK(cudaMallocAsync(&data, large * sizeof(int), stream));
  CHECK(cudaMemsetAsync(data, 0, large * sizeof(int), stream));
  CHECK(cudaStreamEndCapture(stream, &graph));
  cudaMemAllocNodeParams more{};
  more.poolProps.allocType = cudaMemAllocationTypePinned;
  more.poolProps.location = {cudaMemLocationTypeDevice, 0};
  more.bytesize = large * sizeof(int);
  cudaGraphNode_t node;
  CHECK(cudaGraphAddMemAllocNode(&node, graph, nullptr, 0, &more));
  second = static_cast<int*>(more.dptr);
  CHECK(cudaGraphInstantiate(&runs, graph, 0));
  CHECK(cudaGraphLaunch(runs, stream));
  CHECK(cudaMemsetAsync(second, 0, large * sizeof(int), stream));
  number<<<blocks, 256, 0, stream>>>(data, large, 2);
  number<<<blocks, 256, 0, stream>>>(second, large, 3);
  CHECK(cudaStreamSynchronize(stream));
  expect_numbers(data, 2, "memory of a graph");
  expect_numbers(second, 3, "memory of a graph's node");
  CHECK(cudaFreeAsync(data, stream));
  CHECK(cudaFreeAsync(second, stream));
  CHECK(cudaStreamSynchronize(stream));
}

// Parameters of kernels, by the calls for any node.
static void graph_parameters() {
  int* data = allocate<int>(large);
  int n = large, add = 1;
  void* arguments[] = {&data, &n, &add};
  cudaGraphNodeParams node{};
  node.type = cudaGraphNodeTypeKernel;
  node.kernel.func = reinterpret_cast<void*>(&number);
  node.kernel.gridDim = blocks;
  node.kernel.blockDim = 256;
  node.kernel.kernelParams = arguments;
  cudaGraph_t graph;
  cudaGraphNode_t added;
  cudaGraphExec_t runs;
  CHECK(cudaGraphCreate(&graph, 0));
  CHECK(cudaGraphAddNode(&added, graph, nullptr, nullptr, 0, &node));
  add = 2;
  CHECK(cudaGraphNodeSetParams(added, &node));
  CHECK(cudaGraphInstantiate(&runs, graph, 0));
  CHECK(cudaGraphLaunch(runs, nullptr));
  expect_numbers(data, 2, "parameters of a graph's node");
  CHECK(cudaMemset(data, 0, large * sizeof(int)));
  add = 3;
  CHECK(cudaGraphExecNodeSetParams(runs, added, &node));
  CHECK(cudaGraphLaunch(runs, nullptr));
  expect_numbers(data, 3, "parameters of a node that runs");
}

__device__ __noinline__ int its_block() { return static_cast<int>(blockIdx.x); }
__global__ void fill_shared(int* to, int n) {
  extern __shared__ int words[];
  for (int i = static_cast<int>(threadIdx.x); i < n; i += static_cast<int>(blockDim.x)) words[i] = i + its_block();
  __syncthreads();
  if (threadIdx.x == 0) to[its_block()] = words[n - 1];
}
static void all_shared_memory() {
  int bytes = 0;
  CHECK(cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
  CHECK(cudaFuncSetAttribute(fill_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  int* to = allocate<int>(1000);
  fill_shared<<<1000, 256, bytes>>>(to, bytes / 4);
  const std::vector<int> all = read(to, 1000);
  for (int i = 0; i < 1000; ++i) expect(all[i] == bytes / 4 - 1 + i, "all shared memory of a block");
}

__device__ __noinline__ int deep(int depth, int seed) {
  volatile int mine[64];
  for (int i = 0; i < 64; ++i) mine[i] = seed + i;
  return (depth == 0 ? seed : deep(depth - 1, seed + 1)) + mine[63] - seed - 63;
}
__global__ void recurse(int* to, int depth) { to[thread_number()] = deep(depth, static_cast<int>(blockIdx.x)); }
static void stack() {
  CHECK(cudaDeviceSetLimit(cudaLimitStackSize, 64 << 10));
  int* to = allocate<int>(large);
  recurse<<<1024, 64>>>(to, 40);
  const std::vector<int> all = read(to, 1024 * 64);
  for (int i = 0; i < 1024 * 64; ++i) expect(all[i] == i / 64 + 40, "a deep stack");
}

__global__ void hold(volatile int* flag, int* to) {
  while (*flag == 0) {
  }
  *to = 7;
}
// What waits for the GPU in one thread keeps no other from letting it go on; what need not wait does not.
static void host_threads() {
  int *flag = nullptr, *to = allocate<int>(1), *data = allocate<int>(large), got = 0;
  CHECK(cudaMallocHost(&flag, sizeof *flag));
  *static_cast<volatile int*>(flag) = 1;
  const cudaStream_t held = stream_of_its_own(), other = stream_of_its_own();
  hold<<<1, 1, 0, held>>>(flag, to);  // so that its module is loaded
  number<<<blocks, 256, 0, other>>>(data, large, 0);
  CHECK(cudaDeviceSynchronize());
  *static_cast<volatile int*>(flag) = 0;
  int* mine = nullptr;
  CHECK(cudaMallocAsync(&mine, large * sizeof(int), held));
  hold<<<1, 1, 0, held>>>(flag, to);
  CHECK(cudaFreeAsync(mine, held));  // does not wait
  std::thread waits([&] {
    CHECK(cudaMemcpyAsync(&got, to, sizeof got, cudaMemcpyDeviceToHost, held));
    CHECK(cudaStreamSynchronize(held));
    CHECK(cudaStreamDestroy(held));
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  CHECK(cudaMemsetAsync(data, 0, large * sizeof(int), other));
  number<<<blocks, 256, 0, other>>>(data, large, 5);
  CHECK(cudaStreamSynchronize(other));
  *static_cast<volatile int*>(flag) = 1;
  waits.join();
  expect(got == 7, "what a thread waited for");
  expect_numbers(data, 5, "what another did meanwhile");

  const cudaStream_t last = stream_of_its_own();
  *static_cast<volatile int*>(flag) = 0;
  hold<<<1, 1, 0, last>>>(flag, to);
  CHECK(cudaStreamDestroy(last));  // does not wait
  *static_cast<volatile int*>(flag) = 1;
  CHECK(cudaDeviceSynchronize());
}

// The same stream by its name, another one in each thread.
static void thread_streams() {
  const auto work = [](int which) {
    CHECK(cudaSetDevice(0));
    int *data = nullptr, *to = nullptr;
    CHECK(cudaMalloc(&data, large * sizeof(int)));
    CHECK(cudaMalloc(&to, large * sizeof(int)));
    for (int round = 0; round < 20; ++round) {
      CHECK(cudaMemsetAsync(data, 0, large * sizeof(int), cudaStreamPerThread));
      number<<<blocks, 256, 0, cudaStreamPerThread>>>(data, large, which);
      for (int again = 0; again < 4; ++again) twice<<<64, 256, 0, cudaStreamPerThread>>>(data, to, large);
      CHECK(cudaStreamSynchronize(cudaStreamPerThread));
      const std::vector<int> all = read(to, large);
      for (int i = 0; i < large; ++i) expect(all[i] == 2 * (i + which), "streams of threads");
    }
  };
  std::thread other(work, 1000);
  work(3);
  other.join();
}

__global__ void count_on_host(int* total) {
  if (threadIdx.x == 0) atomicAdd(total, 1);
}
static void atomics_on_host() {
  int* total = nullptr;
  CHECK(cudaMallocHost(&total, sizeof *total));
  *total = 0;
  count_on_host<<<200, 32>>>(total);
  CHECK(cudaDeviceSynchronize());
  expect(*total == 200, "atomics on memory of the host");
}

// Many registers: with -maxrregcount=64 a block may have 1024 threads all the same.
__global__ void many_registers(const int* from, int* to, int rounds) {
  int mine[96];
#pragma unroll
  for (int i = 0; i < 96; ++i) mine[i] = from[thread_number() * 37 % large + i % 3];
  for (int k = 0; k < rounds; ++k)
#pragma unroll
    for (int i = 0; i < 96; ++i) mine[i] = mine[i] * 3 + mine[(i + 7) % 96];
  int all = 0;
#pragma unroll
  for (int i = 0; i < 96; ++i) all += mine[i] == 0;
  to[thread_number()] = all;
}
static void registers() {
  int *from = allocate<int>(large + 3), *to = allocate<int>(large);
  cudaFuncAttributes attributes;
  CHECK(cudaFuncGetAttributes(&attributes, many_registers));
  const int threads = attributes.maxThreadsPerBlock >= 1024 ? 1024 : 512;
  many_registers<<<large / threads, threads>>>(from, to, 2);
  CHECK(cudaGetLastError());
  for (const int zeros : read(to, large)) expect(zeros == 96, "registers");
}

// Not the same twice, by a few bytes of the last block: for `dcgn vgpu run --check`.
__global__ void clocks_of_last(long long* to) {
  if (blockIdx.x == gridDim.x - 1) to[thread_number()] = clock64();
}
static void clocks() {
  long long* to = allocate<long long>(large);
  clocks_of_last<<<blocks, 256>>>(to);
  CHECK(cudaDeviceSynchronize());
}

int main(int argc, char** argv) {
  Steps all = {STEP(pieces_copied),
               STEP(pieces_written),
               STEP(element_0_outside),
               STEP(address_in_constant),
               STEP(heap),
               STEP(virtual_functions),
               STEP(function_pointers),
               STEP(addresses_stored),
               STEP(mapped),
               STEP(of_graph),
               STEP(graph_parameters),
               STEP(all_shared_memory),
               STEP(stack),
               STEP(host_threads),
               STEP(thread_streams),
               STEP(atomics_on_host),
               STEP(registers),
               STEP(clocks)};
  all.merge(steps_of_addresses());
  all.merge(steps_of_captures());
  all.merge(steps_of_waits());
  std::vector<std::string> steps(argv + 1, argv + argc);
  if (steps.empty())
    for (const auto& [name, step] : all) steps.push_back(name);
  for (const std::string& step : steps) {
    if (step == "list") {
      for (const auto& [name, its] : all) std::printf("%s\n", name.c_str());
      continue;
    }
    all.at(step)();
    std::printf("%s is right\n", step.c_str());
  }
  return 0;
}
