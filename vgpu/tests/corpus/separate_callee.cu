// The function that separate_caller.cu calls.
__device__ int total = 5;
__device__ int elsewhere(int x) { return x + blockIdx.x * gridDim.y + total; }
