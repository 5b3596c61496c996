// Finite differences in three dimensions, on a grid of three dimensions.
extern "C" __global__ void finite_difference(const float* __restrict__ in, float* __restrict__ out, int nx, int ny, int nz) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x + 1, y = blockIdx.y * blockDim.y + threadIdx.y + 1,
            z = blockIdx.z * blockDim.z + threadIdx.z + 1;
  if (x >= nx - 1 || y >= ny - 1 || z >= nz - 1) return;
  const int at = (z * ny + y) * nx + x;
  out[at] = 0.4f * in[at] + 0.1f * (in[at - 1] + in[at + 1] + in[at - nx] + in[at + nx] + in[at - nx * ny] + in[at + nx * ny]);
}

extern "C" __global__ void grid_shape(int* out) {
  const int block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  if (threadIdx.x == 0) out[block] = gridDim.x * 10000 + gridDim.y * 100 + gridDim.z;
}
