// Steps of whole_program.cu whose blocks wait for each other: at barriers of the grid that are made of flags, and for what
// a kernel of another stream writes.
#include "whole_program.hpp"

namespace {

// As CUDA programs had it before cooperative launches: the first block collects a flag of each and takes them back.
__device__ void wait_for_grid(unsigned* flags) {
  __threadfence();
  __syncthreads();
  volatile unsigned* const all = flags;
  if (blockIdx.x == 0) {
    for (unsigned i = 1 + threadIdx.x; i < gridDim.x; i += blockDim.x)
      while (__ldcg(flags + i) == 0) __threadfence_block();
    __syncthreads();
    for (unsigned i = 1 + threadIdx.x; i < gridDim.x; i += blockDim.x) all[i] = 0;
  } else {
    if (threadIdx.x == 0) {
      all[blockIdx.x] = 1;
      while (__ldcg(flags + blockIdx.x) == 1) __threadfence_block();
    }
    __syncthreads();
  }
}
__global__ void relax(unsigned* flags, int* from, int* to, int n, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    for (int i = static_cast<int>(thread_number()); i < n; i += static_cast<int>(gridDim.x * blockDim.x))
      __stcg(to + i, (__ldcg(from + (i + n - 1) % n) + __ldcg(from + (i + n / 2) % n) + 1) & 0xffff);
    int* const last = from;
    from = to;
    to = last;
    wait_for_grid(flags);
  }
}
void flags_of_grid() {
  constexpr int n = large / 16, rounds = 4, many = 8;
  auto* const flags = allocate<unsigned>(many);
  int *one = allocate<int>(n), *other = allocate<int>(n);
  std::vector<int> now(n), next(n);
  for (int i = 0; i < n; ++i) now[i] = i & 0xffff;
  CHECK(cudaMemcpy(one, now.data(), n * sizeof(int), cudaMemcpyHostToDevice));
  relax<<<many, 256>>>(flags, one, other, n, rounds);
  const std::vector<int> found = read(one, n);
  for (int round = 0; round < rounds; ++round) {
    for (int i = 0; i < n; ++i) next[i] = (now[(i + n - 1) % n] + now[(i + n / 2) % n] + 1) & 0xffff;
    now.swap(next);
  }
  expect(found == now, "a barrier of flags");
}

__global__ void look(const int* flag, int* to) { to[blockIdx.x] = flag[0] + flag[1000]; }
__global__ void consume(const int* flag, int wanted, int* to) {
  if (threadIdx.x == 0)
    while (__ldcg(flag) < wanted) {
    }
  __syncthreads();
  to[blockIdx.x] = __ldcg(flag + 1);
}
__global__ void produce(int* flag, int value) {
  flag[1] = 10 * value;
  __threadfence();
  atomicExch(flag, value);
}
void flag_of_stream() {
  const cudaStream_t first = stream_of_its_own(), second = stream_of_its_own();
  int *flag = allocate<int>(large), *to = allocate<int>(large);
  CHECK(cudaDeviceSynchronize());
  for (int round = 1; round <= 5; ++round) {
    look<<<8, 32, 0, first>>>(flag, to);
    consume<<<8, 32, 0, first>>>(flag, round, to);
    produce<<<1, 1, 0, second>>>(flag, round);
    CHECK(cudaDeviceSynchronize());
    for (const int value : read(to, 8)) expect(value == 10 * round, "what another stream writes");
  }
}

}  // namespace

Steps steps_of_waits() { return {STEP(flags_of_grid), STEP(flag_of_stream)}; }
