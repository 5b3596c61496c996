// Loops that wait for what another block writes, and loops that look alike and do not.
extern "C" __global__ void volatile_wait(volatile int* flag, int* data) {
  if (blockIdx.x == 0) {
    data[0] = 1;
    __threadfence();
    *flag = 1;
  } else {
    while (*flag == 0) {
    }
    data[blockIdx.x] = data[0];
  }
}

extern "C" __global__ void acquire_wait(int* flag, int* data) {
  int seen = 0;
  do {
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
    __nanosleep(20);
  } while (seen != static_cast<int>(gridDim.x));
  data[blockIdx.x] = 1;
}

extern "C" __global__ void atomic_barrier(unsigned* arrived) {
  atomicAdd(arrived, 1);
  while (atomicAdd(arrived, 0) < gridDim.x) {
  }
}

extern "C" __global__ void lock(int* mutex, int* value) {
  if (threadIdx.x == 0) {
    while (atomicCAS(mutex, 0, 1) != 0) {
    }
    __threadfence();
    ++*value;
    __threadfence();
    atomicExch(mutex, 0);
  }
}

// Look-back: sums of the blocks before, as they come.
extern "C" __global__ void look_back(volatile long long* state, long long* out) {
  long long sum = 0;
  int block = static_cast<int>(blockIdx.x) - 1;
  while (block >= 0) {
    long long word = state[block];
    if (word == 0) continue;
    sum += word >> 1;
    --block;
  }
  out[blockIdx.x] = sum;
}

__device__ __noinline__ int read_flag(volatile int* flag) { return *flag; }
extern "C" __global__ void wait_by_function(volatile int* flag, int* data) {
  while (read_flag(flag) == 0) {
  }
  data[blockIdx.x] = 1;
}

// Innocent: each round reads another element, or follows a chain.
extern "C" __global__ void search(const volatile int* list, int n, int wanted, int* at) {
  for (int i = 0; i < n; ++i)
    if (list[i] == wanted) {
      *at = i;
      break;
    }
}
extern "C" __global__ void find_root(const volatile int* parent, int* root) {
  int node = blockIdx.x * blockDim.x + threadIdx.x;
  const int start = node;
  int up = parent[node];
  while (up != node) {
    node = up;
    up = parent[node];
  }
  root[start] = node;
}
// Innocent: looks whether it may stop earlier than it would by itself.
extern "C" __global__ void stoppable(const volatile int* stop, float* data, int n) {
  for (int i = 0; i < n; ++i) {
    if (*stop) break;
    data[i] *= 2;
  }
}
