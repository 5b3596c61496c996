// A histogram: atomics in shared memory, then in global memory; and sums whose atomic add is a loop of compare-and-swap.
__device__ unsigned long long values_seen;

extern "C" __global__ void histogram(const unsigned char* data, unsigned n, unsigned* bins) {
  __shared__ unsigned mine[256];
  mine[threadIdx.x] = 0;
  __syncthreads();
  for (unsigned i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) atomicAdd(&mine[data[i]], 1);
  __syncthreads();
  atomicAdd(&bins[threadIdx.x], mine[threadIdx.x]);
  if (threadIdx.x == 0) atomicAdd(&values_seen, 256ull);
}

extern "C" __global__ void largest(const float* data, int n, float* result) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int* bits = reinterpret_cast<int*>(result);
  int old = *bits;
  while (__int_as_float(old) < data[i]) {
    const int seen = atomicCAS(bits, old, __float_as_int(data[i]));
    if (seen == old) break;
    old = seen;
  }
}

extern "C" __global__ void multiply_all(const double* data, int n, double* product) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    auto* bits = reinterpret_cast<unsigned long long*>(product);
    unsigned long long old = *bits, assumed;
    do {
      assumed = old;
      old = atomicCAS(bits, assumed, static_cast<unsigned long long>(__double_as_longlong(__longlong_as_double(static_cast<long long>(assumed)) * data[i])));
    } while (assumed != old);
  }
}

// Blocks that take work off a counter until there is none.
extern "C" __global__ void work_queue(unsigned* next, unsigned n, float* data) {
  __shared__ unsigned item;
  for (;;) {
    if (threadIdx.x == 0) item = atomicAdd(next, 1);
    __syncthreads();
    const unsigned i = item;
    __syncthreads();
    if (i >= n) break;
    data[i * blockDim.x + threadIdx.x] *= 2;
  }
}
