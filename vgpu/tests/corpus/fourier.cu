// A fast Fourier transform of 64 values a block, `stride` from each other, in shared memory, with a table of roots in
// constant memory: one direction of a transform of 64 x 64 x 64.
__constant__ float2 roots[32];

extern "C" __global__ void fourier(float2* data, int stride) {
  __shared__ float2 v[64];
  const int t = threadIdx.x;
  float2* mine = data + blockIdx.x / stride * 64ull * stride + blockIdx.x % stride;
  v[__brev(t) >> 26] = mine[t * stride];
  v[__brev(t + 32) >> 26] = mine[(t + 32) * stride];
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
  mine[t * stride] = v[t];
  mine[(t + 32) * stride] = v[t + 32];
}
