// Device functions that read the block's index and are not inlined, one through the other.
__device__ __noinline__ int block_number() { return (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x; }
__device__ __noinline__ int thread_number(int stride) { return block_number() * stride + threadIdx.x; }

extern "C" __global__ void numbers(int* out) { out[thread_number(blockDim.x)] = block_number(); }
extern "C" __global__ void no_numbers(int* out) { *out = 1; }
