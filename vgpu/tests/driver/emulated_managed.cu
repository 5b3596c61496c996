// A step of emulated_program.cu.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

__managed__ int from_host = 3, to_host[64];
__global__ void copy_managed() { to_host[threadIdx.x] = from_host + threadIdx.x; }

unsigned managed() {
  if (from_host != 3) std::printf("wrong: what a managed variable begins with\n"), std::exit(1);
  from_host = 41;
  copy_managed<<<1, 64>>>();
  if (cudaDeviceSynchronize() != cudaSuccess) std::printf("wrong: a launch\n"), std::exit(1);
  for (int i = 0; i < 64; ++i)
    if (to_host[i] != 41 + i) std::printf("wrong: a managed variable\n"), std::exit(1);
  return to_host[63];
}
