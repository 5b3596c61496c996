// A kernel that launches another: not to be split, nor is the other.
__global__ void child(int* out) { out[blockIdx.x] = 1; }
extern "C" __global__ void parent(int* out) {
  if (threadIdx.x == 0) child<<<4, 1>>>(out);
}
