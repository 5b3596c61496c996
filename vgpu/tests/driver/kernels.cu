// Kernels of the programs here, kept as PTX: nvcc -std=c++17 -arch=compute_80 -ptx kernels.cu; and as a fat
// binary with that PTX alone: nvcc -std=c++17 -gencode=arch=compute_80,code=compute_80 -fatbin -no-compress kernels.cu
#include <cooperative_groups.h>

__constant__ unsigned factor[4] = {3, 5, 7, 11};
__device__ unsigned offset = 100;
__device__ unsigned long long blocks_seen;

extern "C" __global__ void vector_add(const float* a, const float* b, float* c, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

// Reads all of `data` by strides of the whole grid.
extern "C" __global__ void histogram(const unsigned char* data, unsigned n, unsigned* bins) {
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&bins[data[i]], 1);
  if (threadIdx.x == 0) atomicAdd(&blocks_seen, 1ull);
}

// By a constant and a variable, in a grid of two dimensions.
extern "C" __global__ void scale(unsigned* data, unsigned width) {
  const unsigned x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  data[y * width + x] = data[y * width + x] * factor[y & 3] + offset;
}

// The same without the variable.
extern "C" __global__ void scale_by(unsigned* data, unsigned width, unsigned its_offset) {
  const unsigned x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  data[y * width + x] = data[y * width + x] * factor[y & 3] + its_offset;
}

// Across the whole grid: cannot be split.
extern "C" __global__ void reverse(const unsigned* from, unsigned* through, unsigned* to, unsigned n) {
  const auto grid = cooperative_groups::this_grid();
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) through[i] = from[i] + offset;
  grid.sync();
  if (i < n) to[i] = through[n - 1 - i];
}
