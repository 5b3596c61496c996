// Variables of the device: set or not, one that holds another's address, one managed, tables that nobody writes.
__device__ int counter;
__device__ float4 origin = {1, 2, 3, 4};
__device__ int array[256] = {1, 2, 3};
__device__ int* where = &array[2];
__managed__ int managed = 7;
__constant__ int steps[4] = {1, 2, 4, 8};
static __device__ const unsigned char bits_of[16] = {0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4};

extern "C" __global__ void count(int* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = atomicAdd(&counter, steps[i & 3]) + array[i & 255] + *where + bits_of[i & 15] + managed;
  if (i == 0) origin.y = out[0];
}
