// The potential of atoms on a slice of a grid. They pass through shared memory, and a thread has four points, so that
// what it reads of an atom serves four times.
extern "C" __global__ void coulomb(float* potential, const float4* atoms, int count, float spacing, float z) {
  constexpr int points = 4;
  __shared__ float4 tile[256];
  const int x = blockIdx.x * (32 * points) + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y, mine = 32 * threadIdx.y + threadIdx.x;
  float sum[points] = {};
  for (int first = 0; first < count; first += 256) {
    const int here = min(256, count - first);
    if (mine < here) tile[mine] = atoms[first + mine];
    __syncthreads();
    for (int a = 0; a < here; ++a) {
      const float4 atom = tile[a];
      const float dy = spacing * y - atom.y, dz = z - atom.z, aside = dy * dy + dz * dz;
      for (int p = 0; p < points; ++p) {
        const float dx = spacing * (x + 32 * p) - atom.x;
        sum[p] += atom.w * rsqrtf(dx * dx + aside);
      }
    }
    __syncthreads();
  }
  for (int p = 0; p < points; ++p) potential[y * gridDim.x * (32 * points) + x + 32 * p] += sum[p];
}
