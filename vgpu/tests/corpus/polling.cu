// Loops that wait by reads which nothing orders, and loops that look alike and do not.
extern "C" __global__ void past_l1(const int* flag, int wanted, int* data) {
  while (__ldcg(flag) < wanted) {
  }
  data[blockIdx.x] = __ldcv(flag + 1);
}
extern "C" __global__ void past_caches(const int* flag, int* data) {
  while (__ldcv(flag) == 0) {
  }
  data[blockIdx.x] = 1;
}
extern "C" __global__ void block_fence(const int* flag, int* data) {
  while (*flag == 0) __threadfence_block();
  data[blockIdx.x] = 1;
}
extern "C" __global__ void clobber(const int* flag, int* data) {
  while (*flag == 0) asm volatile("" ::: "memory");
  data[blockIdx.x] = 1;
}
extern "C" __global__ void by_first_thread(const int* flag, int* data) {
  __shared__ int seen;
  do {
    if (threadIdx.x == 0) seen = *flag;
    __syncthreads();
  } while (seen == 0);
  data[blockIdx.x] = 1;
}
extern "C" __global__ void barrier_or(const int* flags, int* data) {
  while (!__syncthreads_or(flags[threadIdx.x])) {
  }
  data[blockIdx.x] = 1;
}
extern "C" __global__ void any_lane(const int* flags, int* data) {
  while (!__any_sync(~0u, __ldcg(flags + threadIdx.x))) {
  }
  data[blockIdx.x] = 1;
}
extern "C" __global__ void counting_barrier(unsigned* arrived, unsigned blocks) {
  while (atomicInc(arrived, ~0u) < blocks) {
  }
}

// Innocent: a bound that is read again because of the barrier.
extern "C" __global__ void tiles(const int* count, const float* in, float* out) {
  __shared__ float tile[32];
  float sum = 0;
  for (int i = 0; i < *count; ++i) {
    tile[threadIdx.x] = in[i * 32 + threadIdx.x];
    __syncthreads();
    sum += tile[31 - threadIdx.x];
    __syncthreads();
  }
  out[threadIdx.x] = sum;
}
// Innocent: the block's own word, which it writes itself.
extern "C" __global__ void until_stable(int* changed, int* label, int n) {
  do {
    __syncthreads();
    if (threadIdx.x == 0) changed[blockIdx.x] = 0;
    __syncthreads();
    for (int i = threadIdx.x; i + 1 < n; i += blockDim.x)
      if (label[i] > label[i + 1]) {
        label[i] = label[i + 1];
        changed[blockIdx.x] = 1;
      }
    __syncthreads();
  } while (changed[blockIdx.x]);
}
// Innocent: takes work off a counter.
extern "C" __global__ void drain(unsigned* next, unsigned n, const float* data, float* out) {
  float sum = 0;
  for (unsigned i = atomicInc(next, ~0u); i < n; i = atomicInc(next, ~0u)) sum += data[i];
  out[threadIdx.x] = sum;
}
