// What the steps of emulated_program.cu and its companions have in common.
#pragma once

#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

using Steps = std::map<std::string, unsigned (*)()>;
#define STEP(name) \
  { #name, &name }
Steps steps_of_errors();  // emulated_errors.cu

#define CHECK(call)                                                                                            \
  do {                                                                                                         \
    const cudaError_t result = (call);                                                                         \
    if (result != cudaSuccess) std::printf("line %d: %s\n", __LINE__, cudaGetErrorName(result)), std::exit(1); \
  } while (0)

inline void expect(bool right, const char* what) {
  if (!right) std::printf("wrong: %s\n", what), std::exit(1);
}

constexpr int n = 1 << 16, blocks = n / 256;

template <class T>
T* device(int count) {
  T* memory = nullptr;
  CHECK(cudaMalloc(&memory, count * sizeof(T)));
  CHECK(cudaMemset(memory, 0, count * sizeof(T)));
  return memory;
}
template <class T>
std::vector<T> read(const T* memory, int count) {
  std::vector<T> all(count);
  CHECK(cudaMemcpy(all.data(), memory, count * sizeof(T), cudaMemcpyDeviceToHost));
  return all;
}
inline cudaStream_t own_stream() {
  cudaStream_t stream;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  return stream;
}
inline void expect_all(const int* memory, int first, int step, const char* what) {
  const std::vector<int> all = read(memory, n);
  for (int i = 0; i < n; ++i) expect(all[i] == first + step * i, what);
}

inline __device__ int thread_number() { return blockIdx.x * blockDim.x + threadIdx.x; }
static __global__ void add_number(int* to, int more) { to[thread_number()] += thread_number() + more; }
