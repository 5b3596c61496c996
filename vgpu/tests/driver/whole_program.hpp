// What the steps of whole_program.cu and its companions have in common.
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

using Steps = std::map<std::string, void (*)()>;
#define STEP(name) \
  { #name, &name }
Steps steps_of_addresses();  // whole_addresses.cu
Steps steps_of_captures();   // whole_captures.cu
Steps steps_of_waits();      // whole_waits.cu
// whole_left.cu: lists[i] = {i, i + 1, ...}, in memory of malloc in a kernel.
void make_left_lists(int** lists, int count, int n);

#define CHECK(call)                                                                  \
  do {                                                                               \
    const cudaError_t result = (call);                                               \
    if (result != cudaSuccess) {                                                     \
      std::printf("line %d: %s: %s\n", __LINE__, #call, cudaGetErrorString(result)); \
      std::exit(1);                                                                  \
    }                                                                                \
  } while (0)

inline void expect(bool right, const char* what) {
  if (right) return;
  std::printf("wrong: %s\n", what);
  std::exit(1);
}

// Of several pages. Less for emulated GPUs: see emulated.sh.
#ifndef DCGN_TEST_WORDS
#define DCGN_TEST_WORDS (4 << 20)
#endif
constexpr int large = DCGN_TEST_WORDS, blocks = large / 256;

template <class T>
T* allocate(std::size_t count) {
  T* memory = nullptr;
  CHECK(cudaMalloc(&memory, count * sizeof(T)));
  CHECK(cudaMemset(memory, 0, count * sizeof(T)));
  return memory;
}
template <class T>
std::vector<T> read(const T* memory, std::size_t count) {
  std::vector<T> values(count);
  CHECK(cudaMemcpy(values.data(), memory, count * sizeof(T), cudaMemcpyDeviceToHost));
  return values;
}
inline int* on_host() {
  int* zero = nullptr;
  CHECK(cudaMallocHost(&zero, sizeof *zero));
  *zero = 0;
  return zero;
}
inline cudaStream_t stream_of_its_own() {
  cudaStream_t stream;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  return stream;
}

inline __device__ unsigned thread_number() { return blockIdx.x * blockDim.x + threadIdx.x; }

template <class Function>
Function* of_driver(const char* name) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult unused;
  CHECK(cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableDefault, &unused));
  return reinterpret_cast<Function*>(found);
}
