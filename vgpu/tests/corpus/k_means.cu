// The nearest of several centres, kept in constant memory; sums by atomics.
__constant__ float centres[32][4];

extern "C" __global__ void k_means(const float4* points, int n, int k, int* nearest, float* sums, unsigned* counts) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    const float4 p = points[i];
    float least = 1e30f;
    int which = 0;
    for (int c = 0; c < k; ++c) {
      const float dx = p.x - centres[c][0], dy = p.y - centres[c][1], dz = p.z - centres[c][2], dw = p.w - centres[c][3];
      const float d = dx * dx + dy * dy + dz * dz + dw * dw;
      if (d < least) least = d, which = c;
    }
    nearest[i] = which;
    atomicAdd(&sums[which], p.x);
    atomicInc(&counts[which], 0xffffffffu);
  }
}
