// A fast Fourier transform of 64 values a block, in shared memory, with a table of roots in constant memory.
__constant__ float2 roots[32];

extern "C" __global__ void fourier(float2* data) {
  __shared__ float2 v[64];
  const int t = threadIdx.x;
  float2* mine = data + blockIdx.x * 64ull;
  v[__brev(t) >> 26] = mine[t];
  v[__brev(t + 32) >> 26] = mine[t + 32];
  __syncthreads();
  for (int half = 1; half < 64; half *= 2) {
    const int low = t & (half - 1), a = 2 * (t - low) + low, b = a + half;
    const float2 w = roots[low * (32 / half)], p = v[a], q = v[b];
    const float2 r = make_float2(q.x * w.x - q.y * w.y, q.x * w.y + q.y * w.x);
    __syncthreads();
    v[a] = make_float2(p.x + r.x, p.y + r.y);
    v[b] = make_float2(p.x - r.x, p.y - r.y);
    __syncthreads();
  }
  mine[t] = v[t];
  mine[t + 32] = v[t + 32];
}
