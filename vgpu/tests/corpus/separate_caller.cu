// Separate compilation: calls a function of separate_callee.cu, which reads the block's index.
extern __device__ int elsewhere(int x);
extern __device__ int total;
extern "C" __global__ void calls_elsewhere(int* out) {
  out[blockIdx.x] = elsewhere(threadIdx.x);
  atomicAdd(&total, 1);
}
