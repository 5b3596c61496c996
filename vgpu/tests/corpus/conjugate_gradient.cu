// A sparse product, a dot product by a device function that is not inlined, and the last block's own sum.
__device__ unsigned blocks_done;
__device__ double partial[1024];

__device__ __noinline__ double block_sum(double v) {
  __shared__ double sums[32];
  for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(~0u, v, d);
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = v;
  __syncthreads();
  double sum = 0;
  if (threadIdx.x == 0)
    for (unsigned w = 0; w < blockDim.x / 32; ++w) sum += sums[w];
  return sum;
}

extern "C" __global__ void sparse_product(const int* first, const int* column, const double* value, const double* x, double* y,
                                          int rows) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  double sum = 0;
  for (int e = first[row]; e < first[row + 1]; ++e) sum += value[e] * x[column[e]];
  y[row] = sum;
}

extern "C" __global__ void dot(const double* x, const double* y, double* result, int n) {
  double sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) sum += x[i] * y[i];
  sum = block_sum(sum);
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = sum;
    __threadfence();
    if (atomicInc(&blocks_done, gridDim.x - 1) == gridDim.x - 1) {
      double all = 0;
      for (unsigned b = 0; b < gridDim.x; ++b) all += partial[b];
      *result = all;
    }
  }
}

// y += sign * a / b * x, and p = r + a / b * p, with numbers that dot has left on the device.
extern "C" __global__ void axpy(double sign, const double* a, const double* b, const double* x, double* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += sign * (*a / *b) * x[i];
}

extern "C" __global__ void direction(const double* a, const double* b, const double* r, double* p, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] = r[i] + *a / *b * p[i];
}
