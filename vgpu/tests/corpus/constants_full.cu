// Constant memory used to its last byte, and a variable beside it.
__constant__ double table[8192];
__device__ int hits[4];
extern "C" __global__ void look_up(double* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = table[i % 8192];
  atomicAdd(&hits[i % 4], 1);
}
