// The potential of atoms, in constant memory, on a slice of a grid.
__constant__ float4 atoms[1000];

extern "C" __global__ void coulomb(float* potential, int count, float spacing, float z) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  float sum = 0;
  for (int a = 0; a < count; ++a) {
    const float dx = spacing * x - atoms[a].x, dy = spacing * y - atoms[a].y, dz = z - atoms[a].z;
    sum += atoms[a].w * rsqrtf(dx * dx + dy * dy + dz * dz);
  }
  potential[y * gridDim.x * blockDim.x + x] += sum;
}
